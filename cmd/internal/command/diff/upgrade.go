package diff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// This file compares what two releases of the Trainer make of the same inputs.
//
// It renders each TrainJob with both releases. Where they differ, it turns one switch at a time, release by release, and renders
// again. The last switch whose change moves a field is the cause.

// upgrade is one comparison of releases.
type upgrade struct {
	source workspace.Source
	flags  diffFlags
	opts   render.Options
	steps  []*step // the first one is the old release, the last one the new
	// blocked counts the TrainJobs that the new release cannot decode, and blocker is the first of them.
	blocked int
	blocker fieldpath.Object
}

// step is a release on the way.
type step struct {
	version
	release release.Release
	// of is the switch whose change made the step, and change says which. The first step has none.
	of     release.Switch
	change release.Change
	// alike is the step before if both read the inputs alike.
	alike *step

	opts     render.Options
	podOpts  render.PodsOptions
	jobs     map[fieldpath.Object]workspace.Job
	errs     map[fieldpath.Object]finding.List // of reading, by the object that they are about
	runtimes parallel.Once[*workspace.RuntimeSource, runtimeInRelease]
}

// releases parses the two flags. Either both are set or none.
func (flags *diffFlags) releases(args []string) (from, to *release.Release, err error) {
	switch {
	case flags.from == "" || flags.until == "":
		return nil, nil, errors.New("--from-version needs --to-version: use both")
	case flags.Release != nil:
		return nil, nil, errors.New("--from-version and --to-version name the releases: remove --trainer-version")
	case flags.git != "":
		return nil, nil, errors.New("--git compares revisions, and --from-version compares releases: use one of the two")
	case len(args)+len(flags.Files) == 0:
		return nil, nil, errors.New("nothing to compare: name files or directories with TrainJobs")
	}
	if from, err = release.Parse(flags.from); err != nil {
		return nil, nil, fmt.Errorf("--from-version: %w", err)
	}
	if to, err = release.Parse(flags.until); err != nil {
		return nil, nil, fmt.Errorf("--to-version: %w", err)
	}
	if from.Version == to.Version {
		return nil, nil, fmt.Errorf("--from-version and --to-version both name Trainer %s: use two releases", to.Version)
	}
	return from, to, nil
}

// onceRead is a source whose standard input can be read by every step.
type onceRead struct {
	files fs.FS
	stdin []byte
	err   error
}

// readOnce returns the inputs of a program. It reads standard input if a path names it.
func readOnce(p *host.Program, paths []string) *onceRead {
	files, stdin := p.Inputs()
	source := &onceRead{files: files}
	if slices.Contains(paths, manifest.Stdin) {
		source.stdin, source.err = io.ReadAll(stdin)
	}
	return source
}

