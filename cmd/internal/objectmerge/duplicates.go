package objectmerge

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/cmd/internal/lookup"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/schema"
)

// A strategic merge patch knows items of a list by one merge key. In three lists, the API tells
// items apart by a second field. So it takes lists that a patch cannot address. The second field
// only classifies the results of the merge.

// second is the field that tells apart two items of one merge key, and its default.
type second struct{ name, defaultValue string }

// secondKey returns the second of the x-kubernetes-list-map-keys of an item's type (Kubernetes
// v1.36 k8s.io/api), or the zero value.
func secondKey(item reflect.Type) second {
	switch item {
	case reflect.TypeFor[corev1.ContainerPort](), reflect.TypeFor[corev1.ServicePort]():
		return second{"protocol", string(corev1.ProtocolTCP)}
	case reflect.TypeFor[corev1.TopologySpreadConstraint]():
		return second{"whenUnsatisfiable", ""}
	}
	return second{}
}

// of returns the field's value in an item.
func (s second) of(item merge.Object) string {
	if text, ok := item[s.name].(string); ok && text != "" {
		return text
	}
	return s.defaultValue
}

// duplicateSeverity returns the severity of two items with the same keys. The API server warns of
// some, and takes others in silence (Kubernetes v1.36 pkg/api/pod/warnings.go, pkg/apis).
func duplicateSeverity(item reflect.Type) finding.Severity {
	switch item {
	case reflect.TypeFor[corev1.ContainerPort](), reflect.TypeFor[corev1.EnvVar](),
		reflect.TypeFor[corev1.HostAlias](),
		reflect.TypeFor[corev1.LocalObjectReference](), reflect.TypeFor[corev1.ObjectReference](),
		reflect.TypeFor[metav1.OwnerReference](),
		reflect.TypeFor[corev1.NodeAddress](), reflect.TypeFor[corev1.PodIP](),
		reflect.TypeFor[corev1.HostIP]():
		return finding.Warning
	}
	if strings.HasSuffix(item.Name(), "Condition") {
		return finding.Warning
	}
	return finding.Error
}

// itemCheck checks the items of a merged object by their keys in the API.
type itemCheck struct {
	*Object
	base   any
	values lookup.Lists
}

// items reports items with the same keys, and items that the merge has dropped, if a patch has one.
func (c *itemCheck) items(t *schema.Type, value any, path fieldpath.Path) (found finding.List) {
	if list, ok := value.([]any); ok && t.KeyField() != nil {
		found = c.list(t, list, path)
	}
	eachPart(t, value, path, func(t *schema.Type, part any, at fieldpath.Path) {
		found = append(found, c.items(t, part, at)...)
	})
	return found
}

// eachPart calls do for each field, entry or item of a value, with its type and its path. A scalar
// has no parts.
func eachPart(t *schema.Type, value any, path fieldpath.Path,
	do func(*schema.Type, any, fieldpath.Path)) {
	switch value := value.(type) {
	case merge.Object:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if of := t.Inner(name); of != nil && of.Kind != schema.Scalar {
				do(of, value[name], path.Append(t.Step(name)))
			}
		}
	case []any:
		for i, item := range value {
			step, ok := t.Item(item)
			if !ok {
				step = fieldpath.Index(i)
			}
			if t.Elem != nil {
				do(t.Elem, item, path.Append(step))
			}
		}
	}
}

// patchItem is the last item of a patch with certain keys.
type patchItem struct {
	manager *Patch
	index   int
	isClear bool // whether the item itself has all keys
}

