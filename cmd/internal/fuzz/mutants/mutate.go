package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// A Mutant is one change of the source, which its number turns on.
type Mutant struct {
	File, Function string
	Line           int
	Change         string // such as "n > 0: boundary"
	Nth            int    // among equal changes of a function, from 1
	Kind           string // a short word for what changes
}

// String names the mutant without its line, so that edits elsewhere in the file keep its name.
func (m Mutant) String() string {
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%d", m.File, m.Function, m.Kind, m.Change, m.Nth)
}

// insertion is text to put at an offset.
type insertion struct {
	at, removed int
	text        string
}

// source is a file on its way to one that holds all its mutants.
type source struct {
	name     string
	text     string
	files    *token.FileSet
	function string
	first    int             // the number of the first mutant
	consts   map[string]bool // the constants of the package
	imports  map[string]bool // the names of imported packages
	mutants  []Mutant
	opening  []insertion // in the order of the text, outer ones first
	closing  []insertion // in the order in which nodes end, inner ones first
}

// constants returns the names of the constants of a package, which is in these texts.
func constants(texts []string) (map[string]bool, error) {
	names := map[string]bool{}
	for _, text := range texts {
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
				for _, spec := range d.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						names[name.Name] = true
					}
				}
			}
			return true
		})
	}
	return names, nil
}

// mutate returns a file in which each mutant can be turned on by its number, counted from first. The package has some constants.
func mutate(name, text string, first int, consts map[string]bool) (string, []Mutant, error) {
	s := &source{name: name, text: text, files: token.NewFileSet(), first: first, consts: consts, imports: map[string]bool{}}
	file, err := parser.ParseFile(s.files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return "", nil, err
	}
	for _, i := range file.Imports {
		s.imports[path.Base(strings.Trim(i.Path.Value, `"`))] = true
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			s.function = nameOf(f)
			s.walk(f.Body, nil)
		}
	}
	seen := map[string]int{}
	for i := range s.mutants {
		m := &s.mutants[i]
		seen[m.String()]++
		m.Nth = seen[m.String()]
	}
	return s.result(), s.mutants, nil
}

// nameOf returns the name of a function with its receiver's type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// walk mutates a node and its children. Constants stay: a mutant is not a constant.
func (s *source) walk(n, parent ast.Node) {
	if d, ok := n.(*ast.GenDecl); ok && d.Tok != token.VAR {
		return
	}
	if _, ok := n.(*ast.ArrayType); ok {
		return
	}
	closing := s.at(n, parent)
	children(n, func(child ast.Node) { s.walk(child, n) })
	s.closing = append(s.closing, closing...)
}

// children calls f with each direct child.
func children(n ast.Node, f func(ast.Node)) {
	ast.Inspect(n, func(child ast.Node) bool {
		if child == n {
			return true
		}
		if child != nil {
			f(child)
		}
		return false
	})
}

// at adds the mutants of one node, and returns what closes them.
func (s *source) at(n, parent ast.Node) []insertion {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return s.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			id := s.add(n, "not", s.textOf(n))
			s.open(n.Pos(), 1, fmt.Sprintf("(mutantOn(%d) == (", id))
			return []insertion{s.close(n.End(), "))")}
		}
	case *ast.Ident:
		_, isResult := parent.(*ast.ReturnStmt)
		_, isAssigned := parent.(*ast.AssignStmt)
		if value, ok := map[string]string{"true": "!mutantOn(%d)", "false": "mutantOn(%d)"}[n.Name]; ok && (isResult || isAssigned) {
			id := s.add(n, "literal", s.line(n))
			s.open(n.Pos(), len(n.Name), fmt.Sprintf(value, id))
		}
	case *ast.IfStmt:
		return s.condition(n.Cond)
	case *ast.CaseClause:
		return nil
	}
	if stmt, ok := n.(ast.Stmt); ok && inBlock(parent) {
		return s.statement(stmt)
	}
	return nil
}

// inBlock reports whether a statement with this parent is one of a list of statements.
func inBlock(parent ast.Node) bool {
	switch parent.(type) {
	case *ast.BlockStmt, *ast.CaseClause:
		return true
	}
	return false
}

