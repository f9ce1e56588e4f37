package merge_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// The laws of the policies, for Pods and the patches of several managers.

// TestOptions rejects policies that do not exist or contradict each other, in each kind of plan.
func TestOptions(t *testing.T) {
	for want, o := range map[string]options{
		`merge: Unions: Unsupported value: "none": supported values: "last", "error"`: {
			Unions: "none"},
		`merge: Defaults: Forbidden: may only be set when the rules have defaults`: {
			Defaults: "rules"},
		`merge: Prefer: Duplicate value: "a"`: {
			Managers: []string{"a", "a"}},
		`merge: ProtectError: Forbidden: may not be set when Protect is not`: {
			ProtectedError: true},
		`merge: Prefer: Forbidden: may not be set with First or BaseWins`: {
			Managers: []string{"a"}, Precedence: "first"},
	} {
		for _, plan := range []plan[merge.Object]{planForJSON(), objectPlan("{type: object}")} {
			_, err := plan.Apply(nil, nil, o.list()...)
			if checked := plan.Check(o); err == nil || err.Error() != want ||
				fmt.Sprint(checked) != want {
				t.Errorf("errors %v and %v, want %s", err, checked, want)
			}
		}
	}
}

// TestUnions_Error names the members of a union and their layers.
func TestUnions_Error(t *testing.T) {
	base := corev1.PodSpec{
		Containers: []corev1.Container{
			{Name: "c", LivenessProbe: &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}}}}}
	probe := func(member string, fields merge.Object) merge.Patch {
		return merge.Patch{Manager: member, Value: &merge.Object{
			"containers": []any{
				merge.Object{"name": "c", "livenessProbe": merge.Object{member: fields}}},
		}}
	}
	_, err := podPlan(t).Apply(
		&base, []merge.Patch{probe("grpc", merge.Object{"port": int64(1)}),
			probe("httpGet", merge.Object{})}, options{Unions: "error"}.list()...)
	want := `patch of manager/httpGet: .containers[name="c"].livenessProbe: Forbidden: may not set more than one member of the union "handler": ` +
		`exec of base, httpGet of manager/httpGet, grpc of manager/grpc`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	profile := func(name, field, value string) merge.Patch {
		return merge.Patch{
			Manager: name,
			Value: &merge.Object{
				"securityContext": merge.Object{"seccompProfile": merge.Object{field: value}}}}
	}
	_, err = podPlan(t).Apply(
		nil, []merge.Patch{profile("a", "localhostProfile", "p"),
			profile("b", "type", "Unconfined")}, options{Unions: "error"}.list()...)
	want = `patch of manager/b: .securityContext.seccompProfile: Forbidden: may not set more than one member of the union "profile": ` +
		`type "Unconfined" of manager/b, localhostProfile of manager/a`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestUnions: the policy of unions removes only union members, and none that the last patch on the
// union sets. An error names the members that would be removed.
func TestUnions(t *testing.T) {
	pod := podPlan(t).Type()
	decided := 0
	forPods(t, false, func(c podCase) string {
		none, by, err := c.merged(t, options{Unions: "last"})
		if err != nil {
			return ""
		}
		changed := differing(pod, treeOf(none.Value), treeOf(by.Value), nil)
		for _, path := range changed {
			last := len(path) - 1
			name, _ := path[last].Field()
			u := slices.IndexFunc(pod.Lookup(path[:last]).Unions, func(u schema.Union) bool {
				return u.Has(name)
			})
			if u < 0 || at(treeOf(by.Value), path) != nil {
				return fmt.Sprintf("%s is not a member that was removed", path)
			}
			if !slices.ContainsFunc(notesOf(by.Notes, merge.Decided), func(d merge.Note) bool {
				return slices.Equal(d.Path, path) && d.Option == "Unions" && len(d.Losers) > 0
			}) {
				return fmt.Sprintf("no decision on %s: %v", path, notesOf(by.Notes, merge.Decided))
			}
			union := pod.Lookup(path[:last]).Unions[u]
			if _, said := c.said(path); union.Discriminator == "" && said[len(said)-1] != nil {
				return fmt.Sprintf("the last patch sets %s, and it was removed", path)
			}
		}
		decided += len(changed)
		_, _, err = c.merged(t, options{Unions: "error"})
		var failed *merge.PatchError
		if errors.As(err, &failed) != (len(changed) > 0) {
			return fmt.Sprintf("error %v, and %d members were removed", err, len(changed))
		}
		return broken(pod, treeOf(by.Value), c, nil)
	})
	if decided == 0 {
		t.Error("nothing was decided")
	}
}

