package diff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/comparison"
	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/produce"
	"github.com/trainweld/trainweld/internal/report"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/release"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/diff"
)

// This file compares what two releases of the Trainer make of the same inputs.
//
// It renders each TrainJob with both releases. Where they differ, it goes from the first release to the second one by way of
// those between them: it turns one switch at a time, and renders again. The last switch whose turn moves a field is the cause.

// upgrade is one comparison of releases.
type upgrade struct {
	source workspace.Source
	flags  diffFlags
	opts   render.Options
	steps  []*step // the first one is the old release, the last one the new
}

// step is a release on the way.
type step struct {
	version
	release release.Release
	// of is the switch whose turn made the step, and turn the change. The first step has none.
	of   release.Switch
	turn release.Turn
	// alike is the step before if both read the inputs alike.
	alike *step

	opts     render.Options
	jobs     map[fieldpath.Object]workspace.Job
	runtimes map[*workspace.RuntimeSource]admitted
}

// releases parses the two flags. Either both are set or none.
func (flags *diffFlags) releases(args []string) (from, to *release.Release, err error) {
	switch {
	case flags.from == "" || flags.until == "":
		return nil, nil, errors.New("--from-version and --to-version belong together: name both")
	case flags.git != "":
		return nil, nil, errors.New("--git compares revisions, and --from-version compares releases: leave one of the two out")
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
		return nil, nil, fmt.Errorf("--from-version and --to-version both name Trainer %s: nothing can differ", to.Version)
	}
	return from, to, nil
}

// onceRead is a source whose standard input can be read by every step.
type onceRead struct {
	files fs.FS
	stdin []byte
	err   error
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
	files, stdin := p.Inputs()
	source := &onceRead{files: files}
	if slices.Contains(slices.Concat(flags.Files, flags.both()), "-") {
		source.stdin, source.err = io.ReadAll(stdin)
	}
	u := &upgrade{source: source, flags: flags, opts: opts}
	now := *from
	u.add(now, release.Switch{}, release.Turn{})
	for _, next := range way(from, to) {
		before := now
		for _, s := range release.Switches() {
			if s.Turn(&now, &next) {
				now.Name, now.Version, now.JobSetVersion = next.Name, next.Version, next.JobSetVersion
				u.add(now, s, s.Between(&before, &next))
			}
		}
	}
	return u
}

// way returns the known releases after one up to another, which may be earlier.
func way(from, to *release.Release) []release.Release {
	known := release.Known()
	low, high := from.Index(), to.Index()
	if low < high {
		return known[low+1 : high+1]
	}
	back := slices.Clone(known[high:low])
	slices.Reverse(back)
	return back
}

func (u *upgrade) add(r release.Release, of release.Switch, turn release.Turn) {
	s := &step{release: r, of: of, turn: turn, runtimes: map[*workspace.RuntimeSource]admitted{}}
	s.Name = "Trainer " + r.Version
	s.flags = u.flags.Flags
	s.flags.Release = &s.release
	s.opts = u.opts
	s.opts.Release = &s.release
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
	s.opts, _ = s.asShown(u.flags, s.opts)
	if s.alike != nil && s != u.new() { // the positions in the report are those of the last step
		u.read(s.alike)
		s.in, s.jobs = s.alike.in, s.alike.jobs
		return
	}
	s.in = workspace.Read(u.source, s.flags)
	s.jobs = map[fieldpath.Object]workspace.Job{}
	for _, j := range s.in.Jobs {
		s.jobs[render.ObjectOf(j.TrainJob)] = j
	}
	s.TrainJobs = len(s.in.Jobs)
}

// taken is what a release makes of a TrainJob: its objects, or the errors with which it refuses the TrainJob.
type taken struct {
	comparison.Job
	made     produce.Made
	findings finding.List
}

