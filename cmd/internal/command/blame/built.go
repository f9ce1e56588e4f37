package blame

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/blameview"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// asks reports whether the command line asks for an object of a kind that has or had some names.
func (flags blameFlags) asks(kind string, names ...string) bool {
	return flags.object == "" || origins.Asks(flags.object, kind, names...)
}

// blameBuilt returns the objects of a build with the operations that set their fields, and with the
// managers of their states in a cluster.
func (flags blameFlags) blameBuilt(built *workspace.Built, live liveObjects) ([]blameview.Blamed,
	error) {
	var objects []blameview.Blamed
	var trace *origins.Trace
	i := -1
	for id, line := range built.Objects() {
		i++
		if !flags.asks(id.Kind) {
			continue
		}
		fields := map[string]any{}
		if err := json.Unmarshal(line, &fields); err != nil {
			return nil, err
		}
		if trace == nil {
			var err error
			if trace, err = built.Trace(flags.object); err != nil {
				return nil, err
			}
		}
		if trace.Objects[i] == nil || !flags.asks(id.Kind, trace.Objects[i].Names()...) {
			continue
		}
		h := history{trace: trace, object: i, at: live.of(id), copied: blameview.Copies{}}
		if h.at != nil {
			now, err := h.at.beside(fields)
			if err != nil {
				return nil, err
			}
			h.live = trace.Live(i, fields, now)
			fields = now
		}
		if id.Kind == "Secret" && !flags.ShowValues {
			h.hidden = []string{"data", "stringData"}
			hide(fields, h.hidden)
		}
		o, err := blame.New(fields, nil, h.all, blame.Options{Plain: true,
			ShowValues: flags.ShowValues})
		if err != nil {
			return nil, err
		}
		objects = append(objects, blameview.Blamed{ID: id, Object: o, Build: built.Dir,
			Copied: h.copied, Live: flags.live, IsLive: h.at != nil})
	}
	return objects, nil
}

const hiddenValue = "***"

// hide masks the values of a Secret.
func hide(fields map[string]any, names []string) {
	for _, name := range names {
		data, _ := fields[name].(map[string]any)
		for key := range data {
			data[key] = hiddenValue
		}
	}
}

// history has the claims of operations on the fields of an object, and those of the managers of its
// state in a cluster.
type history struct {
	trace  *origins.Trace
	object int
	hidden []string    // the fields of a Secret that hold its values
	at     *liveObject // or nil
	live   int         // its operation
	copied blameview.Copies
}

// all yields the fields in the form that package blame takes.
func (h *history) all(yield func(fieldpath.Path, []merge.Claim) bool) {
	for path, claims := range h.trace.Fields(h.object) {
		var made []merge.Claim
		name, _ := path[0].Name()
		for i, c := range h.trace.Claims(claims) {
			if _, isText := c.Value.(string); isText && len(path) == 2 &&
				slices.Contains(h.hidden, name) {
				c.Value = hiddenValue
			}
			if h.at != nil && claims[i].Operation == h.live {
				made = append(made, h.at.owners(path, c)...)
				continue
			}
			if from := h.trace.Source(claims[i]); from != nil {
				h.copied[c.Position] = *from
			}
			made = append(made, c)
		}
		if !yield(path, made) {
			return
		}
	}
}

// isBuiltOnly reports whether the objects of a build are asked for, and not what becomes of its
// TrainJobs.
func (flags blameFlags) isBuiltOnly(in *workspace.Input) bool {
	if flags.live != "" {
		return true
	}
	kind, _, named := strings.Cut(flags.object, "/")
	if named {
		return !strings.EqualFold(kind, trainer.TrainJobKind)
	}
	return len(in.Jobs) == 0 && flags.Selector == nil
}

// clusterLayer owns what differs from Git and has no manager, such as a field that was removed.
const clusterLayer = merge.Owner(page.Live + "cluster")

// liveObject is an object of a cluster with its managed fields.
type liveObject struct {
	*blameview.Managed
	document *manifest.Document
}

// liveObjects are the objects of --old that have managed fields.
type liveObjects []liveObject

