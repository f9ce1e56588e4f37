package blame

import (
	"encoding/json"
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
