package upstream_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/casefile"
)

// verdictCase holds the objects to apply in order: a runtime, a changed runtime, a TrainJob, and a
// changed TrainJob. The changed objects may be missing.
type verdictCase struct {
	runtime, changedRuntime upstream.Object
	job, changedJob         upstream.Object
	// aims are the rules that were meant to be broken.
	aims []string
}

// parts are the objects that there are, by the names of their files. With --old, the program takes
// the old ones first.
func (c *verdictCase) parts() map[string]*upstream.Object {
	if c.changedRuntime == nil && c.changedJob == nil {
		return map[string]*upstream.Object{"runtime.yaml": &c.runtime, "job.yaml": &c.job}
	}
	parts := map[string]*upstream.Object{"runtime.yaml": &c.runtime, "old-job.yaml": &c.job,
		"job.yaml": &c.changedJob}
	if c.changedJob == nil {
		parts = map[string]*upstream.Object{"runtime.yaml": &c.runtime, "job.yaml": &c.job}
	}
	if c.changedRuntime != nil {
		parts["old-runtime.yaml"], parts["runtime.yaml"] = &c.runtime, &c.changedRuntime
	}
	return parts
}

func (c *verdictCase) clone(t *testing.T) *verdictCase {
	small := &verdictCase{aims: c.aims}
	for from, to := range map[*upstream.Object]*upstream.Object{
		&c.runtime: &small.runtime, &c.changedRuntime: &small.changedRuntime, &c.job: &small.job,
		&c.changedJob: &small.changedJob,
	} {
		if *from != nil {
			*to = asJSON(t, *from)
		}
	}
	return small
}

// generator makes cases out of seeds.
type generator struct {
	t        *testing.T
	server   *apiServer
	recorded [][2]upstream.Object
}

func newGenerator(t *testing.T, server *apiServer) *generator {
	server.hold()
	return &generator{t: t, server: server, recorded: recordedPairs(t)}
}

// generate makes a case: a generated pair, or a pair that a cluster once accepted. It makes a
// change that aims at a rule, or at none. Usually it changes one of the four objects, so that all
// others are accepted.
func (g *generator) generate(seed uint64) *verdictCase {
	r := rand.New(rand.NewPCG(seed, 17))
	c := g.today(seed, r)
	if !g.server.latest() {
		g.translate(c, r)
	}
	return c.clone(g.t) // no two places share a value any more
}

// today makes a case of the latest release.
func (g *generator) today(seed uint64, r *rand.Rand) *verdictCase {
	m := mutator{r}
	c := &verdictCase{}
	if r.IntN(4) == 0 {
		d := g.document(seed, fuzz.DocumentOptions{Changes: 1 + r.IntN(2)})
		c.job, c.runtime, c.aims = d.TrainJob, d.Runtime, d.Changes
		return c.clone(g.t)
	}
	c.job, c.runtime = g.pair(r)
	if r.IntN(2) == 0 {
		set(c.job, r.IntN(3) > 0, "spec", "suspend")
	}
	if r.IntN(8) == 0 { // updates also meet runtimes and TrainJobs of all kinds
		c.aim(m, c.job)
	}
	switch r.IntN(8) {
	case 0:
		if r.IntN(20) == 0 {
			set(c.job, nil, "metadata", "name")
			set(c.job, "tj-", "metadata", "generateName")
		} else {
			m.mutate(c.job)
		}
	case 1, 2:
		c.aim(m, c.job)
	case 3:
		m.mutate(c.runtime)
	case 4:
		c.changedRuntime = asJSON(g.t, c.runtime)
		if m.change(c.changedRuntime); r.IntN(2) == 0 {
			c.aim(m, c.job)
		}
	default:
		c.changedJob = asJSON(g.t, c.job)
		if r.IntN(2) == 0 {
			set(c.changedJob, r.IntN(2) == 0, "spec", "suspend")
		}
		if r.IntN(3) == 0 {
			c.aim(m, c.changedJob)
		} else {
			m.change(c.changedJob)
		}
	}
	return c.clone(g.t)
}

// aim breaks one of the rules, or tries to, by a change to the TrainJob or to a runtime.
func (c *verdictCase) aim(m mutator, job upstream.Object) {
	runtime := c.runtime
	if c.changedRuntime != nil && m.IntN(2) == 0 {
		runtime = c.changedRuntime
	}
	if aim, placed := m.edit("breaks", job, runtime); placed {
		c.aims = append(c.aims, aim)
	}
}

// pair is a TrainJob and its runtime, as they might be in a repository.
func (g *generator) pair(r *rand.Rand) (job, runtime upstream.Object) {
	g.t.Helper()
	if r.IntN(2) == 0 {
		pair := g.recorded[r.IntN(len(g.recorded))]
		return asJSON(g.t, pair[0]), asJSON(g.t, pair[1])
	}
	for range mostTries {
		job, runtime = g.rendered(r.Uint64())
		if _, rejected := g.server.apply(runtime, nil); len(rejected) == 0 {
			break
		}
	}
	return job, runtime
}

