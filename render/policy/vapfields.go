package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// directives demands that no map of a patch has a directive: $patch drops what other managers set.
func (w *vapWriter) directives() {
	if !w.ofFields {
		return
	}
	w.unit("directives")
	w.empty(directivesRule,
		w.variable("directing",
			w.patches()+".filter(p, "+
				hasDirective(runtimepatch.JobSetTemplate(), "p.?trainingRuntimeSpec.?template", 0)+
				").map(p, p.manager)"),
		"the policy allows no directive such as $patch, as in the patch of ")
}

// hasDirective returns an expression that tells whether a map at a place, or below it, has a
// directive.
func hasDirective(t *schema.Type, at string, depth int) string {
	x := "d" + strconv.Itoa(depth)
	switch {
	case t.Kind == schema.Map:
		return fmt.Sprintf("%s.orValue({}).exists(%s, string(%[2]s).startsWith('$'))", at, x)
	case t.KeyField() != nil:
		if below := hasDirective(t.Elem, x, depth+1); below != "false" {
			return fmt.Sprintf("%s.orValue([]).exists(%s, %s)", at, x, below)
		}
	case t.Kind == schema.Struct:
		var any []string
		for _, f := range t.Patchable() {
			if below := hasDirective(f.Type, at+".?"+f.Name, depth); below != "false" {
				any = append(any, below)
			}
		}
		if any != nil {
			return "(" + strings.Join(any, " || ") + ")"
		}
	}
	return "false"
}

// place is a place in the patch of a manager: its path, the expression for it, and the manager's
// patterns for the items around it.
type place struct {
	path     fieldpath.Path
	at       string
	patterns []fieldpath.Path
}

func (p place) field(name string) place {
	return place{p.path.Append(fieldpath.Field(name)), p.at + ".?" + name, p.patterns}
}

// forbiddenFields returns expressions for the fields of a struct that the manager may not set.
// Empty maps and lists set nothing.
func (m manager) forbiddenFields(t *schema.Type, p place) (fields []string) {
	var set, lists []string
	for _, f := range t.Patchable() {
		below := p.field(f.Name)
		switch maySet, within := m.patterns.find(below.path); {
		case !isStored(p.path, f) || maySet:
		case f.Type.Kind == schema.Struct && (within || isFrame(below.path)):
			fields = append(fields, m.forbiddenFields(f.Type, below)...)
		case within && f.Type.Kind != schema.Scalar:
			fields = append(fields, m.forbiddenItems(f.Type, below)...)
		case f.Type.Kind == schema.Struct || f.Type.Kind == schema.Scalar:
			set = append(set, f.Name)
		default:
			lists = append(lists, f.Name)
		}
	}
	if set != nil || lists != nil {
		fields = append(
			fields, fmt.Sprintf("%s.transformList(k, v, %s || %s && v != {} && v != [], %s + k)",
				orEmptyStruct(p.at), isOne(set), isOne(lists), celString(p.path.String()+".")))
	}
	return fields
}

// isFrame reports whether a path leads to the metadata, the spec or the template of an object.
// Policies name the fields within them.
func isFrame(path fieldpath.Path) bool {
	if len(path) == 0 {
		return true
	}
	name, is := path[len(path)-1].Field()
	return is && (name == "metadata" || name == "spec" || name == "template")
}

// isStored reports whether the API server stores a field of a patch. The definition prunes most
// fields of metadata. The name of an item sets nothing.
func isStored(path fieldpath.Path, f *schema.StructField) bool {
	if len(path) == 0 {
		return true
	}
	around := runtimepatch.JobSetTemplate().Lookup(path[:len(path)-1])
	in, isField := path[len(path)-1].Field()
	return !(around.Kind == schema.ListMap && around.Key == f.Name) &&
		!(isField && in == "metadata" &&
			!slices.Contains([]string{"annotations", "finalizers", "labels", "name", "namespace"},
				f.Name))
}

// forbiddenItems is forbiddenFields for the items of a list, the elements of a set or the keys of a
// map. First come the ones that a pattern names.
func (m manager) forbiddenItems(t *schema.Type, p place) (fields []string) {
	var steps []fieldpath.Step
	var names []string
	within := map[fieldpath.Step][]fieldpath.Path{}
	for _, pattern := range p.patterns {
		if len(pattern) <= len(p.path) || !p.path.Matches(pattern[:len(p.path)]) {
			continue
		}
		step := pattern[len(p.path)]
		if step != fieldpath.Any() && within[step] == nil {
			name, _ := step.Key() // or an element
			if _, value, isItem := step.Item(); isItem {
				name = value
			}
			steps, names = append(steps, step), append(names, name)
		}
		within[step] = append(within[step], pattern)
	}
	y := "x" + strconv.Itoa(len(p.path))
	key, none := y, "[]"
	if t.Kind == schema.Map {
		none = "{}"
	} else if t.KeyField() != nil {
		key += "." + t.Key
	}
	for i, step := range append(steps, fieldpath.Any()) {
		among, patterns := "!("+key+" in "+literal(names...)+")", within[fieldpath.Any()]
		if i < len(names) {
			among, patterns = key+" == "+celString(names[i]), slices.Concat(patterns, within[step])
		}
		below := p.path.Append(step)
		switch maySet, goesOn := m.patterns.find(below); {
		case maySet:
		case t.KeyField() == nil || !goesOn:
			fields = append(
				fields, fmt.Sprintf("(%s.orValue(%s).exists(%s, %s) ? [%s] : [])", p.at, none, y,
					among, celString(below.String())))
		default:
			for _, part := range chunks(m.forbiddenFields(t.Elem, place{below, y, patterns}),
				mostLetters) {
				fields = append(
					fields, fmt.Sprintf("%s.orValue([]).filter(%s, %s).map(%[2]s, %[4]s).flatten()",
						p.at, y, among, sum(part)))
			}
		}
	}
	return fields
}

