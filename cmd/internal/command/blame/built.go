package blame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
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

// isObjectName reports whether an argument names an object of a build, such as Deployment/web.
func isObjectName(arg string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	kind, name, named := strings.Cut(arg, "/")
	return named && kind != "" && name != "" && strings.Trim(kind, letters+"0123456789") == "" &&
		!strings.ContainsAny(name, "/[]\"'")
}

// withoutHash returns the name of a generated object as its generator has it.
func withoutHash(name string) string {
	const hash = "-0123456789"
	if at := len(name) - len(hash); at > 0 && name[at] == '-' {
		return name[:at]
	}
	return name
}

// asks reports whether the command line asks for an object of a kind that has or had some names.
// The name of a generated object may lack its hash.
func (flags blameFlags) asks(kind string, names ...string) bool {
	askedKind, asked, named := strings.Cut(flags.object, "/")
	return !named || strings.EqualFold(kind, askedKind) &&
		(names == nil || slices.ContainsFunc(names, func(name string) bool {
			return name == asked || withoutHash(name) == asked
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
	var trace *origins.Trace
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
		if trace == nil {
			trace = built.Trace(flags.object)
		}
		if trace == nil || i >= len(trace.Objects) {
			return nil, fmt.Errorf("%s: kustomize fails to build a part of it alone", built.Dir)
		}
		if trace.Objects[i] == nil || !flags.asks(id.Kind, namesOf(trace.Objects[i])...) {
			continue
		}
		h := history{trace: trace, object: i, dir: built.Dir}
		if id.Kind == "Secret" && !flags.ShowValues {
			h.hidden = []string{"data", "stringData"}
			hide(fields, h.hidden)
		}
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

// history has the claims of operations on the fields of an object.
type history struct {
	trace  *origins.Trace
	object int
	dir    string
	hidden []string // the fields of a Secret that hold its values
}

// all yields the fields in the form that package blame takes.
func (h *history) all(yield func(fieldpath.Path, []merge.Claim) bool) {
	for path, claims := range h.trace.Fields(h.object) {
		made := make([]merge.Claim, len(claims))
		for i, c := range claims {
			made[i] = merge.Claim{Owner: merge.Owner(h.trace.Label(c.Operation, h.dir)),
				Value: c.Value, Position: c.At}
			made[i].Position.File = filepath.Join(h.dir, filepath.FromSlash(c.At.File))
			switch name, _ := path[0].Name(); {
			case c.Gone:
			case c.Value == nil:
				made[i].Value = merge.Presence{}
			case len(path) == 2 && slices.Contains(h.hidden, name):
				made[i].Value = hiddenValue
			}
		}
		if !yield(path, made) {
			return
		}
	}
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