// condition negates the condition of an if that is neither compared nor negated, which have mutants of their own.
func (s *source) condition(cond ast.Expr) []insertion {
	switch c := cond.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr, *ast.ParenExpr:
		return nil
	default:
		id := s.add(c, "negate", s.textOf(c))
		s.open(c.Pos(), 0, fmt.Sprintf("(mutantOn(%d) != (", id))
		return []insertion{s.close(c.End(), "))")}
	}
}

// statement removes a call, an assignment, a step of a counter, or a jump.
func (s *source) statement(stmt ast.Stmt) []insertion {
	kind := "remove"
	switch stmt := stmt.(type) {
	case *ast.ExprStmt:
		call, ok := stmt.X.(*ast.CallExpr)
		if !ok {
			return nil
		}
		if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "panic" {
			return nil
		}
	case *ast.AssignStmt:
		if stmt.Tok == token.DEFINE || allBlank(stmt.Lhs) {
			return nil
		}
	case *ast.IncDecStmt:
	case *ast.BranchStmt:
		if stmt.Tok != token.BREAK && stmt.Tok != token.CONTINUE {
			return nil
		}
	default:
		return nil
	}
	id := s.add(stmt, kind, s.textOf(stmt))
	s.open(stmt.Pos(), 0, fmt.Sprintf("if !mutantOn(%d) { ", id))
	return []insertion{s.close(stmt.End(), " }")}
}

// allBlank reports whether an assignment drops all its values.
func allBlank(to []ast.Expr) bool {
	return !slices.ContainsFunc(to, func(e ast.Expr) bool {
		name, ok := e.(*ast.Ident)
		return !ok || name.Name != "_"
	})
}

// binary changes a comparison, a logical operator or arithmetic.
func (s *source) binary(n *ast.BinaryExpr) []insertion {
	op := n.Op
	switch op {
	case token.EQL, token.NEQ:
		return s.negated(n)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		closing := s.negated(n)
		return append(s.called(n, "boundary", "mutant"+map[token.Token]string{token.LSS: "Less", token.LEQ: "AtMost", token.GTR: "More", token.GEQ: "AtLeast"}[op]), closing...)
	case token.LAND, token.LOR:
		id := s.add(n, "logic", s.textOf(n))
		s.open(n.Pos(), 0, fmt.Sprintf("mutant%s(%d, ", map[token.Token]string{token.LAND: "And", token.LOR: "Or"}[op], id))
		s.open(n.OpPos, 2, ", func() bool { return (")
		return []insertion{s.close(n.End(), ") })")}
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		if s.isConstant(n.X) && s.isConstant(n.Y) {
			return nil
		}
		return s.called(n, "arithmetic", "mutant"+map[token.Token]string{token.ADD: "Add", token.SUB: "Subtract", token.MUL: "Multiply", token.QUO: "Divide", token.REM: "Modulo"}[op])
	}
	return nil
}

// isConstant reports whether an operand is a literal, a constant of the package, or a name of another package.
func (s *source) isConstant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return s.consts[e.Name]
	case *ast.SelectorExpr: // of another package, such as http.StatusOK
		of, ok := e.X.(*ast.Ident)
		return ok && s.imports[of.Name]
	}
	return false
}

// negated negates a comparison.
func (s *source) negated(n *ast.BinaryExpr) []insertion {
	id := s.add(n, "negate", s.textOf(n))
	s.open(n.Pos(), 0, fmt.Sprintf("(mutantOn(%d) != (", id))
	return []insertion{s.close(n.End(), "))")}
}

// called makes a call with both operands of an operator.
func (s *source) called(n *ast.BinaryExpr, kind, function string) []insertion {
	id := s.add(n, kind, s.textOf(n))
	s.open(n.Pos(), 0, fmt.Sprintf("%s(%d, ", function, id))
	s.open(n.OpPos, len(n.Op.String()), ", ")
	return []insertion{s.close(n.End(), ")")}
}

// add adds a mutant and returns its number.
func (s *source) add(n ast.Node, kind, change string) int {
	s.mutants = append(s.mutants, Mutant{File: s.name, Function: s.function, Line: s.files.Position(n.Pos()).Line, Kind: kind, Change: change})
	return s.first + len(s.mutants) - 1
}

