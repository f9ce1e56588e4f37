package upstream_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/release"
)

// TestPairs compares the renderings of generated pairs: half of them the same in every run, half of
// them new. TRAINWELD_PAIRS says how many, TRAINWELD_SEED which new ones, and TRAINWELD_PAIR asks
// for a single one.
func TestPairs(t *testing.T) {
	differences, err := upstream.Differences(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	p := pairs{server: newAPIServer(t), codes: map[string]bool{}, rejected: map[string]int{}}
	for _, d := range differences {
		p.codes[d.Code] = true
	}
	if seed, ok := testenv.Number(t, "TRAINWELD_PAIR"); ok {
		p.check(t, seed)
		return
	}
	n, ok := testenv.Number(t, "TRAINWELD_PAIRS")
	if !ok {
		n = 2000
		if testing.Short() {
			n = 100
		}
	}
	for seed := range (n + 1) / 2 {
		p.check(t, seed)
	}
	fresh := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for range n / 2 {
		p.check(t, fresh.Uint64())
	}
	t.Logf("%d pairs: %d equal, %d refused by the definitions, %d by both sides, refused by "+
		"trainweld alone: %v", n, p.equal, p.early, p.both, p.rejected)
	if p.server.Release.Overrides == release.PodTemplateOverrides {
		t.Logf("%d of them with several overrides for one job", p.overlapping)
		if p.overlapping < int(n)/20 {
			t.Errorf("only %d of %d pairs have several overrides for one job", p.overlapping, n)
		}
	}
	if p.equal < int(n)/2 {
		t.Errorf("only %d of %d pairs were compared: the generator makes too much that nobody "+
			"renders", p.equal, n)
	}
}

type pairs struct {
	server      *apiServer
	codes       map[string]bool // of deliberate rejections
	rejected    map[string]int  // pairs that only trainweld rejects, by code
	equal, both int
	early       int // pairs that the definitions reject
	wrong       int
	overlapping int // equal pairs with several overrides for one job
}

// overlaps reports whether two overrides are for one job.
func overlaps(job upstream.Object) bool {
	seen := map[any]bool{}
	for _, override := range list(job, "spec", "podTemplateOverrides") {
		own := map[any]bool{}
		for _, target := range list(override, "targetJobs") {
			if o, ok := target.(upstream.Object); ok {
				own[o["name"]] = true
			}
		}
		for name := range own {
			if seen[name] {
				return true
			}
			seen[name] = true
		}
	}
	return false
}

// check compares one pair. It fails the test with the smallest pair that still differs.
func (p *pairs) check(t *testing.T, seed uint64) {
	t.Helper()
	pair := p.generate(t, seed)
	broken := p.broken(pair)
	if broken == "" {
		return
	}
	steps := 0
	for next := fuzz.SmallerDocuments(pair); ; {
		small, ok := next()
		if !ok {
			break
		}
		if text := quietly(p, small); text != "" && kindOf(text) == kindOf(broken) {
			pair, broken = small, text
			next = fuzz.SmallerDocuments(pair)
			steps++
		}
	}
	if p.wrong++; p.wrong == mostWrong {
		defer t.Fatalf("%d pairs differ: the others are omitted", p.wrong)
	}
	t.Errorf("pair %d: %s\n\nthe smallest pair that still does (%d steps smaller; %s):\n%s\nrun "+
		"it again: cd fuzz/upstream && TRAINWELD_PAIR=%d go test -run '^TestPairs$' .%s",
		seed, broken, steps, keep(t, fmt.Sprintf("pair-%d", seed), pairYAML(pair)), pairYAML(pair),
		seed, again())
}

// generate makes a pair. For an earlier release it has only fields of that release. Every third
// pair of the latest release tests fields that releases treat differently.
func (p *pairs) generate(t *testing.T, seed uint64) *fuzz.Documents {
	t.Helper()
	options := fuzz.DocumentOptions{Policies: upstream.Policies(), Changes: int(seed % 2)}
	if p.server.latest() && seed%3 > 0 {
		return fuzz.Document(seed, options)
	}
	pair := fuzz.Released(seed, p.server.Release, options)
	if p.server.latest() && seed%4 == 0 {
		return pair // with fields that it lacks, which the definitions reject
	}
	var err error
	if pair.TrainJob, err = p.server.Prune(pair.TrainJob); err != nil {
		t.Fatal(err)
	}
	if pair.Runtime, err = p.server.Prune(pair.Runtime); err != nil {
		t.Fatal(err)
	}
	return pair
}

// kindOf returns the first line of a difference. Shrinking keeps that line.
func kindOf(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// quietly tries a smaller pair without counting it.
func quietly(p *pairs, pair *fuzz.Documents) string {
	return (&pairs{server: p.server, codes: p.codes, rejected: map[string]int{}}).broken(pair)
}

// broken returns the difference in the pair's rendering, or "".
func (p *pairs) broken(pair *fuzz.Documents) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("trainweld panics\n%v", r)
		}
	}()
	// TestVerdicts covers the rejections by the definitions.
	if p.server.rejectsForm(pair.Runtime) || p.server.rejectsForm(pair.TrainJob) {
		p.early++
		return ""
	}
	in := input{name: pair.String(), trainJob: pair.TrainJob, runtime: pair.Runtime}
	kinds, _ := upstream.Kinds(in.runtime)
	got, err := upstream.Trainweld(p.server.Upstream, in.trainJob, in.runtime)
	if err != nil {
		return fmt.Sprintf("cannot be read\n%v", err)
	}
	want, err := p.server.Render(in.trainJob, in.runtime)
	if err != nil {
		return fmt.Sprintf("upstream fails\n%v", err)
	}
	rejected := len(got.Rejected) > 0
	switch {
	case want.Failed != "" && !rejected:
		return fmt.Sprintf("trainweld renders what upstream does not\n%v", want.Failed)
	case want.Failed != "":
		p.both++
		return ""
	case rejected && len(want.Rejected) > 0:
		p.both++
	case rejected:
		listed := false
		for _, code := range got.Codes() {
			if p.codes[code] {
				p.rejected[code]++
				listed = true
			}
		}
		if !listed {
			return fmt.Sprintf("trainweld refuses what upstream renders: %v\n%v", got.Codes(),
				got.Rejected)
		}
	}
	if len(got.Objects) == 0 {
		return fmt.Sprintf("trainweld has no objects beside its refusal: %v\n%v", got.Codes(),
			got.Rejected)
	}
	diff, err := variant(p.server.Upstream, want, in, got, kinds)
	if err != nil {
		return fmt.Sprintf("cannot be compared\n%v", err)
	}
	if diff != "" {
		return "trainweld renders something else than upstream\n" + diff
	}
	if !rejected {
		p.equal++
		if overlaps(in.trainJob) {
			p.overlapping++
		}
	}
	return ""
}

func pairYAML(pair *fuzz.Documents) string { return string(pair.YAML()) }

// regressions holds pairs of a runtime and a TrainJob in one file each that once rendered otherwise
// than upstream. A generated pair that fails is shrunk and written there. Fix the bug, name the
// file after it, and commit the file.
const regressions = "../../testdata/regressions"

// TestRegressions compares the pairs that once failed.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(regressions, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no pairs in %s: %v", regressions, err)
	}
	for _, file := range files {
		in := input{name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
		for _, o := range read(t, file) {
			if o["kind"] == "TrainJob" {
				in.trainJob = o
			} else {
				in.runtime = o
			}
		}
		t.Run(in.name, func(t *testing.T) {
			compareCase(t, in, nil, map[upstream.Difference]bool{})
		})
	}
}

// keep writes a pair that fails, as small as it got, and says where.
func keep(t *testing.T, name, pair string) string {
	t.Helper()
	if *version != "" {
		return "of Trainer " + *version
	}
	file := filepath.Join(regressions, name+".yaml")
	if err := os.WriteFile(file, []byte(pair), 0o666); err != nil {
		return "it could not be kept: " + err.Error()
	}
	return "it is kept in " + file
}