// mostTries bounds the search for a generated runtime that the server takes: every other one will
// do.
const mostTries = 4

// rendered is a generated pair.
func (g *generator) rendered(seed uint64) (job, runtime upstream.Object) {
	d := g.document(seed, fuzz.DocumentOptions{})
	delete(d.TrainJob, "status") // the server holds no JobSet that a status could tell of
	return asJSON(g.t, d.TrainJob), asJSON(g.t, d.Runtime)
}

func (g *generator) document(seed uint64, options fuzz.DocumentOptions) *fuzz.Documents {
	if g.server.latest() {
		return fuzz.Document(seed, options)
	}
	return fuzz.Released(seed, g.server.Release, options)
}

// recordedPairs returns the pairs that a real control plane accepted.
func recordedPairs(t *testing.T) (pairs [][2]upstream.Object) {
	t.Helper()
	files, err := filepath.Glob(
		filepath.Join(
			casefile.Shared(t, "../../testdata/cluster", "input.yaml", "want/outcome.txt"), "*",
			"input.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for _, file := range files {
		outcome, err := os.ReadFile(filepath.Join(filepath.Dir(file), "want", "outcome.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(outcome); strings.HasPrefix(text, "rejected") ||
			strings.HasPrefix(text, "blocked") {
			continue
		}
		var pair [2]upstream.Object
		for _, o := range read(t, file) {
			if metadata, ok := o["metadata"].(upstream.Object); ok {
				delete(metadata, "namespace")
			}
			switch o["kind"] {
			case trainer.TrainJobKind:
				pair[0] = o
			case trainer.TrainingRuntimeKind, trainer.ClusterTrainingRuntimeKind:
				pair[1] = o
			}
		}
		if _, hasSpec := pair[0]["spec"].(upstream.Object); hasSpec && pair[1] != nil {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// shrink takes things out of the case as long as it stays wrong.
func (c *verdictCase) shrink(t *testing.T, wrong func(*verdictCase) bool) *verdictCase {
	t.Helper()
	for again := true; again; {
		again = false
		for name, part := range c.parts() {
			var all []spot
			mutator{}.spots(*part, &all)
			for i := 0; i < len(all); i++ {
				small := c.clone(t)
				var spots []spot
				mutator{}.spots(*small.parts()[name], &spots)
				if i >= len(spots) || spots[i].key == spots[i].top || !spots[i].drop() ||
					!wrong(small) {
					continue
				}
				*c, again = *small, true
				all = nil
				mutator{}.spots(*c.parts()[name], &all)
				i--
			}
		}
	}
	return c
}

// verdictRegressions holds cases that once had two verdicts, an archive each. A generated case that
// fails is shrunk and written there. Fix the bug, name the archive after it, and commit the
// archive.
const verdictRegressions = "../../testdata/verdicts"

// keep writes the case where the program can read it, and says how to run that.
func (c *verdictCase) keep(t *testing.T, seed uint64, latest bool) string {
	t.Helper()
	var archive txtar.Archive
	for name, part := range c.parts() {
		data, err := yaml.Marshal(*part)
		if err != nil {
			t.Fatal(err)
		}
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: data})
	}
	slices.SortFunc(archive.Files, func(a, b txtar.File) int {
		return strings.Compare(a.Name, b.Name)
	})
	file, text := filepath.Join(verdictRegressions, fmt.Sprintf("seed-%d.txtar", seed)),
		txtar.Format(&archive)
	if !latest {
		return fmt.Sprintf("\n%s", text)
	}
	if err := os.WriteFile(file, text, 0o666); err != nil {
		return "it could not be kept: " + err.Error()
	}
	old := ""
	if c.changedJob != nil {
		old = " --old old-job.yaml"
	}
	return fmt.Sprintf(
		"\n%s\nit is kept in %s: unpack it, and run trainweld check -n %s%s -r runtime.yaml "+
			"job.yaml", text, file, serverNamespace, old)
}

// readVerdictCase reads what keep wrote.
func readVerdictCase(t *testing.T, dir string) *verdictCase {
	t.Helper()
	file := func(name string) upstream.Object {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			return nil
		}
		return read(t, path)[0]
	}
	c := &verdictCase{runtime: file("runtime.yaml"), job: file("job.yaml")}
	if old := file("old-runtime.yaml"); old != nil {
		c.runtime, c.changedRuntime = old, c.runtime
	}
	if old := file("old-job.yaml"); old != nil {
		c.job, c.changedJob = old, c.job
	}
	if c.runtime == nil || c.job == nil {
		t.Fatalf("%s: want runtime.yaml and job.yaml", dir)
	}
	return c
}
