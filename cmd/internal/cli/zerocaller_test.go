package cli

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// zeroCalls calls the exported functions and methods of the package in the current directory. It passes every combination of
// nil, zero and empty arguments, and fails for each panic. It reads iterators to their end, and calls the methods of results.
//
// all holds each exported function, and a pointer to each exported type with methods. The test fails if the list differs from
// the package's source. ZeroCalls skips the functions in except, whose values are the reasons.
func zeroCalls(t *testing.T, except map[string]string, all ...any) {
	t.Helper()
	declared := declarations(t)
	t.Chdir(t.TempDir()) // a function that writes files finds nothing here
	c := zeroCaller{t: t, except: except, declared: maps.Clone(declared)}
	for _, v := range all {
		value := reflect.ValueOf(v)
		name := ""
		if value.Kind() == reflect.Func {
			name = plainName(runtime.FuncForPC(value.Pointer()).Name())
			name = name[strings.LastIndex(name, ".")+1:]
		} else {
			name = plainName(value.Type().Elem().Name())
			c.pkg = value.Type().Elem().PkgPath()
		}
		if declared[name] == nil {
			t.Errorf("%s is listed, but it is a duplicate, or the package does not declare it with exported methods", name)
		}
		delete(declared, name)
		if value.Kind() == reflect.Func {
			c.call(name, value)
			continue
		}
		c.methods(value.Elem())
		c.methods(value)
		c.methods(reflect.Zero(value.Type()))
	}
	for name := range declared {
		t.Errorf("%s is exported, and not listed", name)
	}
	for name := range except {
		if !c.skipped[name] {
			t.Errorf("%s is an exception, and the package has no such function", name)
		}
	}
}

// declarations returns the exported functions of the package in the current directory. It also returns the exported types with
// the names of their exported methods.
func declarations(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in this directory: %v", err)
	}
	names := map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range source.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			name := f.Name
			if f.Recv != nil {
				receiver := f.Recv.List[0].Type
				if pointer, ok := receiver.(*ast.StarExpr); ok {
					receiver = pointer.X
				}
				switch generic := receiver.(type) {
				case *ast.IndexExpr:
					receiver = generic.X
				case *ast.IndexListExpr:
					receiver = generic.X
				}
				if name, ok = receiver.(*ast.Ident); !ok {
					t.Fatalf("%s: %s has a receiver that this test cannot name", file, f.Name)
				}
			}
			if name.IsExported() {
				names[name.Name] = append(names[name.Name], f.Name.Name)
			}
		}
	}
	return names
}

// plainName returns a name without its type parameters.
func plainName(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return name
}

type zeroCaller struct {
	t        *testing.T
	pkg      string
	declared map[string][]string
	except   map[string]string
	skipped  map[string]bool
	inside   bool
}

// methods calls the methods that the package declares for a value, without methods of embedded types. A nil pointer has no
// methods with a value receiver to call.
func (c *zeroCaller) methods(value reflect.Value) {
	isNil := value.Kind() == reflect.Pointer && value.IsNil()
	of := value.Type()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	for i := range value.NumMethod() {
		method := value.Type().Method(i)
		if !slices.Contains(c.declared[plainName(of.Name())], method.Name) {
			continue
		}
		if isNil {
			if _, onValue := value.Type().Elem().MethodByName(method.Name); onValue {
				continue
			}
		}
		c.call(value.Type().String()+"."+method.Name, value.Method(i))
	}
}

// mostForms limits the combinations of arguments for one function.
const mostForms = 4096

func (c *zeroCaller) call(name string, f reflect.Value) {
	if c.except[name] != "" {
		if c.skipped == nil {
			c.skipped = map[string]bool{}
		}
		c.skipped[name] = true
		return
	}
	of := f.Type()
	combinations := [][]reflect.Value{nil}
	for i := range of.NumIn() {
		var longer [][]reflect.Value
		for _, arguments := range combinations {
			for _, form := range forms(of.In(i)) {
				longer = append(longer, append(arguments[:len(arguments):len(arguments)], form))
			}
		}
		combinations = longer
	}
	if len(combinations) > mostForms {
		c.t.Fatalf("%s: %d combinations of arguments are too many", name, len(combinations))
	}
	for _, arguments := range combinations {
		if c.panics(name, f, arguments) {
			return
		}
	}
}