// broken reports a union without a discriminator of which different patches set two members, or a
// patch and the base.
func broken(t *schema.Type, tree any, c podCase, path fieldpath.Path) string {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			if f := t.Field(name); f != nil {
				if b := broken(f.Type, value, c, path.Append(fieldpath.Field(name))); b != "" {
					return b
				}
			}
		}
		for _, u := range t.Unions {
			setters := map[int]bool{}
			for name := range tree {
				if u.Discriminator != "" || !u.Has(name) {
					continue
				}
				base, patches := c.said(path.Append(fieldpath.Field(name)))
				last := -1
				for i, said := range patches {
					if said != nil {
						last = i
					}
				}
				if last >= 0 || base != nil {
					setters[last] = true
				}
			}
			if len(setters) > 1 {
				return fmt.Sprintf("%s: several members of union %q: %s", path, u.Name,
					inJSON(tree))
			}
		}
	case []any:
		for _, item := range tree {
			if t.Kind == schema.ListMap {
				if b := broken(t.Elem, item, c,
					path.Append(fieldpath.Item(t.Key, keyIn(t, item)))); b != "" {
					return b
				}
			}
		}
	}
	return ""
}

// TestEmpty: the policy of empty strings changes only strings that are always encoded. They keep
// the last text that is not empty.
func TestEmpty(t *testing.T) {
	pod := podPlan(t).Type()
	decided := 0
	forPods(t, false, func(c podCase) string {
		none, by, err := c.merged(t, options{Empty: "skip"})
		if err != nil {
			return fmt.Sprint(err)
		}
		for _, path := range differing(pod, treeOf(none.Value), treeOf(by.Value), nil) {
			name, _ := path[len(path)-1].Field()
			base, patches := c.said(path)
			want := any("")
			for _, said := range append([]any{base}, patches...) {
				if said != nil && said != "" {
					want = said
				}
			}
			f := pod.Lookup(path[:len(path)-1]).Field(name)
			if f.Omits("") || at(treeOf(none.Value), path) != "" ||
				at(treeOf(by.Value), path) != want {
				return fmt.Sprintf("%s: %v, want %v", path, at(treeOf(by.Value), path), want)
			}
			if !slices.ContainsFunc(notesOf(by.Notes, merge.Decided), func(d merge.Note) bool {
				return slices.Equal(d.Path, path) && d.Option == "SkipEmpty"
			}) {
				return fmt.Sprintf("no decision on %s", path)
			}
			decided++
		}
		return ""
	})
	if decided == 0 {
		t.Error("nothing was decided")
	}
}

// TestDefaults: the policy of defaults adds fields that nobody set, and changes neither the owners
// nor the conflicts.
func TestDefaults(t *testing.T) {
	pod, added := podPlan(t).Type(), 0
	forPods(t, true, func(c podCase) string {
		none, by, err := c.merged(t, options{Defaults: "rules"})
		if err != nil {
			return ""
		}
		for _, path := range differing(pod, treeOf(none.Value), treeOf(by.Value), nil) {
			if at(treeOf(none.Value), path) != nil {
				return fmt.Sprintf("%s was set, and is now %v", path, at(treeOf(by.Value), path))
			}
			added++
		}
		if difference := gocmp.Diff(ownersIn(none.History),
			ownersIn(by.History)); difference != "" {
			return difference
		}
		return gocmp.Diff(fmt.Sprint(conflict.Find(none.History)),
			fmt.Sprint(conflict.Find(by.History)))
	})
	if added == 0 {
		t.Error("nothing was added")
	}
}