// take renders a TrainJob with a release, and asks its API server and its webhooks. A TrainJob after its migration replaces
// the one of the input.
func (u *upgrade) take(ctx context.Context, s *step, id fieldpath.Object, migrated *trainer.TrainJob) taken {
	t := u.render(s, id, migrated)
	if j, found := s.jobs[id]; found {
		t.Refused = s.verdict(ctx, j, migrated)
	}
	if t.Refused == nil && t.made.JobSet == nil {
		t.Refused = refusals(&s.release, t.findings)
	}
	if t.Refused != nil {
		t.Objects = nil
	}
	return t
}

// render renders a TrainJob with a release.
func (u *upgrade) render(s *step, id fieldpath.Object, migrated *trainer.TrainJob) taken {
	u.read(s)
	j, found := s.jobs[id]
	if !found {
		return taken{Job: comparison.Job{ID: id, Refused: s.refusal(id)}}
	}
	if migrated != nil {
		j.TrainJob, j.Migrated = migrated, true
	}
	opts, podOpts := s.asShown(u.flags, s.opts)
	findings, made := produce.TrainJob(s.in, j, render.Input{TrainJob: j.TrainJob, Patches: s.in.FurtherPatches()}, opts)
	t := taken{Job: comparison.Job{ID: id, Runtime: render.RuntimeOf(j.TrainJob)}, made: made, findings: findings}
	if made.JobSet != nil {
		t.Job = s.made(j, made, u.flags, podOpts)
	}
	t.Migrated = migrated != nil
	return t
}

// refusal returns the errors of a TrainJob that a step cannot decode.
func (s *step) refusal(id fieldpath.Object) finding.List {
	errs := errorsOf(s.in.Findings, id)
	if errs == nil {
		errs = finding.List{{
			Code: finding.CodeNoTrainJob, Severity: finding.Error, Object: id, Message: "cannot be read as a TrainJob of this release",
			Remedy: finding.Remedy{Text: "look at its other findings"},
		}}
	}
	return errs
}

func errorsOf(found finding.List, id fieldpath.Object) finding.List {
	var errs finding.List
	for _, f := range found {
		if f.Severity >= finding.Error && f.Object == id {
			errs = append(errs, f)
		}
	}
	return errs
}

// compare compares the two releases. It returns the comparison, and the errors of TrainJobs that neither release takes.
func (u *upgrade) compare(ctx context.Context) (*comparison.Comparison, finding.List, error) {
	old, new := u.old(), u.new()
	u.read(old)
	u.read(new)
	neither := u.broken()
	for _, id := range u.ids() {
		before, after := u.take(ctx, old, id, nil), u.take(ctx, new, id, nil)
		if before.Refused != nil && after.Refused != nil {
			neither = append(neither, before.Refused...)
			continue
		}
		migration := u.migrate(ctx, before, id)
		if migration.text != "" {
			after.Existing = append(after.Existing, migration.text)
		}
		u.keep(ctx, before, after, nil)
		if migration.differs {
			before.Migrated = true
			u.keep(ctx, before, migration.after, migration.job)
		}
	}
	new.Reasons = u.reasons()
	c, err := comparison.Compare(&old.Version, &new.Version, u.flags.showValues)
	if err == nil && c.Differs() {
		new.Notes = u.notes()
	}
	return c, neither.Distinct(), err
}

// broken returns the errors of the inputs that belong to no TrainJob and no runtime, such as a file that cannot be read.
func (u *upgrade) broken() finding.List {
	var errs finding.List
	for _, s := range []*step{u.old(), u.new()} {
		for _, f := range s.in.Findings {
			if f.Severity >= finding.Error && f.Object.Kind != finding.TrainJobKind && !workspace.IsRuntime(f.Object) {
				errs = append(errs, f)
			}
		}
	}
	return errs
}

