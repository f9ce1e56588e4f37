package repair

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// fix is a finding with the changes that repair it. All of them happen, or none.
type fix struct {
	finding finding.Finding
	changes []change
}

// change is a change of an object.
type change struct {
	*editedObject
	manifest.Change
	// isShared tells that the object holds a patch of several TrainJobs.
	isShared bool
}

// key identifies equal changes.
func (c change) key() string {
	return fmt.Sprintf("%s %d %s %s %s %v", c.at, c.Do, c.Path, c.Name, c.To, c.Value)
}

// add adds the repair of a finding, if it has one or the user chose one. Otherwise it records why the repair is rejected.
func (r *pass) add(f finding.Finding) {
	make := r.repairOf(f)
	m := idOf(f)
	switch {
	case make == nil || r.tried[m] == mostTries:
		return
	case r.ineffectiveIDs[m]:
		r.reject(f, codes.NotRepaired, "the repair does not remove the finding", byHand)
		return
	}
	if rejection := r.generated(f); rejection != nil {
		r.rejected[m] = *rejection
		return
	}
	changes, err := make(f)
	if err != nil {
		r.reject(f, codes.NotRepaired, err.Error(), byHand)
		return
	}
	if len(changes) > 0 {
		r.fixes = append(r.fixes, &fix{f, changes})
	}
}

// repairOf returns the function that makes the changes for a finding, or nil for a finding without a repair.
func (r *pass) repairOf(f finding.Finding) func(finding.Finding) ([]change, error) {
	switch isConflict := isFixableConflict(f); {
	case f.Remedy.Do == finding.Compose && f.Remedy.IsCertain && r.winner(f) == "":
		return r.compose
	case isConflict && r.opts.Union && hasUnion(f):
		return r.unite
	case isConflict && r.winner(f) != "":
		return r.prefer
	case isConflict && r.opts.Union && areLists(f.Claims):
		return func(finding.Finding) ([]change, error) { return nil, errNoUnion }
	case isConflict:
		return nil
	case f.Remedy.IsCertain:
		return r.perform
	default:
		return nil
	}
}

// isFixableConflict reports whether a finding is on managers that disagree.
func isFixableConflict(f finding.Finding) bool {
	return f.Code == codes.Overlap || f.Code == codes.Union || f.Code == codes.Forced
}