// TestPrecedence: a precedence changes a value only where Find reports an overlap, and then the
// manager that it names wins.
func TestPrecedence(t *testing.T) {
	pod := podPlan(t).Type()
	decided := 0
	forPods(t, false, func(c podCase) string {
		for _, o := range []options{{Precedence: "first"}, {Managers: []string{"m1", "m0"}}} {
			none, by, err := c.merged(t, o)
			if err != nil {
				return fmt.Sprint(err)
			}
			found := conflict.Find(none.History)
			for _, path := range differing(pod, treeOf(none.Value), treeOf(by.Value), nil) {
				if !slices.ContainsFunc(found, func(c conflict.Conflict) bool {
					return path.HasPrefix(c.Path) || c.Path.HasPrefix(path)
				}) {
					return fmt.Sprintf("%+v changes %s, and no overlap is reported", o, path)
				}
			}
			for _, overlap := range found {
				if overlap.Kind != conflict.Overlap ||
					slices.ContainsFunc(overlap.Claims, func(c merge.Claim) bool {
						return c.Value == nil
					}) {
					continue
				}
				wins := overlap.Claims[0]
				if o.Precedence == "" {
					wins = overlap.Claims[len(overlap.Claims)-1]
					for _, name := range []string{"m0", "m1"} {
						if i := slices.IndexFunc(overlap.Claims, func(c merge.Claim) bool {
							return c.Owner == merge.Manager(name)
						}); i >= 0 {
							wins = overlap.Claims[i]
						}
					}
				}
				if !slices.ContainsFunc(notesOf(by.Notes, merge.Decided), func(d merge.Note) bool {
					isValue := merge.SameValue(at(treeOf(by.Value), overlap.Path), wins.Value)
					return (d.Option == "First") == (o.Managers == nil) &&
						slices.Equal(d.Path, overlap.Path) && (d.Owner == wins.Owner || isValue) &&
						len(d.Losers) > 0
				}) {
					return fmt.Sprintf("%+v: overlap %v: decisions %v, want %s to win", o, overlap,
						notesOf(by.Notes, merge.Decided), wins.Owner)
				}
				decided++
			}
		}
		return ""
	})
	if decided == 0 {
		t.Error("nothing was decided")
	}
}

// TestPrecedence_SeveralPatches: a precedence orders managers. The patches of one manager stay in
// their order, so the last of them wins over the others, and an error names the first that cannot
// be merged in that order.
func TestPrecedence_SeveralPatches(t *testing.T) {
	for _, c := range []struct {
		managers, fails string // of the patches in their order, and of those that cannot be merged
		option          merge.Option
		want            string
	}{
		{"a b a", "", merge.First(), "a2"},
		{"b a b a", "", merge.First(), "b2"},
		{"a b c", "", merge.First(), "a0"},
		{"a b a", "", merge.Prefer("b"), "b1"},
		{"b a b a", "", merge.Prefer("b", "a"), "b2"},
		{"a b c a b c", "", merge.Prefer("a", "c"), "a3"},
		{"c c c c c c c c c c c c a b", "", merge.Prefer("b", "c"), "b13"},
		{"c c c c c c c c c c c c c a", "", merge.Prefer("c"), "c12"},
		{"a b", "a b", merge.KeepOrder(), "patch of manager/a"},
		{"a b", "a b", merge.First(), "patch of manager/b"},
		{"a b", "a b", merge.Prefer("b"), "patch of manager/a"},
	} {
		var patches []merge.Patch
		for i, name := range strings.Fields(c.managers) {
			patch := merge.Object{"text": fmt.Sprint(name, i)}
			if strings.Contains(c.fails, name) {
				patch["text"] = int64(i)
			}
			patches = append(patches, merge.Patch{Manager: name, Value: patch})
		}
		result, err := merge.Strategic[written](nil, patches, c.option)
		if c.fails != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %s", c.managers, err, c.want)
			}
		} else if err != nil || result.Value.Text != c.want {
			t.Errorf("%s: %v, %v, want %s", c.managers, result, err, c.want)
		}
	}
}