// list checks one list.
func (c *itemCheck) list(t *schema.Type, list []any, path fieldpath.Path) (found finding.List) {
	merged, double := map[string]bool{}, []merge.Object(nil)
	for _, item := range list {
		if object, ok := item.(merge.Object); ok && object[t.Key] != nil {
			key := keysText(t, object)
			if merged[key] {
				double = append(double, object)
			}
			merged[key] = true
		}
	}
	second := secondKey(t.Elem.GoType())
	if double == nil && second.name == "" {
		return nil
	}
	patched := map[string]patchItem{} // by all keys
	byMergeKey := map[string]patchItem{}
	var objects []merge.Object // nil for those that a patch deletes
	places := map[string][]int{}
	add := func(object merge.Object) {
		key := mergeKeyOf(t, object)
		objects, places[key] = append(objects, object), append(places[key], len(objects))
	}
	items, _ := c.values.At(c.base, path).([]any)
	for _, item := range items {
		if object, ok := item.(merge.Object); ok && object[t.Key] != nil {
			add(object)
		}
	}
	for p := range c.patches {
		items, _ := c.values.At(c.patches[p].fields, path).([]any)
		for n, item := range items {
			object, ok := item.(merge.Object)
			switch {
			case !ok || object[t.Key] == nil:
			case object["$patch"] == "replace":
				objects = nil
				clear(places)
			case object["$patch"] != nil: // what it deletes is no loss
				for _, i := range places[mergeKeyOf(t, object)] {
					objects[i] = nil
				}
				delete(places, mergeKeyOf(t, object))
			default:
				at := patchItem{&c.patches[p], n, object[second.name] != nil}
				patched[keysText(t, object)] = at
				if at.isClear {
					byMergeKey[mergeKeyOf(t, object)] = at
					add(object)
				}
			}
		}
	}
	report := func(object merge.Object, at patchItem, f finding.Finding) {
		f.Object, f.Path = c.ID, path.Append(fieldpath.Item(t.Key, mergeKeyOf(t, object)))
		f.Position = at.manager.document.Position(path.Append(fieldpath.Index(at.index)))
		found = append(found, f)
	}
	for _, object := range double {
		if at, ok := patched[keysText(t, object)]; ok {
			report(object, at, finding.Finding{
				Code: codes.DuplicateItem, Severity: duplicateSeverity(t.Elem.GoType()),
				Message: "Duplicate value: " + keysText(t, object),
				Remedy:  finding.Remedy{Text: "combine the two, or change one's key"}})
		}
	}
	if second.name == "" {
		return found
	}
	for _, object := range objects {
		key := keysText(t, object)
		if at, ok := byMergeKey[mergeKeyOf(t, object)]; ok && object != nil && !merged[key] {
			merged[key] = true // reported once
			report(object, at, finding.Finding{
				Code: codes.SameKey, Severity: finding.Warning,
				Message: fmt.Sprintf(
					"the result lacks %s: a strategic merge patch has one item of %s %s",
					key, t.Key, mergeKeyOf(t, object)),
				Remedy: finding.Remedy{
					Text: "use --type=merge with the whole list to have both items"}})
		}
	}
	return found
}

// keysText returns the keys of an item as the API server quotes them.
func keysText(t *schema.Type, item merge.Object) string {
	keys := map[string]any{t.Key: item[t.Key]}
	second := secondKey(t.Elem.GoType())
	if second.name == "" {
		text, _ := json.Marshal(item[t.Key])
		return string(text)
	}
	keys[second.name] = second.of(item)
	text, _ := json.Marshal(keys)
	return string(text)
}

// unionCheck checks the unions of a merged object by its Go type, however it merges.
type unionCheck struct {
	*Object
	reported map[string]bool // the unions of which conflict.Find reports two managers
	owners   *merge.History
	// exact are the managers' claims in force by their path, and within one of them by each path
	// around it. Both are nil until a union has two members.
	exact, within map[string]merge.Claim
}

// unions reports unions of which the base and a patch, or one patch, set two members.
func (c *unionCheck) unions(t *schema.Type, value any, path fieldpath.Path) (found finding.List) {
	if object, ok := value.(merge.Object); ok {
		if t.Kind != schema.Struct && t.Kind != schema.Map {
			return nil
		}
		for _, u := range t.Unions {
			found = append(found, c.union(t, u, object, path)...)
		}
	}
	eachPart(t, value, path, func(t *schema.Type, part any, at fieldpath.Path) {
		found = append(found, c.unions(t, part, at)...)
	})
	return found
}

func (c *unionCheck) union(t *schema.Type, u schema.Union, object merge.Object,
	path fieldpath.Path) finding.List {
	set := slices.DeleteFunc(slices.Clone(u.Members), func(name string) bool {
		return isUnset(t, name, object[name])
	})
	if u.Discriminator != "" {
		if choice, ok := object[u.Discriminator].(string); !ok || choice == u.When ||
			len(set) == 0 {
			return nil
		}
		set = append(set, u.Discriminator)
	}
	if len(set) < 2 || c.reported[path.String()] {
		return nil
	}
	if c.exact == nil {
		c.index()
	}
	if claims := c.memberClaims(object, path, set); claims != nil {
		return finding.List{c.twoMembers(t, u, path, claims, set)}
	}
	return nil
}

