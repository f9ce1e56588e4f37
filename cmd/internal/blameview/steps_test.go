package blameview

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/manifest"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

func TestMain(m *testing.M) { os.Exit(testenv.Tests{M: m}.Run()) }

// reader derives paths from lines and steps as the script of a page does.
type reader struct {
	open []struct {
		column int
		path   string
	}
}

func (r *reader) below(column int) string {
	for len(r.open) > 0 && r.open[len(r.open)-1].column >= column {
		r.open = r.open[:len(r.open)-1]
	}
	if len(r.open) == 0 {
		return ""
	}
	return r.open[len(r.open)-1].path
}

func (r *reader) push(column int, path string) {
	r.open = append(r.open, struct {
		column int
		path   string
	}{column, path})
}

var (
	shape   = regexp.MustCompile(`^( *)(- )?(.*?)(: |:$|$)(.*)$`)
	lastKey = regexp.MustCompile(`\[[^\]]*\]$`)
)

func (r *reader) read(text, step string) (string, bool) {
	match := shape.FindStringSubmatch(text)
	key, isField := match[3], match[4] != ""
	if !isField && step == "" {
		return "", false
	}
	switch step {
	case keyStep:
		step = `["` + key + `"]`
	case itemStep:
		step = "[" + key + `="` + strings.TrimSpace(match[5]) + `"]`
	}
	column := len(match[1])
	if match[2] != "" {
		item := r.below(column+1) + step
		r.push(column+1, item)
		if !isField {
			return item, true
		}
		column, step = column+2, ""
	}
	path := r.below(column)
	if !strings.Contains(lastKey.FindString(path), key+"=") {
		if step == "" {
			step = "." + key
		}
		path += step
	}
	r.push(column, path)
	return path, true
}

// TestPathStack holds that the steps of a page lead back to the fields of its lines, also for
// folded lines. The objects are those of recorded inputs.
func TestPathStack(t *testing.T) {
	inputs, err := filepath.Glob(
		filepath.Join(casefile.Shared(t, "../../../testdata/cluster", "input.yaml"), "*",
			"input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ lines, folded int }{{1000, 0}, {1000, 1000}, {1000, 1000}} {
		lines, folded := 0, 0
		for k, input := range inputs {
			if k%testenv.Every(4) > 0 {
				continue
			}
			out := recorded(t, input)
			if out == nil || out.JobSet == nil {
				continue
			}
			blamed, err := blame.New(out.JobSet, runtimepatch.JobSetTemplate(), out.History.All(),
				blame.Options{})
			if err != nil {
				t.Fatal(err)
			}
			first, second := newPageObject(Selection{Blamed: Blamed{Object: blamed}}),
				newPageObject(Selection{Blamed: Blamed{Object: blamed}})
			s := foldings()[i]
			s.of(&first, blamed.Lines())
			folds := s.of(&second, blamed.Lines())
			hidden := 0
			var stack pathStack
			var r reader
			for n, line := range blamed.Lines() {
				step := stack.step(line)
				if f, ok := folds[n]; ok {
					hidden, folded = f.lines, folded+f.lines
				}
				if hidden > 0 {
					hidden--
					continue
				}
				path, ok := r.read(line.Text, step)
				if line.Field == nil || line.Continued || !ok {
					continue
				}
				lines++
				want := line.Field.Path.String()
				// A struct that the encoding adds belongs to the field around it.
				isAdded := strings.HasSuffix(line.Text, ": {}") && strings.HasPrefix(path, want+".")
				if path != want && !isAdded {
					t.Errorf("folding %d, %s: the line %q has the path %s, want %s", i, input,
						line.Text, path, want)
				}
			}
		}
		if lines < want.lines || folded < want.folded {
			t.Errorf("folding %d: %d lines and %d folded ones, want at least %d and %d", i, lines,
				folded, want.lines, want.folded)
		}
	}
}

// recorded renders an input that has a runtime of its own, and returns nil for any other.
func recorded(t *testing.T, file string) *render.Objects {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents, _ := manifest.Decode(file, data)
	var in render.Input
	for _, d := range documents {
		switch o := d.Object.(type) {
		case *trainer.TrainJob:
			render.DefaultTrainJob(o, nil)
			in.TrainJob = o
		case *trainer.ClusterTrainingRuntime:
			render.DefaultRuntime(&o.Spec, d.Has)
			in.Runtime = &o.Spec
		}
	}
	if in.TrainJob == nil || in.Runtime == nil {
		return nil
	}
	out, _ := render.JobSet(in, render.Options{OnConflict: render.Last})
	return out
}