// panics calls a function and reads its results.
func (c *zeroCaller) panics(name string, f reflect.Value, arguments []reflect.Value) (panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			c.t.Errorf("%s panics on %s: %v\n%s", name, shown(arguments), p, debug.Stack())
			panicked = true
		}
	}()
	call := f.Call
	if f.Type().IsVariadic() {
		call = f.CallSlice
	}
	for _, result := range call(arguments) {
		c.read(name, result)
	}
	return false
}

// shown formats arguments, which may be nil.
func shown(arguments []reflect.Value) string {
	texts := make([]string, len(arguments))
	for i, v := range arguments {
		texts[i] = fmt.Sprintf("%.60s %.60s", v.Type(), fmt.Sprintf("%+v", v.Interface()))
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// read reads a result: an iterator to its end, or each method of another value of the package once.
func (c *zeroCaller) read(name string, result reflect.Value) {
	of := result.Type()
	switch {
	case of.Kind() == reflect.Func && !result.IsNil() && of.NumIn() == 1 && of.NumOut() == 0 && of.In(0).Kind() == reflect.Func:
		left := mostForms
		yield := reflect.MakeFunc(of.In(0), func([]reflect.Value) []reflect.Value {
			left--
			return []reflect.Value{reflect.ValueOf(left > 0)}
		})
		result.Call([]reflect.Value{yield})
	case of.Kind() == reflect.Func && !result.IsNil():
		arguments := make([]reflect.Value, of.NumIn())
		for i := range arguments {
			arguments[i] = reflect.Zero(of.In(i))
		}
		result.Call(arguments)
	case of.Kind() == reflect.Pointer && !result.IsNil() && of.Elem().PkgPath() == c.pkg && !c.inside:
		c.inside = true
		c.methods(result)
		c.inside = false
	}
}

// forms returns values of a type to try: the zero value, and empty ones.
func forms(of reflect.Type) []reflect.Value {
	all := []reflect.Value{reflect.Zero(of)}
	switch of.Kind() {
	case reflect.Interface:
		for _, v := range []any{
			context.Background(), errors.New("e"), io.Discard, strings.NewReader(""), fstest.MapFS{}, reflect.TypeFor[int](), (*struct{})(nil),
		} {
			if reflect.TypeOf(v).Implements(of) && (of.NumMethod() > 0 || reflect.TypeOf(v).NumMethod() == 0) {
				all = append(all, reflect.ValueOf(v).Convert(of))
			}
		}
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct, reflect.Func:
		if v := zeroFilled(of, 2); v.Kind() != reflect.Struct || !v.IsZero() {
			all = append(all, v)
		}
	}
	return all
}

// zeroFilled returns a value whose pointers, lists and maps, down to depth, hold one zero value each.
func zeroFilled(of reflect.Type, depth int) reflect.Value {
	if depth == 0 {
		return reflect.Zero(of)
	}
	switch of.Kind() {
	case reflect.Pointer:
		v := reflect.New(of.Elem())
		v.Elem().Set(zeroFilled(of.Elem(), depth-1))
		return v
	case reflect.Slice:
		v := reflect.MakeSlice(of, 1, 1)
		v.Index(0).Set(zeroFilled(of.Elem(), depth-1))
		return v
	case reflect.Map:
		v := reflect.MakeMap(of)
		v.SetMapIndex(reflect.Zero(of.Key()), zeroFilled(of.Elem(), depth-1))
		return v
	case reflect.Struct:
		v := reflect.New(of).Elem()
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				v.Field(i).Set(zeroFilled(of.Field(i).Type, depth-1))
			}
		}
		return v
	case reflect.Func:
		return reflect.MakeFunc(of, func(arguments []reflect.Value) []reflect.Value {
			if of.NumIn() == 1 && of.NumOut() == 0 && arguments[0].Kind() == reflect.Func { // an iterator over one zero value
				yielded := make([]reflect.Value, of.In(0).NumIn())
				for i := range yielded {
					yielded[i] = reflect.Zero(of.In(0).In(i))
				}
				arguments[0].Call(yielded)
			}
			results := make([]reflect.Value, of.NumOut())
			for i := range results {
				results[i] = reflect.Zero(of.Out(i))
			}
			return results
		})
	default:
		return reflect.Zero(of)
	}
}