// overlaps demands that managers agree on each field. A field is compared by value: lists by their
// order, quantities as text.
func (w *vapWriter) overlaps() {
	if !w.isError(codes.Overlap, "managers that set different values of one field") {
		return
	}
	w.left = append(
		w.left, "two managers that set different members of a union, or whose orders of list "+
			"items differ: check reports them",
		"equal quantities that are written differently, such as 1Gi and 1024Mi, and atomic lists "+
			"in another order count as different values")
	w.unit("the overlaps of managers")
	w.ofFields = true
	messages := w.compareItems(runtimepatch.JobSetTemplate(), nil,
		"["+w.patches()+
			".map(p, {'m': p.manager, 's': p.?trainingRuntimeSpec.?template.orValue({})})]")
	w.addRule(overlapsRule, messages+" == []", messages+".join('; ')")
}

// compareItems returns an expression for the messages about structs on which managers disagree.
// groups is a list of lists. Each list has the structs of one object, in the order of the patches.
// A struct s has its manager m. A list of one struct has no disagreement.
func (w *vapWriter) compareItems(t *schema.Type, path fieldpath.Path, groups string) string {
	return w.compare(
		t, path, w.variable("groups"+strconv.Itoa(len(w.variables)),
			groups+".filter(g, g.size() > 1)"), "")
}

// fewest is the number of fields for which it pays to look first whether any patch sets them.
const fewest = 4

// compare is compareItems for the structs at a place within the structs of the groups.
func (w *vapWriter) compare(t *schema.Type, path fieldpath.Path, groups, at string) string {
	set := ""
	if len(t.Patchable()) >= fewest {
		set = w.variable("set"+strconv.Itoa(len(w.variables)),
			fmt.Sprintf("' ' + %s.map(g, g.map(e, e.s%s.map(k, k).join(' ')).join(' ')).join(' "+
				"') + ' '", groups, orEmptyStruct(at)))
	}
	var messages []string
	for _, f := range t.Patchable() {
		below, field, of := path.Append(fieldpath.Field(f.Name)), at+".?"+f.Name, ""
		switch {
		case !isStored(path, f):
			continue
		case f.Type.KeyField() != nil:
			of = w.compareItems(f.Type.Elem, below.Append(fieldpath.Any()),
				groupsOf(groups, field, f.Type.Key))
		case f.Type.Kind == schema.Struct && isFrame(below):
			of = w.compare(f.Type, below, groups, field)
		default:
			each := disagreements(f.Type, field)
			if each == nil {
				continue
			}
			names := w.variable("overlap"+strconv.Itoa(len(w.variables)),
				groups+".map(g, "+strings.Join(each, " + ")+").flatten().distinct()")
			of = fmt.Sprintf("(%s == [] ? [] : [%s + %[1]s.join(', ')])", names,
				celString("managers set different values of "+below.String()+": "))
		}
		if set != "" {
			of = fmt.Sprintf("(%s.contains(' %s ') ? %s : [])", set, f.Name, of)
		}
		messages = append(messages, of)
	}
	return w.variable("messages"+strconv.Itoa(len(w.variables)), sum(messages))
}

// groupsOf returns an expression for the groups of a list's items: in each group, the items with
// one key. It takes the keys of the first patch, and adds the distinct others: distinct costs the
// square of their number. It returns none if all keys differ.
func groupsOf(groups, list, key string) string {
	return fmt.Sprintf(
		"%s.map(g, [g.map(e, e.s%s.orValue([]).map(x, {'m': e.m, 's': x})).flatten()].map(all, "+
			"[all.filter(x, x.m == all[0].m).map(x, x.s.%s)].map(first, [first + all.map(x, "+
			"x.s.%[3]s).filter(k, !(k in first)).distinct()].map(keys, "+
			"keys.size() == all.size() ? [] : keys.map(k, all.filter(x, x.s.%[3]s == "+
			"k))).flatten()).flatten()).flatten()).flatten()", groups, list, key)
}

// disagreements returns expressions for the managers in group g that set a field, or fields within
// it, to different values.
func disagreements(t *schema.Type, at string) (each []string) {
	switch t.Kind {
	case schema.Set: // the merge keeps the items of both
	case schema.Struct:
		for _, f := range t.Patchable() {
			each = append(each, disagreements(f.Type, at+".?"+f.Name)...)
		}
	case schema.Map:
		each = []string{
			fmt.Sprintf("[g.map(e, [?e.s%s]).flatten().map(f, f.transformList(k, v, [dyn(k), "+
				"v])).flatten()].map(l, l.distinct().size() == l.map(x, x[0]).distinct().size() "+
				"? [] : "+
				"g.filter(e, e.s%[1]s.orValue({}).exists(k, l.filter(x, x[0] == "+
				"k).distinct().size() "+
				"> 1)).map(e, e.m)).flatten()", at)}
	default:
		each = []string{
			fmt.Sprintf("(g.map(e, [?e.s%s]).flatten().distinct().size() > 1 ? g.filter(e, "+
				"e.s%[1]s.hasValue()).map(e, e.m) : [])", at)}
	}
	return each
}