// TestFind_Policies: the conflicts do not depend on a policy, and a policy hides none. The owners
// of a field tell its value.
func TestFind_Policies(t *testing.T) {
	for _, directives := range []bool{false, true} {
		random := rand.New(rand.NewPCG(1, 2))
		forPods(t, directives, func(c podCase) string {
			o := somePolicies(random)
			none, by, err := c.merged(t, o)
			if err != nil {
				return ""
			}
			want, got := conflictTexts(none.History), conflictTexts(by.History)
			if directives { // they decide in the order of the merge what members a union has
				isUnion := func(text string) bool { return strings.HasPrefix(text, "union") }
				want, got = slices.DeleteFunc(want, isUnion), slices.DeleteFunc(got, isUnion)
			}
			if !slices.Equal(want, got) {
				return fmt.Sprintf("%+v: conflicts\n  %q, want\n  %q", o, got, want)
			}
			return ownersBroken(by)
		})
	}
}

// conflictTexts returns the conflicts of a merge in the order of their texts. For an emptied field
// and a union, the order of the merge decides which claims within represent a manager.
func conflictTexts(owners *merge.History) (texts []string) {
	for _, c := range conflict.Find(owners) {
		claims := c.Managers()
		if c.Kind == conflict.Overlap && !slices.ContainsFunc(c.Claims, func(c merge.Claim) bool {
			return c.Value == nil
		}) {
			claims = nil
			for i, claim := range c.Claims {
				claims = append(claims, fmt.Sprint(c.Fields[i], claim))
			}
		}
		slices.Sort(claims)
		texts = append(texts, fmt.Sprint(c.Kind, c.Path, claims))
	}
	slices.Sort(texts)
	return texts
}

// TestPrecedence_Base: the fields that the base sets stay, and patches set the rest.
func TestPrecedence_Base(t *testing.T) {
	pod := podPlan(t).Type()
	forPods(t, true, func(c podCase) string {
		none, by, err := c.merged(t, options{Precedence: "base"})
		if err != nil {
			return ""
		}
		base, before, now := leaves(pod, treeOf(c.base), nil, map[string]any{}),
			leaves(pod, treeOf(none.Value), nil, map[string]any{}),
			leaves(pod, treeOf(by.Value), nil, map[string]any{})
		for path, value := range base {
			if d := gocmp.Diff(value, now[path]); d != "" {
				return fmt.Sprintf("%s (-base +got):\n%s", path, d)
			}
		}
		for path, value := range before {
			if _, isOfBase := base[path]; !isOfBase && !reflect.DeepEqual(now[path], value) {
				return fmt.Sprintf("%s is %v, and a patch sets %v", path, now[path], value)
			}
		}
		return ownersBroken(by)
	})
}

