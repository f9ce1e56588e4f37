package merge_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestApply_TypedAndObject compares patches of a Go type with the objects that they encode to. Both
// give equal values and claims, also after later writes.
func TestApply_TypedAndObject(t *testing.T) {
	merged := 0
	for _, hasDuplicates := range []bool{false, true} {
		rules := schema.Rules{AllowDuplicateKeys: hasDuplicates}
		plan, err := planForAny(reflect.TypeFor[written](), rules)
		if err != nil {
			t.Fatal(err)
		}
		g := writtenGenerator{rand.New(rand.NewPCG(testenv.Seed(t), 3)), hasDuplicates}
		for i := range 1_000 {
			value := g.value(2)
			value.Items = slices.CompactFunc(value.Items, func(a, b writtenItem) bool {
				return a.Name == b.Name
			})
			base := any(value)
			var mixed, objects []merge.Patch
			for k := range 1 + g.IntN(4) {
				patch := any(g.value(2))
				if g.IntN(3) == 0 {
					patch = fromJSON[any](directives[g.IntN(len(directives))])
				}
				object := fromJSON[any](asJSON(patch))
				manager := fmt.Sprint(k)
				mixed = append(mixed, merge.Patch{Manager: manager, Value: patch})
				objects = append(objects, merge.Patch{Manager: manager, Value: object})
			}
			one, err := plan.Apply(&base, mixed)
			other, errOther := plan.Apply(&base, objects)
			if (err != nil) != (errOther != nil) {
				t.Fatalf("case %d: %s, %s: %v, %v", i, asJSON(base), asJSON(mixed), err, errOther)
			}
			if err != nil {
				continue
			}
			merged++
			compare := func(when string) {
				t.Helper()
				if diff := cmp.Diff(asJSON(one.Value), asJSON(other.Value)); diff != "" {
					t.Fatalf("case %d, %s: values (-typed +object):\n%s", i, when, diff)
				}
				if diff := cmp.Diff(plainClaims(other.History),
					plainClaims(one.History)); diff != "" {
					t.Fatalf("case %d, %s: base %s, patches %s: claims (-object +typed):\n%s", i,
						when, asJSON(base), asJSON(mixed), diff)
				}
			}
			compare("merged")
			for k := range g.IntN(3) {
				now := g.value(2)
				changes := g.IntN(2) == 0
				for _, result := range []*merge.Result[any]{one, other} {
					layer := merge.Owner(fmt.Sprint("later", k))
					if changes {
						result.History.Record(layer, result.Value, now, nil)
					} else {
						writes(result.History, layer, merge.Origin{Path: jobOrigin.Path, Always: true},
							nil)(result.Value, now)
					}
					*result.Value.(*written) = *fromJSON[*written](asJSON(now))
				}
				compare(fmt.Sprint("write ", k))
			}
		}
	}
	if merged < 1_000 {
		t.Errorf("%d cases merged, want more", merged)
	}
}

// directives are patches that only objects can say.
var directives = []string{
	`{"items":null,"part":null}`,
	`{"items":[{"name":"a","$patch":"delete"},{"name":"b"}]}`,
	`{"items":[{"name":"a","$patch":"delete"},{"name":"a","value":"b"}]}`,
	`{"items":[{"$patch":"replace"},{"name":"b","ports":[{"port":97,"name":"a"}]},{"name":"a","value":"b"}]}`,
	`{"items":[{"name":"b","ports":null},{"name":"a","ports":[{"port":98,"$patch":"delete"},{"port":97,"name":"b"}]}]}`,
	`{"items":[{"name":"c","ports":[{"$patch":"replace"},{"port":98}],"labels":{"a":null},"part":{"$patch":"replace","text":"c"}}]}`,
	`{"$retainKeys":["items","text"],"items":[{"name":"a","$retainKeys":["name","ports"]}]}`,
	`{"$setElementOrder/items":[{"name":"b"},{"name":"a"}],"labels":{"$patch":"delete"}}`,
	`{"$patch":"replace","items":[{"name":"a","value":"a","ports":[{"port":97}]}],"set":["b"]}`,
}

// plainClaims returns the claims, each repeated one once. It omits those on the presence of
// structs: an object's claims within a struct stand for it.
func plainClaims(o *merge.History) []string {
	lines := slices.DeleteFunc(claimsOf(o), func(line string) bool {
		return strings.Contains(line, ".part ")
	})
	for i, line := range lines {
		lines[i] = strings.Join(slices.Compact(strings.Split(line, " ")), " ")
	}
	return lines
}

// writtenGenerator generates values in which little is often the same. Items may share their keys.
type writtenGenerator struct {
	*rand.Rand
	hasDuplicates bool
}

func (g writtenGenerator) word() string { return []string{"", "a", "b"}[g.IntN(3)] }

func (g writtenGenerator) list() (list []string) {
	for i := range 3 {
		if g.IntN(3) == 0 {
			list = append(list, string(rune('a'+i)))
		}
	}
	return list
}

func (g writtenGenerator) labels() map[string]string {
	labels := map[string]string{}
	for _, key := range g.list() {
		labels[key] = g.word()
	}
	return labels
}

func (g writtenGenerator) value(depth int) *written {
	v := &written{Text: g.word(), Flag: g.IntN(2) == 0, Labels: g.labels(), Set: g.list(),
		Args: g.list(), Part: g.part(depth)}
	if part := g.part(depth); part != nil {
		v.Struct = *part
	}
	if g.IntN(2) == 0 {
		count := int64(g.IntN(2))
		v.Count = &count
	}
	for i, name := range g.names() {
		item := writtenItem{Name: name, Value: g.word(), Labels: g.labels(), Part: g.part(depth)}
		ports := g.names()
		// the history of the first item with a key lacks what only another item has
		if i > 0 && name == v.Items[0].Name {
			ports = slices.DeleteFunc(ports, func(port string) bool {
				return !slices.ContainsFunc(v.Items[0].Ports, func(p *writtenPort) bool {
					return p.Port == int32(port[0])
				})
			})
		}
		for _, port := range ports {
			item.Ports = append(item.Ports, &writtenPort{Port: int32(port[0]), Name: g.word()})
		}
		v.Items = append(v.Items, item)
	}
	return v
}

// names generates the keys of a list's items.
func (g writtenGenerator) names() []string {
	names := g.list()
	if g.hasDuplicates && len(names) > 0 && g.IntN(3) == 0 {
		names = append(names, names[0])
	}
	return names
}

func (g writtenGenerator) part(depth int) *writtenPart {
	if depth == 0 || g.IntN(2) == 0 {
		return nil
	}
	return &writtenPart{Text: g.word(), Args: g.list(), Part: g.part(depth - 1)}
}