// ids returns the TrainJobs of both releases, in the order of the files.
func (u *upgrade) ids() []fieldpath.Object {
	var ids []fieldpath.Object
	for _, s := range []*step{u.old(), u.new()} {
		for _, j := range s.in.Jobs {
			if id := render.ObjectOf(j.TrainJob); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// keep adds a TrainJob to both versions, with the causes of what differs.
func (u *upgrade) keep(ctx context.Context, before, after taken, migrated *trainer.TrainJob) {
	switch {
	case before.Refused != nil:
		before.RefusedBy = u.verdictTurns(ctx, before.ID, migrated, true)
	case after.Refused != nil:
		after.RefusedBy = u.verdictTurns(ctx, before.ID, migrated, false)
	default:
		u.attribute(before, after, migrated)
		after.Existing = append(after.Existing, u.existing(ctx, before, after)...)
	}
	u.old().Jobs = append(u.old().Jobs, before.Job)
	u.new().Jobs = append(u.new().Jobs, after.Job)
}

// cause names the switch of a step, with the release that turned it.
func (s *step) cause() engine.Claim {
	return engine.Claim{Layer: engine.Layer(s.of.ID + " " + s.turn.In), Value: engine.Presence{}}
}

// verdictTurns returns the switch whose turn ends the refusal of a TrainJob, or brings it.
func (u *upgrade) verdictTurns(ctx context.Context, id fieldpath.Object, migrated *trainer.TrainJob, ends bool) []engine.Claim {
	for i := len(u.steps) - 2; i > 0; i-- {
		if (u.take(ctx, u.steps[i], id, migrated).Refused == nil) != ends {
			return []engine.Claim{u.steps[i+1].cause()}
		}
	}
	return []engine.Claim{u.steps[1].cause()}
}

// attribute sets the causes of the differing fields of two renderings: for each field the last switch whose turn moved it.
func (u *upgrade) attribute(before, after taken, migrated *trainer.TrainJob) {
	if same(before.Objects, after.Objects) {
		return
	}
	causes := map[comparison.Key]map[string]moved{}
	last := before
	for _, s := range u.steps[1:] {
		now := after
		if s != u.new() {
			if now = u.render(s, before.ID, migrated); now.Objects == nil {
				continue // the next switch that lets it render shows what changed
			}
		}
		for key, paths := range changed(last.Objects, now.Objects) {
			if causes[key] == nil {
				causes[key] = map[string]moved{}
			}
			for name, path := range paths {
				causes[key][name] = moved{path, s.cause()}
			}
		}
		last = now
	}
	for _, objects := range [][]comparison.Object{before.Objects, after.Objects} {
		for i := range objects {
			objects[i].Causes = ownersOf(causes[objects[i].Key])
		}
	}
}

// moved is a changed field with its cause.
type moved struct {
	path  fieldpath.Path
	claim engine.Claim
}

// ownersOf returns the causes of an object's fields. The root stands for an object that comes or goes.
func ownersOf(fields map[string]moved) *diff.Owners {
	if whole, ok := fields[""]; ok {
		return diff.OwnedBy(whole.claim)
	}
	names := slices.Sorted(maps.Keys(fields))
	return diff.OwnersOfFields(func(yield func(fieldpath.Path, []engine.Claim) bool) {
		for _, name := range names {
			if !yield(fields[name].path, []engine.Claim{fields[name].claim}) {
				return
			}
		}
	}, nil)
}

// same reports whether nothing differs between the objects.
func same(old, new []comparison.Object) bool { return len(changed(old, new)) == 0 }

// changed returns the fields that differ, by object and name.
func changed(old, new []comparison.Object) map[comparison.Key]map[string]fieldpath.Path {
	out := map[comparison.Key]map[string]fieldpath.Path{}
	of := map[comparison.Key]any{}
	for _, o := range old {
		of[o.Key] = o.Object
	}
	for _, o := range new {
		before, found := of[o.Key]
		delete(of, o.Key)
		if !found {
			out[o.Key] = map[string]fieldpath.Path{"": nil}
			continue
		}
		changes, err := diff.Compare(before, o.Object, diff.Options{})
		if err != nil || len(changes) == 0 {
			continue // Compare of the comparison reports an error
		}
		out[o.Key] = map[string]fieldpath.Path{}
		for _, c := range changes {
			out[o.Key][c.Path.String()] = c.Path
		}
	}
	for key := range of {
		out[key] = map[string]fieldpath.Path{"": nil}
	}
	return out
}

// reasons explains the switches that turn.
func (u *upgrade) reasons() map[engine.Layer]comparison.Reason {
	reasons := map[engine.Layer]comparison.Reason{}
	for _, s := range u.steps[1:] {
		reasons[s.cause().Layer] = comparison.Reason{Text: s.turn.Why, Link: s.turn.Link}
	}
	return reasons
}

// migration is what becomes of a TrainJob that migrate converts.
type migration struct {
	text    string // a sentence on it, if it does not differ
	job     *trainer.TrainJob
	after   taken
	differs bool
}

// migrate converts a TrainJob with fields that the new release lacks, and renders it again. The zero value stands for nothing to
// convert.
func (u *upgrade) migrate(ctx context.Context, before taken, id fieldpath.Object) migration {
	old, new := u.old(), u.new()
	j, found := old.jobs[id]
	if !found || j.Document.Overrides == nil || before.Refused != nil || new.release.Overrides != release.RuntimePatches {
		return migration{}
	}
	runtime, _ := old.in.RuntimeOf(j)
	result := render.Migrate(render.Input{TrainJob: j.TrainJob, Runtime: runtime}, j.Document.Overrides, migrationManager)
	if result.TrainJob == nil {
		return migration{text: "trainweld migrate cannot convert it: " + firstMessage(result.Findings)}
	}
	m := migration{job: result.TrainJob, after: u.take(ctx, new, id, result.TrainJob)}
	switch {
	case m.after.Refused != nil:
		m.text = "after trainweld migrate it is refused as well: " + firstMessage(m.after.Refused)
	case same(before.Objects, m.after.Objects):
		m.text = "after trainweld migrate it renders as before"
	default:
		m.differs = true
	}
	return m
}

func firstMessage(errs finding.List) string {
	for _, f := range errs {
		if f.Severity >= finding.Error {
			return fmt.Sprintf("%s %s: %s", f.Code, f.Path, f.Message)
		}
	}
	return "no reason is known"
}

// migrationManager is the manager of the patch that a migration makes.
const migrationManager = "trainer.kubeflow.org/kubeflow-sdk"

// existing says what happens to a TrainJob that exists and is suspended: the new release applies its JobSet again.
func (u *upgrade) existing(ctx context.Context, before, after taken) []string {
	if before.made.JobSet == nil || after.made.JobSet == nil || before.Migrated {
		return nil
	}
	old, err := admission.Encode(before.made.JobSet)
	if err != nil {
		return nil
	}
	new, err := admission.Encode(after.made.JobSet)
	if err != nil {
		return nil
	}
	var fields []string
	for _, f := range admission.UpdateJobSet(ctx, &u.new().release, old, new, before.ID.Namespace) {
		if path := f.Path.String(); f.Severity >= finding.Error && !slices.Contains(fields, path) {
			fields = append(fields, path)
		}
	}
	if fields == nil {
		return nil
	}
	const most = 3
	lines := []string{"if it exists and is suspended, it never resumes: its JobSet does not let these fields change"}
	for i, path := range fields {
		if i == most {
			return append(lines, fmt.Sprintf("  and %s", report.Count(len(fields)-most, "more field")))
		}
		lines = append(lines, "  "+path)
	}
	return lines
}

// notes says what happens to all TrainJobs that exist.
func (u *upgrade) notes() []string {
	notes := []string{"a TrainJob that runs keeps its JobSet: what differs reaches new TrainJobs, and suspended ones when they resume"}
	if u.old().release.Index() > u.new().release.Index() {
		notes = append(notes, fmt.Sprintf("%s is earlier than %s: what the causes say goes away", u.new().Name, u.old().Name))
	}
	if u.old().release.RuntimeRead == release.LiveRuntime && u.new().release.RuntimeRead == release.RuntimeSnapshot {
		notes = append(notes, fmt.Sprintf("%s takes a snapshot of its runtime for each existing TrainJob, as the upgrade has left the runtime", u.new().Name))
	}
	return notes
}

// verdict returns the errors with which the release refuses a TrainJob: of its text, of the API server and of the webhooks.
func (s *step) verdict(ctx context.Context, j workspace.Job, migrated *trainer.TrainJob) finding.List {
	found := slices.Clone(j.Document.Findings)
	fields, err := j.Document.Fields()
	in := admission.Input{
		Release: &s.release, Layers: j.Layers(), Earlier: s.in.Earlier(j), Patches: s.in.FurtherPatches(),
		Namespace: s.flags.Namespace, OnConflict: s.opts.OnConflict, ForceManagers: s.opts.ForceManagers,
	}
	if migrated != nil {
		found, in.Layers = nil, nil
		in.Earlier.NumProcPerNode = nil
		fields, err = admission.Encode(migrated)
	}
	if err != nil {
		return refusals(&s.release, found) // decoding has reported it
	}
	in.TrainJob = fields
	if _, missing := s.in.RuntimeOf(j); missing != nil {
		found = append(found, *missing)
	}
	runtime := s.admit(ctx, j)
	in.Runtime, found = runtime.Runtime, append(found, runtime.found...)
	found = append(found, admission.Check(ctx, in)...)
	s.in.Locate(j, found)
	return refusals(&s.release, found)
}

// admitted is a runtime that the release has judged, with the findings on its text and on the runtime.
type admitted struct {
	*admission.Runtime
	found finding.List
}

// admit admits the runtime of a TrainJob, each once. It returns nothing without one.
func (s *step) admit(ctx context.Context, j workspace.Job) admitted {
	source := s.in.SourceOf(j)
	if source == nil {
		return admitted{}
	}
	if runtime, known := s.runtimes[source]; known {
		return runtime
	}
	var a admitted
	if fields, err := source.Fields(render.RuntimeOf(j.TrainJob)); err == nil {
		a.Runtime, a.found = admission.AdmitRuntime(ctx, &s.release, fields, s.flags.Namespace)
	}
	a.found = append(slices.Clone(source.Document.Findings), a.found...)
	s.runtimes[source] = a
	return a
}

// refusals returns the errors that a cluster has, too.
func refusals(r *release.Release, found finding.List) finding.List {
	var errs finding.List
	for _, f := range found {
		if f.Severity >= finding.Error && !admission.Stricter(r, f) {
			errs = append(errs, f)
		}
	}
	return errs.Distinct()
}

// runUpgrade writes the comparison of two releases. It ends with the status of diff, or with a failure if there is a TrainJob
// that neither release takes.
func runUpgrade(p *host.Program, flags diffFlags, opts render.Options, args []string, paint host.Painter) error {
	from, to, err := flags.releases(args)
	if err != nil {
		return exit.Usage(err)
	}
	u := newUpgrade(p, flags, opts, args, from, to)
	c, findings, err := u.compare(context.Background())
	if err != nil {
		return err
	}
	if u.old().TrainJobs+u.new().TrainJobs == 0 && findings.Err() == nil {
		findings = append(findings, finding.Finding{
			Code: finding.CodeNoTrainJob, Severity: finding.Error,
			Message: "the inputs hold no TrainJob", Remedy: finding.Remedy{Text: "name files with TrainJobs; -r is for runtimes only, and -R descends into directories"},
		})
	}
	if err := report.WriteBeside(p.Stderr, findings, report.Options{ShowValues: flags.showValues}); err != nil {
		return err
	}
	status := exit.Done
	if u.old().TrainJobs+u.new().TrainJobs > 0 {
		status, err = writeDiff(p, c, flags, paint)
	}
	switch {
	case err != nil:
		return err
	case findings.Err() != nil:
		return exit.Status(exit.Failed)
	case status != exit.Done && !flags.exitZero:
		return exit.Status(status)
	}
	return nil
}
