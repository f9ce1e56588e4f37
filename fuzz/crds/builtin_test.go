package crds_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trainweld/trainweld/schema"
)

// TestBuiltInKinds compares the table of testdata/README.md with every kind of k8s.io/api. The
// table lists the fields in which a strategic merge and server-side apply differ.
func TestBuiltInKinds(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/client-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(
		filepath.Join(strings.TrimSpace(string(dir)), "applyconfigurations", "internal",
			"internal.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(source), "YAMLObject(`")
	text, _, _ = strings.Cut(text, "`)")
	parser, err := typed.NewParser(typed.YAMLObject(text))
	if err != nil {
		t.Fatal(err)
	}
	c := comparison{schema: &parser.Schema, seen: map[*schema.Type]bool{},
		fields: map[string]map[string]bool{}}
	for gvk, goType := range scheme.Scheme.AllKnownTypes() {
		name := "io.k8s." + strings.ReplaceAll(goType.PkgPath()[len("k8s.io/"):], "/", ".") + "." +
			gvk.Kind
		if strings.HasPrefix(goType.PkgPath(), "k8s.io/api/") {
			if named, ok := c.schema.FindNamedType(name); ok {
				c.compare(schema.TypeOf(goType), named.Atom)
			}
		}
	}
	var rows []string
	for rules, fields := range c.fields {
		names := []string{}
		for name := range fields {
			names = append(names, "`"+name+"`")
		}
		slices.Sort(names)
		rows = append(rows, fmt.Sprintf("| %s | %s |\n", rules, strings.Join(names, ", ")))
	}
	slices.Sort(rows)
	want := "| strategic merge | server-side apply | fields |\n|---|---|---|\n" +
		strings.Join(rows, "")
	docs, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(docs), want) {
		t.Errorf("testdata/README.md lacks this table:\n%s", want)
	}
}

// comparison gathers fields by the rules of both merges.
type comparison struct {
	schema *smd.Schema
	seen   map[*schema.Type]bool
	fields map[string]map[string]bool
}

// compare goes through a struct of the API's Go types, and its type in server-side apply.
func (c *comparison) compare(t *schema.Type, a smd.Atom) {
	if t == nil || c.seen[t] || a.Map == nil || t.Kind != schema.Struct {
		return
	}
	c.seen[t] = true
	for _, f := range t.Fields {
		field, ok := a.Map.FindField(f.Name)
		if !ok {
			continue
		}
		of, ok := c.schema.Resolve(field.Type)
		if !ok {
			continue
		}
		strategic, server := f.Type.String(), ruleOf(of)
		if f.Type.Kind == schema.Struct || f.Type.Kind == schema.Map {
			strategic = "granular"
		}
		if isAggregate(f.Type) && strategic != server {
			rules := strategic + " | " + server
			if c.fields[rules] == nil {
				c.fields[rules] = map[string]bool{}
			}
			c.fields[rules][t.GoType().Name()+"."+f.Name] = true
		}
		inner, within := f.Type, of
		if of.List != nil && f.Type.Elem != nil {
			inner = f.Type.Elem
			within, _ = c.schema.Resolve(of.List.ElementType)
		}
		c.compare(inner, within)
	}
}

func isAggregate(t *schema.Type) bool { return t.Kind != schema.Scalar && t.Kind != 0 }

// ruleOf is how server-side apply merges a type.
func ruleOf(a smd.Atom) string {
	switch {
	case a.List != nil && a.List.ElementRelationship == smd.Atomic:
		return "atomic"
	case a.List != nil && len(a.List.Keys) > 0:
		return "list-map by " + strings.Join(a.List.Keys, ", ")
	case a.List != nil:
		return "set"
	case a.Map != nil && a.Map.ElementRelationship == smd.Atomic:
		return "atomic"
	case a.Map != nil:
		return "granular"
	default:
		return "scalar"
	}
}
