package authorship

import (
	"regexp"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/blame"
)

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

// TestPathStack holds that the steps of a page lead back to the fields of its lines.
func TestPathStack(t *testing.T) {
	policies := []fuzz.Policy{fuzz.Plain, fuzz.Torch, fuzz.MPI, fuzz.Flux, fuzz.Volcano}
	lines := 0
	for seed := range uint64(200) {
		p := fuzz.Render(seed, fuzz.PairOptions{Policies: policies})
		render.DefaultTrainJob(p.TrainJob, nil)
		render.DefaultRuntime(&p.Runtime.Spec, nil)
		out, _ := render.JobSet(render.Input{TrainJob: p.TrainJob, Runtime: &p.Runtime.Spec}, render.Options{OnConflict: render.Last, Owners: true})
		if out.JobSet == nil {
			continue
		}
		o, err := blame.New(out.JobSet, merge.JobSetTemplate(), out.Owners.All(), blame.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var stack pathStack
		var r reader
		for _, line := range o.Lines() {
			path, ok := r.read(line.Text, stack.step(line))
			if line.Field == nil || line.Continued || !ok {
				continue
			}
			lines++
			if want := line.Field.Path.String(); path != want {
				t.Errorf("seed %d: the line %q has the path %s, want %s", seed, line.Text, path, want)
			}
		}
	}
	if lines < 1000 {
		t.Errorf("only %d lines", lines)
	}
}