func (s *onceRead) Inputs() (fs.FS, io.Reader) {
	if s.err != nil {
		return s.files, io.MultiReader(bytes.NewReader(s.stdin), failing{s.err})
	}
	return s.files, bytes.NewReader(s.stdin)
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// newUpgrade lists the steps from one release to another.
func newUpgrade(p *host.Program, flags diffFlags, opts render.Options, args []string, from, to *release.Release) *upgrade {
	flags.Files = slices.Concat(args, flags.Files)
	u := &upgrade{source: readOnce(p, slices.Concat(flags.Files, flags.both())), flags: flags, opts: opts}
	now := *from
	u.add(now, release.Switch{}, release.Change{})
	for _, next := range releasesBetween(from, to) {
		before := now
		for _, s := range release.Switches() {
			if s.Set(&now, &next) {
				now.Name, now.Version, now.JobSetVersion = next.Name, next.Version, next.JobSetVersion
				u.add(now, s, s.Between(&before, &next))
			}
		}
	}
	return u
}

// releasesBetween returns the known releases after one up to another, which may be earlier.
func releasesBetween(from, to *release.Release) []release.Release {
	known := release.Known()
	low, high := from.Index(), to.Index()
	if low < high {
		return known[low+1 : high+1]
	}
	back := slices.Clone(known[high:low])
	slices.Reverse(back)
	return back
}

func (u *upgrade) add(r release.Release, of release.Switch, change release.Change) {
	s := &step{release: r, of: of, change: change}
	s.Name = "Trainer " + r.Version
	s.flags = u.flags.Flags
	s.flags.Release = &s.release
	s.opts = u.opts
	s.opts.Release = &s.release
	s.opts, s.podOpts = s.optionsFor(u.flags, s.opts)
	if n := len(u.steps); n > 0 {
		if last := &u.steps[n-1].release; last.Schema == r.Schema && last.JobSetSchema == r.JobSetSchema && last.Stock == r.Stock && last.RuntimeRead == r.RuntimeRead {
			s.alike = u.steps[n-1]
		}
	}
	u.steps = append(u.steps, s)
}

func (u *upgrade) old() *step { return u.steps[0] }
func (u *upgrade) new() *step { return u.steps[len(u.steps)-1] }

// read reads the inputs as the release of the step decodes them.
func (u *upgrade) read(s *step) {
	if s.in != nil {
		return
	}
	if s.alike != nil && s != u.new() { // the findings of the last step name its release
		u.read(s.alike)
		s.in, s.jobs, s.errs = s.alike.in, s.alike.jobs, s.alike.errs
		return
	}
	s.in = workspace.Read(u.source, s.flags)
	s.jobs, s.errs = map[fieldpath.Object]workspace.Job{}, map[fieldpath.Object]finding.List{}
	for _, f := range s.in.Findings {
		if f.Severity >= finding.Error {
			s.errs[f.Object] = append(s.errs[f.Object], f)
		}
	}
	for _, j := range s.in.Jobs {
		s.jobs[render.ObjectOf(j.TrainJob)] = j
	}
	s.TrainJobs = len(s.in.Jobs) + len(s.in.Rejected)
}

// upgradeResult is what a TrainJob becomes in a release: its objects, or the errors that reject it.
type upgradeResult struct {
	comparison.Job
	out      pipeline.Made
	findings finding.List
}

// evaluate renders a TrainJob with a release, and asks its API server and its webhooks. A TrainJob after its migration replaces
// the one of the input. Its runtime is migrated as well.
func (u *upgrade) evaluate(ctx context.Context, s *step, id fieldpath.Object, migrated *trainer.TrainJob) upgradeResult {
	t := u.render(s, id, migrated)
	if j, found := u.jobOf(s, id); found {
		t.Rejected = s.admissionErrors(ctx, j, migrated)
		if migrated != nil && u.hasTorchAuto(id) {
			if t.Rejected = slices.DeleteFunc(t.Rejected, isTorchProcesses); len(t.Rejected) == 0 {
				t.Rejected = nil
			}
		}
	}
	if t.Rejected == nil && t.out.JobSet == nil {
		t.Rejected = rejections(&s.release, t.findings)
	}
	return t
}

// render renders a TrainJob with a release.
func (u *upgrade) render(s *step, id fieldpath.Object, migrated *trainer.TrainJob) upgradeResult {
	u.read(s)
	j, found := u.jobOf(s, id)
	if !found {
		return upgradeResult{Job: comparison.Job{ID: id, Rejected: s.errs[id]}} // it cannot be decoded
	}
	if migrated != nil {
		j.TrainJob, j.Migrated = migrated, true
	}
	findings, made := pipeline.TrainJob(s.in, j, s.opts)
	t := upgradeResult{Job: comparison.Job{ID: id, Runtime: render.RuntimeOf(j.TrainJob)}, out: made, findings: findings}
	if made.JobSet != nil {
		t.Job = s.newJob(j, made, u.flags, s.podOpts)
		if s.release.ManagedBy && findings.Of(codes.ManagedByOther) != nil { // another controller manages it
			t.Objects = []comparison.Object{}
		}
	}
	t.Migrated = migrated != nil
	return t
}

// jobOf returns a TrainJob as the release of a step reads it. If only the old release decodes it, the TrainJob lacks the field whose
// type differs: legacy.Earlier holds that field.
func (u *upgrade) jobOf(s *step, id fieldpath.Object) (workspace.Job, bool) {
	j, found := s.jobs[id]
	if found {
		return j, true
	}
	at := slices.IndexFunc(s.in.Rejected, func(d *manifest.Document) bool { return s.in.ID(d) == id })
	if j, found = u.old().jobs[id]; !found || at < 0 {
		return workspace.Job{}, false
	}
	return workspace.Job{TrainJob: j.TrainJob, Document: s.in.Rejected[at], Migrated: true}, true
}

// compare compares the two releases. It returns the comparison, and the errors of TrainJobs that neither release takes.
func (u *upgrade) compare(ctx context.Context) (*comparison.Comparison, finding.List, error) {
	old, new := u.old(), u.new()
	u.read(old)
	u.read(new)
	neither := u.otherErrors()
	for _, id := range u.ids() {
		before, after := u.evaluate(ctx, old, id, nil), u.evaluate(ctx, new, id, nil)
		if before.Rejected != nil && after.Rejected != nil {
			neither = append(neither, before.Rejected...)
			by := merge.Claim{Owner: runtimepatch.TrainJobLayer, Value: merge.Presence{}, Position: after.Rejected[0].Position}
			after.RejectedBy, after.Objects = slices.Repeat([]merge.Claim{by}, len(after.Rejected)), nil
			old.Jobs, new.Jobs = append(old.Jobs, before.Job), append(new.Jobs, after.Job)
			continue
		}
		migration := u.migrate(ctx, before, after, id)
		if migration.text != "" {
			after.Existing = append(after.Existing, migration.text)
		}
		if migration.job != nil {
			after.Objects = nil // those of its migration say more
		}
		u.addJobs(ctx, before, after, nil)
		if migration.differs {
			before.Migrated = true
			u.addJobs(ctx, before, migration.after, migration.job)
		}
	}
	new.Reasons = u.reasons()
	c, err := comparison.Compare(&old.Version, &new.Version, u.flags.showValues)
	if err == nil && c.Differs() {
		new.Notes = u.notes()
	}
	return c, codes.Distinct(neither), err
}

// otherErrors returns the errors that belong to no TrainJob and no runtime, such as an unreadable file.
func (u *upgrade) otherErrors() finding.List {
	var errs finding.List
	for _, s := range []*step{u.old(), u.new()} {
		errs = append(errs, s.in.Findings.Where(func(f finding.Finding) bool {
			return f.Severity >= finding.Error && (f.Object.Kind != trainer.TrainJobKind || f.Object.Name == "") && !workspace.IsRuntime(f.Object)
		})...)
	}
	return errs
}

// ids returns the TrainJobs of both releases. TrainJobs that a release decodes come first, in the order of the files. The others
// follow.
func (u *upgrade) ids() []fieldpath.Object {
	var ids []fieldpath.Object
	seen := map[fieldpath.Object]bool{}
	add := func(id fieldpath.Object) {
		if !seen[id] && id.Name != "" {
			ids = append(ids, id)
		}
		seen[id] = true
	}
	steps := []*step{u.old(), u.new()}
	for _, s := range steps {
		for _, j := range s.in.Jobs {
			add(render.ObjectOf(j.TrainJob))
		}
	}
	for _, s := range steps {
		for _, d := range s.in.Rejected {
			add(s.in.ID(d))
		}
	}
	return ids
}

// runUpgrade writes the comparison of two releases. It ends with the status of diff, or with a failure if there is a TrainJob
// that neither release takes.
func runUpgrade(p *host.Program, flags diffFlags, opts render.Options, args []string, paint host.Painter) error {
	from, to, err := flags.releases(args)
	if err != nil {
		return exit.Usage(err)
	}
	u := newUpgrade(p, flags, opts, args, from, to)
	u.new().Whole = flags.all
	c, findings, err := u.compare(context.Background())
	if err != nil {
		return err
	}
	if u.old().TrainJobs+u.new().TrainJobs == 0 && findings.Err() == nil {
		findings = append(findings, flags.Flags.NoTrainJob("no TrainJob in the inputs", "name files with TrainJobs; -r is for runtimes only, and -R descends into directories"))
	}
	if basis := release.Basis(*from, *to); basis != "" && !c.Differs() { // its notes say so otherwise
		fmt.Fprintf(p.Stderr, "note: %s\n", basis)
	}
	return flags.end(p, c, findings, paint)
}