// isUnset reports whether a member of a union is not set. An empty string is none, unless the Go
// type tells it from no string.
func isUnset(t *schema.Type, name string, value any) bool {
	if value != "" || t.GoType() == nil {
		return value == nil
	}
	f, ok := tree.Structs{}.Field(t.GoType(), name)
	return ok && f.Type.Kind() == reflect.String
}

// memberClaims returns one claim for each member that is set: a manager's, or else the base's. It
// returns nil if no patch sets one.
func (c *unionCheck) memberClaims(object merge.Object, path fieldpath.Path,
	set []string) []merge.Claim {
	claims, isPatched := make([]merge.Claim, len(set)), false
	whole, isWhole := c.atomicClaim(path)
	for i, name := range set {
		field := path.Append(fieldpath.Field(name))
		claims[i] = merge.Claim{Owner: merge.BaseLayer, Value: object[name], At: field}
		if claim, ok := c.claimOn(field.String()); ok {
			claims[i], isPatched = claim, true
			if (claim.Value == merge.Presence{}) { // an empty object, such as emptyDir: {}
				claims[i].Value = object[name]
			}
		} else if isWhole {
			claims[i].Owner, isPatched = whole.Owner, true
		}
	}
	if !isPatched {
		return nil
	}
	for i := range claims {
		claims[i].Position = c.Position(claims[i].Owner, claims[i].At)
		if c.ID.Kind == "Secret" {
			claims[i].Value = "***"
		}
	}
	return claims
}

// index finds the managers' claims in force.
func (c *unionCheck) index() {
	c.exact, c.within = map[string]merge.Claim{}, map[string]merge.Claim{}
	for at, claims := range c.owners.All() {
		last := claims[len(claims)-1]
		if _, ok := last.Owner.Manager(); !ok || last.Value == nil {
			continue
		}
		c.exact[at.String()] = last
		for n := range at {
			if around := at[:n].String(); c.within[around].Owner == "" {
				c.within[around] = last
			}
		}
	}
}

// claimOn returns a manager's claim on the value of a field, or else within the field, or else on
// its presence.
func (c *unionCheck) claimOn(field string) (merge.Claim, bool) {
	claim, ok := c.exact[field]
	if within, is := c.within[field]; is && (!ok || claim.Value == merge.Presence{}) {
		return within, true
	}
	return claim, ok
}

// atomicClaim returns the last claim of a manager on the value that holds a path and merges as a
// whole. An example is a list of sources.
func (c *unionCheck) atomicClaim(path fieldpath.Path) (merge.Claim, bool) {
	for n := len(path); n >= 0; n-- {
		if claim, ok := c.exact[path[:n].String()]; ok && (claim.Value != merge.Presence{}) {
			return claim, true
		}
	}
	return merge.Claim{}, false
}

func (m *Object) twoMembers(t *schema.Type, u schema.Union, path fieldpath.Path,
	claims []merge.Claim, set []string) finding.Finding {
	f := finding.Finding{
		Code: codes.TwoSources, Severity: finding.Error, Object: m.ID, Path: path, Claims: claims,
		Message: fmt.Sprintf("sets %s; the merge keeps both, and the cluster rejects the object",
			strings.Join(set, " and ")),
		Remedy: finding.Remedy{Text: "set the other member to null in the patch"},
	}
	if t.GoType() == reflect.TypeFor[corev1.EnvVar]() {
		f.Code = codes.ValueAndValueFrom
	}
	if u.Discriminator != "" {
		f.Message = fmt.Sprintf("Forbidden: %s may not be specified when %s is not %s", set[0],
			u.Discriminator, u.When)
		f.Remedy.Text = fmt.Sprintf("set %s to null in the patch", set[0])
	}
	for _, c := range claims {
		if _, ok := c.Owner.Manager(); ok {
			f.Position = c.Position
		}
	}
	return f
}