// readLive reads the files of --old.
func (flags blameFlags) readLive(p *host.Program) (liveObjects, finding.List, error) {
	if flags.live == "" {
		return nil, nil, nil
	}
	if !flags.Builds() || len(flags.Patches) > 0 {
		return nil, nil, exit.Usage(errors.New(
			"--old joins the objects of a build with those of a cluster: add -k, and no --patch"))
	}
	in := workspace.New(workspace.Flags{})
	in.ReadDocuments(p, []string{flags.live})
	found := in.Findings.Of(codes.Syntax, codes.Unreadable, codes.NotAnObject)
	var all liveObjects
	remaining := blameview.MaxManaged
	for _, text := range in.Files {
		for _, d := range decodeAll(text) {
			if !d.Has(blameview.ManagedFields) {
				continue
			}
			m, ok := blameview.ReadManaged(d, &remaining)
			if found = append(found, m.Findings...); ok {
				all = append(all, liveObject{m, d})
			}
		}
	}
	if all == nil && found.Err() == nil {
		return nil, nil, exit.Usage(errors.New("--old: no object has metadata.managedFields: read " +
			"the objects with kubectl get -o yaml --show-managed-fields"))
	}
	return all, found, nil
}

// of returns the state of a built object, or nil. A build may omit the namespace.
func (all liveObjects) of(id fieldpath.Object) *liveObject {
	for i, o := range all {
		is := o.document.ID
		if is.Kind == id.Kind && is.Name == id.Name &&
			(is.Namespace == id.Namespace || id.Namespace == "") {
			return &all[i]
		}
	}
	return nil
}

// beside returns the live object as decoded JSON, reduced to what compares with the built object.
// It drops the status, the managed fields, kubectl's record of its last apply, and every field that
// neither the build nor a manager sets. It spells quantities as the build does.
func (o *liveObject) beside(built map[string]any) (map[string]any, error) {
	text, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	if metadata, _ := fields["metadata"].(map[string]any); metadata != nil {
		delete(metadata, "managedFields")
		annotations, _ := metadata["annotations"].(map[string]any)
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	o.prune(fields, built, nil)
	return fields, nil
}

// prune removes the fields that neither Git nor a manager set, and returns the value.
func (o *liveObject) prune(value, git any, at fieldpath.Path) any {
	switch value := value.(type) {
	case map[string]any:
		built, _ := git.(map[string]any)
		for key, inner := range value {
			at := at.Append(blame.FieldStep(key))
			if _, isBuilt := built[key]; !isBuilt && len(o.OwnersOf(at)) == 0 {
				delete(value, key)
				continue
			}
			value[key] = o.prune(inner, built[key], at)
		}
	case []any:
		built, _ := git.([]any)
		steps, names := itemSteps(value), itemSteps(built)
		for i, inner := range value {
			var of any
			for j := range built {
				if names[j] == steps[i] {
					of = built[j]
				}
			}
			value[i] = o.prune(inner, of, at.Append(steps[i]))
		}
	case string:
		if isQuantity(at) && sameQuantity(value, git) {
			return git
		}
	}
	return value
}

// itemSteps returns the steps to the items of a list.
func itemSteps(list []any) []fieldpath.Step {
	return blame.ItemSteps(len(list), func(i int) string {
		fields, _ := list[i].(map[string]any)
		name, _ := fields["name"].(string)
		return name
	})
}

// isQuantity reports whether the API server writes the value at a path as a quantity.
func isQuantity(at fieldpath.Path) bool {
	if len(at) < 2 {
		return false
	}
	switch name, _ := at[len(at)-2].Name(); name {
	case "requests", "limits", "capacity", "hard":
		return true
	}
	return false
}

func sameQuantity(live string, git any) bool {
	text, err := json.Marshal(git)
	if err != nil {
		return false
	}
	var spelled string
	if json.Unmarshal(text, &spelled) != nil {
		spelled = string(text) // a number
	}
	a, err1 := tree.ParseQuantity(live)
	b, err2 := tree.ParseQuantity(spelled)
	return err1 == nil && err2 == nil && a.Cmp(b) == 0
}

// owners returns the claims of the managers of a field that differs from Git.
func (o *liveObject) owners(path fieldpath.Path, c merge.Claim) []merge.Claim {
	c.Owner, c.Position = clusterLayer, o.document.Position(path)
	var claims []merge.Claim
	for _, e := range o.OwnersOf(path) {
		c.Owner = merge.Owner(page.Live + e.Label())
		claims = append(claims, c)
	}
	if claims == nil {
		return []merge.Claim{c}
	}
	return claims
}