// perform returns the change of the one right fix.
func (r *pass) perform(f finding.Finding) ([]change, error) {
	if f.Remedy.Do == finding.Migrate {
		return r.migrate(f)
	}
	at, err := r.fieldRef(f.Position, f.Path)
	option := ""
	if len(f.Remedy.Options) > 0 {
		option = f.Remedy.Options[0]
	}
	c := manifest.Change{Path: at.path}
	switch f.Remedy.Do {
	case finding.Remove, finding.Merge:
		c.Do = manifest.RemoveField
	case finding.Quote:
		c.Do = manifest.QuoteField
	case finding.Rename:
		at, err = r.nearestField(f.Position, f.Path)
		c.Path, c.Do, c.Name = at.path, manifest.RenameField, option
	case finding.SetValue:
		if err != nil {
			at, err = r.missing(f)
		}
		c.Do, c.Path = manifest.SetField, at.path
		err = errors.Join(err, yaml.Unmarshal([]byte(option), &c.Value))
	case finding.Move:
		at, err = r.nearestField(f.Position, f.Path)
		c.Path = at.path
		if err == nil && !at.isOf(f) {
			err = errors.New("the field is in a patch of its own, and its new place is in the TrainJob")
		}
		var errTo error
		c.Do = manifest.MoveField
		c.To, errTo = fieldpath.ParsePath(option)
		err = errors.Join(err, errTo)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []change{r.change(f, at, c)}, nil
}

// compose writes the value of a policy's rule into the last patch of the field.
func (r *pass) compose(f finding.Finding) ([]change, error) {
	claims := slices.DeleteFunc(slices.Clone(f.Claims), compose.IsRule)
	if len(claims) == 0 {
		return nil, errNoPlace
	}
	last := claims[len(claims)-1]
	at, err := r.fieldRef(last.Position, last.Source)
	c := manifest.Change{Path: at.path, Do: manifest.SetField}
	if err = errors.Join(err, yaml.Unmarshal([]byte(f.Remedy.Options[0]), &c.Value)); err != nil {
		return nil, err
	}
	return []change{r.change(f, at, c)}, nil
}

// missing returns the place of a field that its object lacks. The finding has the position of the nearest field around it.
func (r *pass) missing(f finding.Finding) (fieldRef, error) {
	for n := len(f.Path) - 1; n >= 0; n-- {
		at, err := r.fieldRef(f.Position, f.Path[:n])
		if err == nil && at.isOf(f) && !at.Has(f.Path) {
			at.path = f.Path
			return at, nil
		}
	}
	return fieldRef{}, errNoPlace
}

func (r *pass) change(f finding.Finding, at fieldRef, c manifest.Change) change {
	c.Value = jsonValue(c.Value)
	return change{editedObject: at.editedObject, Change: c, isShared: !at.isOf(f) && len(r.usersOf(at.at.File)) > 0 && isOfTrainJob(f)}
}

// winner returns the first preferred manager that takes part in a conflict, or "".
func (r *pass) winner(f finding.Finding) string {
	for _, name := range r.opts.Prefer {
		if slices.ContainsFunc(f.Claims, func(c merge.Claim) bool { return c.Layer == merge.Manager(name) }) {
			return name
		}
	}
	return ""
}

// prefer removes the claims that lose a conflict. A field that a patch cannot omit takes the winner's value instead.
func (r *pass) prefer(f finding.Finding) ([]change, error) {
	c, err := conflictOf(f)
	if err != nil {
		return nil, err
	}
	winner := r.winner(f)
	var changes []change
	for i, lost := range c.Against(winner) {
		if lost == nil {
			continue
		}
		at, err := r.fieldRef(f.Claims[i].Position, f.Claims[i].Source)
		if err != nil {
			return nil, err
		}
		at.path = at.path[:len(at.path)-len(c.Fields[i])+len(lost)]
		do := manifest.Change{Path: at.path, Do: manifest.RemoveField}
		if value, ok := c.valueOf(winner, lost); ok && isRequired(lost) {
			if do.Do, do.Value = manifest.SetField, value; at.isDuplicate(value) {
				return nil, fmt.Errorf("%s is required, but another item of the list has the value %v", at.path, value)
			}
		}
		changes = append(changes, r.change(f, at, do))
	}
	return changes, nil
}

// managersConflict is the conflict of a finding.
type managersConflict struct{ conflict.Conflict }

func conflictOf(f finding.Finding) (managersConflict, error) {
	c := managersConflict{conflict.Conflict{Kind: conflict.Overlap, Path: f.Path, Claims: f.Claims}}
	within := 0
	for _, claim := range f.Claims {
		field := runtimepatch.InTemplate(claim)
		if !field.HasPrefix(f.Path) {
			return c, errNoPlace
		}
		if c.Fields = append(c.Fields, field); len(field) > len(f.Path) {
			within++
		}
	}
	if f.Code == codes.Union || f.Code == codes.Forced && within == len(f.Claims) {
		c.Kind = conflict.Union
	}
	return c, nil
}

// valueOf returns the value of a manager's claim on a field.
func (c managersConflict) valueOf(manager string, field fieldpath.Path) (any, bool) {
	for i, claim := range c.Claims {
		if claim.Layer == merge.Manager(manager) && slices.Equal(c.Fields[i], field) {
			return claim.Value, true
		}
	}
	return nil, false
}

// isRequired reports whether the encoding of a patch always holds a field of the template, or a pointer around it. Such a pointer is null
// without the field, and a null empties the value of the winner.
func isRequired(field fieldpath.Path) bool {
	for n := len(field); n > 0; n-- {
		name, ok := field[n-1].Field()
		if !ok {
			return false // an item or an entry goes as a whole
		}
		parent := runtimepatch.JobSetTemplate().Lookup(field[:n-1])
		if parent == nil {
			return false
		}
		f := parent.Field(name)
		if f == nil || f.Patch == nil {
			return false
		}
		if !f.Patch.OmitEmpty && !f.Patch.OmitZero && (n == len(field) || f.Patch.IsPointer()) {
			return true
		}
	}
	return false
}

// isDuplicate reports whether another item of the list has a value at the same field. The API of patches identifies mounts by their names,
// and the merge by their paths.
func (p fieldRef) isDuplicate(value any) bool {
	const fromList = 2
	if len(p.path) < fromList {
		return false
	}
	text, ok := value.(string)
	if !ok {
		return false
	}
	list, field := p.path[:len(p.path)-fromList], p.path[len(p.path)-1]
	items := p.itemsWith(list, field)[text]
	return len(items) > 1 || len(items) == 1 && items[0] != p.TextPosition(p.path)
}

// itemsWith returns the positions of a field in the items of a list, by its text. Many conflicts ask for the same list.
func (o *editedObject) itemsWith(list fieldpath.Path, field fieldpath.Step) map[string][]fieldpath.Position {
	key := list.Append(field).String()
	items, known := o.items[key]
	if !known {
		items = map[string][]fieldpath.Position{}
		for i := 0; o.Has(list.Append(fieldpath.Index(i))); i++ {
			item := list.Append(fieldpath.Index(i), field)
			text, _ := o.Text(item)
			items[text] = append(items[text], o.TextPosition(item))
		}
		o.items[key] = items
	}
	return items
}

// unite writes the union of all lists into each of them.
func (r *pass) unite(f finding.Finding) ([]change, error) {
	union, err := compose.Rule{Path: f.Path, Kind: compose.KindUnion}.Compose(f.Claims...)
	if err != nil {
		return nil, fmt.Errorf("the lists have no union: %w", err)
	}
	var changes []change
	for _, claim := range f.Claims {
		at, err := r.fieldRef(claim.Position, claim.Source)
		if err != nil {
			return nil, err
		}
		changes = append(changes, r.change(f, at, manifest.Change{Path: at.path, Do: manifest.SetField, Value: inOrderOf(f.Claims, union)}))
	}
	return changes, nil
}

// inOrderOf returns a union in the order of the lists, the first one's items first. So few items change places, with their comments.
func inOrderOf(claims []merge.Claim, union any) any {
	items, ok := union.([]any)
	if !ok {
		return union
	}
	text := func(item any) string {
		data, _ := json.Marshal(item) // of JSON
		return string(data)
	}
	rank := map[string]int{}
	for _, claim := range claims {
		list, _ := jsonValue(claim.Value).([]any)
		for _, item := range list {
			if _, known := rank[text(item)]; !known {
				rank[text(item)] = len(rank)
			}
		}
	}
	ordered := slices.Clone(items)
	slices.SortStableFunc(ordered, func(a, b any) int { return cmp.Compare(rank[text(a)], rank[text(b)]) })
	return ordered
}

// errNoUnion is the error of lists that no union may replace.
var errNoUnion = errors.New("the lists have no union: their items have an order, or depend on each other")

// hasUnion reports whether managers disagree on a list whose order has no meaning.
func hasUnion(f finding.Finding) bool {
	if f.Code != codes.Overlap || !areLists(f.Claims) {
		return false
	}
	rule, err := explain.Field(f.Path.String())
	return err == nil && slices.Contains(rule.Compositions, compose.KindUnion)
}

// areLists reports whether all claims are lists.
func areLists(claims []merge.Claim) bool {
	return len(claims) > 0 && !slices.ContainsFunc(claims, func(c merge.Claim) bool { return !isList(c.Value) })
}