func (s *source) open(at token.Pos, removed int, text string) {
	s.opening = append(s.opening, insertion{s.files.Position(at).Offset, removed, text})
}

func (s *source) close(at token.Pos, text string) insertion {
	return insertion{at: s.files.Position(at).Offset, text: text}
}

// textOf returns the source of a node on one line.
func (s *source) textOf(n ast.Node) string {
	text := strings.Join(strings.Fields(s.text[s.files.Position(n.Pos()).Offset:s.files.Position(n.End()).Offset]), " ")
	if len(text) > 100 {
		text = strings.ToValidUTF8(text[:100], "") + "…"
	}
	return text
}

// line returns the line that a node is on.
func (s *source) line(n ast.Node) string {
	at := s.files.Position(n.Pos()).Offset
	begin := strings.LastIndexByte(s.text[:at], '\n') + 1
	rest, _, _ := strings.Cut(s.text[begin:], "\n")
	return strings.Join(strings.Fields(rest), " ")
}

// result inserts all texts. At one offset, what ends comes before what begins.
func (s *source) result() string {
	all := slices.Concat(s.closing, s.opening)
	slices.SortStableFunc(all, func(a, b insertion) int { return a.at - b.at })
	var b strings.Builder
	from := 0
	for _, i := range all {
		if i.at > from {
			b.WriteString(s.text[from:i.at])
			from = i.at
		}
		b.WriteString(i.text)
		from = max(from, i.at+i.removed)
	}
	b.WriteString(s.text[from:])
	return b.String()
}

// switches returns the file that turns mutants on, for a package whose mutants have numbers below n. A mutant that is reached for the
// first time is named in the file that an environment variable names.
func switches(pkg string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `package %s

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

var (
	mutant        = mutantNumber()
	mutantLog     = mutantFile()
	mutantReached [%d]atomic.Bool
)

// A process that a guard starts has no environment. Its parent has.
func mutantVariable(name string) string {
	if value, ok := os.LookupEnv(name); ok {
		return value
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%%d/environ", os.Getppid()))
	for _, variable := range strings.Split(string(text), "\x00") {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

func mutantNumber() int {
	n, err := strconv.Atoi(mutantVariable(%q))
	if err != nil {
		return -1
	}
	return n
}

// The file is open before a guard takes files away.
func mutantFile() *os.File {
	name := mutantVariable(%q)
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		panic(err)
	}
	return f
}

func mutantOn(n int) bool {
	if mutantLog != nil && !mutantReached[n].Swap(true) {
		fmt.Fprintln(mutantLog, n)
	}
	return n == mutant
}

func mutantAnd(n int, a bool, b func() bool) bool {
	if mutantOn(n) {
		return a || b()
	}
	return a && b()
}

func mutantOr(n int, a bool, b func() bool) bool {
	if mutantOn(n) {
		return a && b()
	}
	return a || b()
}

type mutantNumeric interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

func mutantAdd[T cmp.Ordered](n int, a, b T) T {
	if mutantOn(n) {
		return a
	}
	return a + b
}
`, pkg, max(n, 1), mutantVariable, reachedVariable)
	for _, f := range []struct{ name, is, other string }{{"Less", "<", "<="}, {"AtMost", "<=", "<"}, {"More", ">", ">="}, {"AtLeast", ">=", ">"}} {
		fmt.Fprintf(&b, "\nfunc mutant%s[T cmp.Ordered](n int, a, b T) bool {\n\tif mutantOn(n) {\n\t\treturn a %s b\n\t}\n\treturn a %s b\n}\n", f.name, f.other, f.is)
	}
	for _, f := range []struct{ name, is, other string }{{"Subtract", "-", "+"}, {"Multiply", "*", "+"}, {"Divide", "/", "*"}} {
		fmt.Fprintf(&b, "\nfunc mutant%s[T mutantNumeric](n int, a, b T) T {\n\tif mutantOn(n) {\n\t\treturn a %s b\n\t}\n\treturn a %s b\n}\n", f.name, f.other, f.is)
	}
	b.WriteString("\nfunc mutantModulo[T ~int | ~int64 | ~uint64 | ~uint32](n int, a, b T) T {\n\tif mutantOn(n) {\n\t\treturn a + b\n\t}\n\treturn a % b\n}\n")
	return b.String()
}