// TestPolicies_Objects: the policies of objects without a Go type.
func TestPolicies_Objects(t *testing.T) {
	defined := objectPlan(`{type: object, properties: {
		spec: {type: object, properties: {project: {type: string}, other: {type: string}, deep: {type: object, properties: {x: {type: string}, y: {type: string}}}}},
		items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, image: {type: string}}}},
		marks: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`)
	path := func(text string) (paths []fieldpath.Path) {
		parsed, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return append(paths, parsed)
	}
	const base = `{"spec": {"project": "p", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}], "marks": ["m"]}`
	for i, c := range []struct {
		plan           plan[merge.Object]
		o              options
		patches        []string
		want           string
		told, decision string
	}{
		{planForJSON(), options{Protected: path("spec.project")},
			[]string{`{"spec": {"project": "q", "other": "o"}}`},
			`{"spec": {"project": "p", "other": "o", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}], "marks": ["m"]}`, ".spec.project", ".spec.project"},
		{planForJSON(), options{Protected: path("spec.project")},
			[]string{`{"spec": null, "items": null, "marks": null}`}, `{"spec": {"project": "p"}}`,
			".spec.project", ""},
		{planForJSON(), options{Protected: path("extra")},
			[]string{`{"extra": {"a": "b"}, "items": null, "marks": null, "spec": null}`}, `{}`,
			".extra", ".extra.a"},
		{planForJSON(), options{Precedence: "base"},
			[]string{`{"spec": {"project": "q", "other": "o"}, "items": [], "marks": null}`},
			`{"spec": {"project": "p", "other": "o", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}], "marks": ["m"]}`, "", ".spec.project"},
		{defined, options{Protected: path("items.image")},
			[]string{`{"items": [{"name": "a", "image": "j"}, {"name": "c", "image": "k"}]}`},
			`{"spec": {"project": "p", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}, {"name": "c"}], "marks": ["m"]}`, `.items[name="a"].image`, `.items[name="a"].image`},
		{defined, options{Precedence: "base"},
			[]string{`{"items": [{"name": "a", "image": "j"}, {"name": "c", "image": "k"}], "spec": {"project": "q", "deep": null}}`},
			`{"spec": {"project": "p", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}, {"name": "c", "image": "k"}], "marks": ["m"]}`, "", `.items[name="a"].image`},
		{planForJSON(), options{Precedence: "first"},
			[]string{`{"spec": {"project": "q"}, "items": null, "marks": null}`,
				`{"spec": {"project": "r"}}`},
			`{"spec": {"project": "q", "deep": {"x": "1"}}}`, "", ".spec.project"},
	} {
		object := fromJSON[merge.Object](base)
		var patches []merge.Patch
		for j, text := range c.patches {
			patch := fromJSON[merge.Object](text)
			patches = append(patches, merge.Patch{Manager: fmt.Sprint(j), Value: &patch})
		}
		result, err := c.plan.Apply(&object, patches, c.o.list()...)
		if err != nil {
			t.Fatal(i, err)
		}
		if d := gocmp.Diff(fromJSON[merge.Object](c.want), result.Value); d != "" {
			t.Errorf("%d: (-want +got):\n%s", i, d)
		}
		if d := gocmp.Diff(fromJSON[merge.Object](base), object); d != "" {
			t.Errorf("%d: the base changed:\n%s", i, d)
		}
		if (len(notesOf(result.Notes, merge.Protected)) > 0) != (c.told != "") ||
			c.told != "" && notesOf(result.Notes, merge.Protected)[0].Path.String() != c.told {
			t.Errorf("%d: told are %v, want %s", i, notesOf(result.Notes, merge.Protected), c.told)
		}
		if c.decision != "" && !slices.ContainsFunc(notesOf(result.Notes, merge.Decided),
			func(d merge.Note) bool { return d.Path.String() == c.decision }) {
			t.Errorf("%d: decisions %v, want one on %s", i, notesOf(result.Notes, merge.Decided),
				c.decision)
		}
		if c.told == "" {
			continue
		}
		c.o.ProtectedError = true
		if _, err := c.plan.Apply(&object, patches, c.o.list()...); err == nil ||
			err.Error() != "patch of manager/0: "+c.told+": Forbidden: the field is protected" {
			t.Errorf("%d: error %v", i, err)
		}
	}
}

// TestPolicies_Embedded: the base's values come back within an embedded pointer as well, and a
// value of any type.
func TestPolicies_Embedded(t *testing.T) {
	type Inline struct {
		Name  string `json:"name,omitempty"`
		Other string `json:"other,omitempty"`
	}
	type outer struct {
		*Inline
		Any    any               `json:"any,omitempty"`
		Amount resource.Quantity `json:"amount"`
	}
	plan := must(planFor[outer](schema.Rules{}))
	protected := options{Protected: []fieldpath.Path{fieldpath.Fields("name")}}
	for _, c := range []struct {
		o                 options
		base, patch, want string
	}{
		{protected, `{}`, `{"name": "x"}`, `{"amount":"0"}`},
		{protected, `{}`, `{"name": "x", "other": "x"}`, `{"other":"x","amount":"0"}`},
		{protected, `{"name": "y"}`, `{"name": null}`, `{"name":"y","amount":"0"}`},
		{options{Precedence: "base"}, `{"amount": "0"}`, `{"name": "x", "any": "x", "amount": "1"}`,
			`{"name":"x","any":"x","amount":"1"}`},
		{options{Precedence: "base"}, `{"name": "y", "any": "y", "amount": "2"}`,
			`{"name": "x", "any": "x", "amount": "1"}`, `{"name":"y","any":"y","amount":"2"}`},
	} {
		base, patch := fromJSON[outer](c.base), fromJSON[merge.Object](c.patch)
		result, err := plan.Apply(&base, []merge.Patch{{Manager: "a", Value: &patch}},
			c.o.list()...)
		if err != nil || inJSON(result.Value) != c.want {
			t.Errorf("base %s, patch %s: %+v, %v, want %s", c.base, c.patch, result, err, c.want)
		}
	}
}
