package blame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/blameview"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// objectName is an argument that names an object of a build, such as Deployment/web.
var objectName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*)/([a-z0-9][-a-z0-9.]*)$`)

// hashed is the end of the name of a generated object.
var hashed = regexp.MustCompile(`-[a-z0-9]{10}$`)

// asks reports whether the command line asks for an object of a kind that has or had some names.
// The name of a generated object may lack its hash.
func (flags blameFlags) asks(kind string, names ...string) bool {
	askedKind, asked, named := strings.Cut(flags.object, "/")
	return !named || strings.EqualFold(kind, askedKind) &&
		(names == nil || slices.ContainsFunc(names, func(name string) bool {
			return name == asked || hashed.ReplaceAllString(name, "") == asked
		}))
}

// namesOf returns the names that an object had, the last one last.
func namesOf(n *origins.Node) []string {
	var names []string
	if metadata := n.Fields["metadata"]; metadata != nil && metadata.Fields["name"] != nil {
		for _, c := range metadata.Fields["name"].Claims {
			names = append(names, fmt.Sprint(c.Value))
		}
	}
	return names
}

// blameBuilt returns the objects of a build with the operations that set their fields.
func (flags blameFlags) blameBuilt(built *workspace.Built) ([]blameview.Blamed, error) {
	var objects []blameview.Blamed
	i := -1
	for line := range bytes.Lines(built.Text) {
		i++
		fields := map[string]any{}
		if err := json.Unmarshal(line, &fields); err != nil {
			return nil, err
		}
		metadata, _ := fields["metadata"].(map[string]any)
		id := fieldpath.Object{Kind: fmt.Sprint(fields["kind"]), Name: fmt.Sprint(metadata["name"])}
		id.Namespace, _ = metadata["namespace"].(string)
		if !flags.asks(id.Kind) {
			continue
		}
		trace := built.Trace()
		if trace == nil || i >= len(trace.Objects) {
			return nil, fmt.Errorf("%s: kustomize fails to build a part of it alone", built.Dir)
		}
		if !flags.asks(id.Kind, namesOf(trace.Objects[i])...) {
			continue
		}
		h := history{trace: trace, dir: built.Dir}
		if id.Kind == "Secret" && !flags.ShowValues {
			h.hidden = []string{"data", "stringData"}
			hide(fields, h.hidden)
		}
		h.node(trace.Objects[i], nil)
		o, err := blame.New(fields, nil, h.all, blame.Options{Plain: true,
			ShowValues: flags.ShowValues})
		if err != nil {
			return nil, err
		}
		objects = append(objects, blameview.Blamed{ID: id, Object: o, Build: built.Dir})
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

// history collects the claims of operations on the fields of an object.
type history struct {
	trace  *origins.Trace
	dir    string
	hidden []string
	paths  []fieldpath.Path
	claims [][]merge.Claim
}

func (h *history) all(yield func(fieldpath.Path, []merge.Claim) bool) {
	for i := range h.paths {
		if !yield(h.paths[i], h.claims[i]) {
			return
		}
	}
}

// node adds the claims on a value without parts, and those on the parts of another one.
func (h *history) node(n *origins.Node, path fieldpath.Path) {
	if n.IsLeaf() {
		h.leaf(n, path)
	}
	for _, key := range slices.Sorted(maps.Keys(n.Fields)) {
		h.node(n.Fields[key], path.Append(blame.FieldStep(key)))
	}
	steps := blame.ItemSteps(len(n.Items), func(i int) string {
		name, _ := n.Items[i].Fields["name"].Value().(string)
		return name
	})
	for i, item := range n.Items {
		h.node(item, path.Append(steps[i]))
	}
}

func (h *history) leaf(n *origins.Node, path fieldpath.Path) {
	var claims []merge.Claim
	for _, c := range n.Claims {
		claim := merge.Claim{Owner: h.owner(c.Operation), Value: c.Value, Position: c.At}
		claim.Position.File = filepath.Join(h.dir, filepath.FromSlash(c.At.File))
		switch name := ""; {
		case c.Gone:
		case c.Value == nil:
			claim.Value = merge.Presence{}
		case len(path) == 2:
			if name, _ = path[0].Name(); slices.Contains(h.hidden, name) {
				claim.Value = hiddenValue
			}
		}
		claims = append(claims, claim)
	}
	h.paths, h.claims = append(h.paths, path), append(h.claims, claims)
}

// owner names an operation: the directory of the kustomization, and its key unless it only adds
// objects.
func (h *history) owner(i int) merge.Owner {
	op := h.trace.Operations[i]
	dir := filepath.Join(h.dir, filepath.FromSlash(op.Dir))
	if op.Name == "resources" || op.Name == "" {
		return merge.Owner(dir)
	}
	return merge.Owner(dir + " " + op.Name)
}

// isBuiltOnly reports whether the objects of a build are asked for, and not what becomes of its
// TrainJobs.
func (flags blameFlags) isBuiltOnly(in *workspace.Input) bool {
	kind, _, named := strings.Cut(flags.object, "/")
	if named {
		return !strings.EqualFold(kind, trainer.TrainJobKind)
	}
	return len(in.Jobs) == 0 && flags.Selector == nil
}
