package blameview

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/fuzz"
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

// TestPathStack holds that the steps of a page lead back to the fields of its lines, also for folded lines.
func TestPathStack(t *testing.T) {
	policies := []fuzz.Policy{fuzz.Plain, fuzz.Torch, fuzz.MPI, fuzz.Flux, fuzz.Volcano}
	for i, want := range []struct{ lines, folded int }{{1000, 0}, {1000, 1000}, {1000, 1000}} {
		lines, folded := 0, 0
		for seed := range uint64(200) {
			p := fuzz.Render(seed, fuzz.PairOptions{Policies: policies})
			render.DefaultTrainJob(p.TrainJob, nil)
			render.DefaultRuntime(&p.Runtime.Spec, nil)
			out, _ := render.JobSet(render.Input{TrainJob: p.TrainJob, Runtime: &p.Runtime.Spec}, render.Options{OnConflict: render.Last})
			if out.JobSet == nil {
				continue
			}
			blamed, err := blame.New(out.JobSet, runtimepatch.JobSetTemplate(), out.Owners.All(), blame.Options{})
			if err != nil {
				t.Fatal(err)
			}
			first, second := newPageObject(Selection{Blamed: Blamed{Object: blamed}}), newPageObject(Selection{Blamed: Blamed{Object: blamed}})
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
				if want := line.Field.Path.String(); path != want {
					t.Errorf("folding %d, seed %d: the line %q has the path %s, want %s", i, seed, line.Text, path, want)
				}
			}
		}
		if lines < want.lines || folded < want.folded {
			t.Errorf("folding %d: %d lines and %d folded ones, want at least %d and %d", i, lines, folded, want.lines, want.folded)
		}
	}
}
