package diff

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
)

// This file finds what causes the differences between two releases of the Trainer.
//
// The versions differ in many switches. So it turns one switch at a time, release by release, and
// renders the TrainJobs that differ again. The last switch whose change moves a field is its cause.

// upgrade is the way from the release of the old version to that of the new one. It has the files
// of the new version.
type upgrade struct {
	flags diffFlags
	opts  render.Options
	steps []*step // the first one has the old release, and the last one the new
}

// step is a release on the way.
type step struct {
	version
	// of is the switch whose change made the step, and change says which. The first step has none.
	of     release.Switch
	change release.Change
	// alike is the step before if both read the inputs alike.
	alike *step

	jobs map[fieldpath.Object]workspace.Job
	errs map[fieldpath.Object]finding.List // of reading, by the object that they are about
}

// releases parses --from-version and --to-version. It returns nil for neither.
func (flags *diffFlags) releases() (from, to *release.Release, err error) {
	switch {
	case flags.from == "" && flags.until == "":
		return nil, nil, nil
	case flags.from == "" || flags.until == "":
		return nil, nil, errors.New("--from-version needs --to-version: use both")
	case flags.Release != nil:
		return nil, nil,
			errors.New("--from-version and --to-version name the releases: remove --trainer-version")
	case flags.Kubernetes != "":
		return nil, nil, errors.New("--from-version and --to-version name the versions of " +
			"Kubernetes after a slash: remove --kubernetes-version")
	case flags.Builds():
		return nil, nil,
			errors.New("--from-version and --to-version have no builds: build first, and name " +
				"the files")
	}
	if from, err = release.ParseOn(flags.from); err != nil {
		return nil, nil, fmt.Errorf("--from-version: %w", err)
	}
	if to, err = release.ParseOn(flags.until); err != nil {
		return nil, nil, fmt.Errorf("--to-version: %w", err)
	}
	if from.Version == to.Version && from.Kubernetes == to.Kubernetes {
		return nil, nil,
			fmt.Errorf("--from-version and --to-version both name Trainer %s: use two releases",
				to.Version)
	}
	return from, to, nil
}

// as gives the version a release. A version without a name of its own gets that of the release.
func (v *version) as(r *release.Release) {
	name := "Trainer " + r.Version
	if own, err := release.Parse(r.Name); err != nil || own.Kubernetes != r.Kubernetes {
		name += " on Kubernetes " + r.Kubernetes
	}
	if v.Name != "" {
		name = v.Name + ", " + name
	}
	v.Name, v.release, v.flags.Release, v.flags.Kubernetes = name, r, r, r.Kubernetes
}

// again is the input of a program whose standard input is read before, for each version and step.
type again struct {
	files fs.FS
	stdin []byte
}

func (a again) Inputs() (fs.FS, io.Reader) { return a.files, bytes.NewReader(a.stdin) }

// newUpgrade lists the steps from one version to the other. It returns nil if these have no
// releases.
func newUpgrade(flags diffFlags, opts render.Options, old, new *version) *upgrade {
	if new.release == nil {
		return nil
	}
	u, now := &upgrade{flags: flags, opts: opts}, *old.release
	u.add(new, now, release.Switch{}, release.Change{})
	for _, next := range releasesBetween(old.release, new.release) {
		before := now
		for _, s := range release.Switches() {
			if s.Set(&now, &next) {
				now.Name, now.Version, now.JobSetVersion = next.Name, next.Version,
					next.JobSetVersion
				u.add(new, now, s, s.Between(&before, &next))
			}
		}
	}
	for _, turn := range minor.Between(now.Kubernetes, new.release.Kubernetes) {
		now.Kubernetes = turn.To
		u.add(new, now, release.Switch{ID: "kubernetes"}, release.Change{In: turn.Later,
			Why: "Kubernetes " + turn.Later + " has other fields, gates and rules"})
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

func (u *upgrade) add(new *version, r release.Release, of release.Switch, change release.Change) {
	s := &step{version: version{side: new.side, source: new.source, flags: new.side.Flags}, of: of,
		change: change}
	s.as(&r)
	s.setOptions(u.flags, u.opts)
	if n := len(u.steps); n > 0 {
		last := u.steps[n-1].release
		if last.Schema == r.Schema && last.JobSetSchema == r.JobSetSchema &&
			last.Stock == r.Stock && last.RuntimeRead == r.RuntimeRead {
			s.alike = u.steps[n-1]
		}
	}
	u.steps = append(u.steps, s)
}

// read reads the inputs as the release of the step decodes them.
func (u *upgrade) read(s *step) {
	if s.in != nil {
		return
	}
	// the findings of the last step name its release
	if s.alike != nil && s != u.steps[len(u.steps)-1] {
		u.read(s.alike)
		s.in, s.jobs, s.errs = s.alike.in, s.alike.jobs, s.alike.errs
		return
	}
	s.in = workspace.Read(s.source, s.flags)
	s.jobs, s.errs = map[fieldpath.Object]workspace.Job{}, map[fieldpath.Object]finding.List{}
	for _, f := range s.in.Findings {
		if f.Severity >= finding.Error {
			s.errs[f.Object] = append(s.errs[f.Object], f)
		}
	}
	for _, j := range s.in.Jobs {
		s.jobs[render.ObjectOf(j.TrainJob)] = j
	}
}

// attribute sets the causes of what differs between two versions of the TrainJobs, and explains
// them.
func (u *upgrade) attribute(ctx context.Context, before, after *version) {
	old := map[fieldpath.Object]*comparison.Job{}
	for i := range before.Jobs {
		old[before.Jobs[i].ID] = &before.Jobs[i]
	}
	for i := range after.Jobs {
		new := &after.Jobs[i]
		was := old[new.ID]
		switch {
		case was == nil || was.Rejected != nil && new.Rejected != nil:
		case new.Rejected != nil:
			new.RejectedBy = u.rejectedBy(ctx, new, was.Runtime, false)
		case was.Rejected != nil:
			was.RejectedBy = u.rejectedBy(ctx, was, new.Runtime, true)
		default:
			u.causes(was, new)
		}
	}
	after.Reasons = u.reasons(before.release.Index() < after.release.Index())
}

// cause names the switch of a step, or its part that changes a field of an object. It includes the
// release that turned the switch. The cause is that of each field within as well, so its value is
// no presence.
func (s *step) cause(kind string, runtime fieldpath.Object, path fieldpath.Path) merge.Claim {
	id, steps := s.of.ID,
		append([]string{strings.TrimPrefix(kind, "Cluster")}, namesInPath(path)...)
	if id == stockSwitch {
		steps = append([]string{runtime.Name}, steps...)
	}
	if part, found := s.of.Part(s.change.In, steps...); found {
		id = part.ID
	}
	return merge.Claim{Owner: causeOf(id, s.change.In), Value: s.change.In}
}

// stockSwitch is the switch of the runtimes that a release installs.
const stockSwitch = "stock"

func causeOf(id, in string) merge.Owner { return merge.Owner(id + " " + in) }

// namesInPath returns the names in a path.
func namesInPath(path fieldpath.Path) []string {
	var names []string
	for _, step := range path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		} else if name, ok := step.Key(); ok {
			names = append(names, name)
		} else if _, value, ok := step.Item(); ok {
			names = append(names, value)
		}
	}
	return names
}

// rejectedBy returns the cause of each error in t.Rejected. It is the switch between releases at
// which the error appears or, if ends is set, disappears; a binary search over the steps of the
// upgrade finds it. An error that does not depend on the release keeps its cause of t.RejectedBy: a
// layer of the TrainJob.
func (u *upgrade) rejectedBy(ctx context.Context, t *comparison.Job, runtime fieldpath.Object,
	ends bool) []merge.Claim {
	rejectedAt := map[int]finding.List{}
	has := func(step int, f finding.Finding) bool {
		if _, known := rejectedAt[step]; !known {
			rejectedAt[step] = u.rejections(ctx, u.steps[step], t.ID)
		}
		return slices.ContainsFunc(rejectedAt[step], func(other finding.Finding) bool {
			return other.Code == f.Code && other.Object == f.Object &&
				other.Path.String() == f.Path.String()
		})
	}
	claims := slices.Clone(t.RejectedBy)
	for i, f := range t.Rejected {
		low, high := 0, len(u.steps)-1
		if has(low, f) != ends {
			continue // the files bring it
		}
		for high-low > 1 {
			if middle := (low + high) / 2; has(middle, f) != ends {
				high = middle
			} else {
				low = middle
			}
		}
		claims[i] = u.steps[high].cause(f.Object.Kind, runtime, f.Path)
	}
	return claims
}

// rejections returns the errors with which a step rejects a TrainJob.
func (u *upgrade) rejections(ctx context.Context, s *step, id fieldpath.Object) finding.List {
	u.read(s)
	j, found := s.jobs[id]
	if !found {
		return s.errs[id] // it cannot be decoded
	}
	errs, _ := s.judge(ctx, j)
	return errs.Where(isError)
}

// causes sets the causes of the differing fields. The cause of a field is the last switch whose
// change moved it.
func (u *upgrade) causes(was, new *comparison.Job) {
	if len(differingFields(was.Objects, new.Objects)) == 0 {
		return
	}
	causes := map[comparison.Key]map[string]causedField{}
	var last []comparison.Object
	for i, s := range u.steps {
		now := new.Objects
		if i < len(u.steps)-1 {
			u.read(s)
			if now = s.objects(s.jobs[new.ID], u.flags); now == nil {
				continue // the next switch that lets it render shows what changed
			}
		}
		for key, paths := range differingFields(last, now) {
			if i == 0 {
				break
			}
			if causes[key] == nil {
				causes[key] = map[string]causedField{}
			}
			for name, path := range paths {
				causes[key][name] = causedField{path, s.cause(key.Kind, was.Runtime, path)}
			}
		}
		last = now
	}
	for _, objects := range [][]comparison.Object{was.Objects, new.Objects} {
		for i := range objects {
			objects[i].Causes = ownersFromCauses(causes[objects[i].Key])
		}
	}
}

// objects returns the objects that a step makes of a TrainJob, or nil if it does not render.
func (s *step) objects(j workspace.Job, flags diffFlags) []comparison.Object {
	if j.TrainJob == nil {
		return nil
	}
	found, made := pipeline.TrainJob(s.in, j, s.opts)
	if made.JobSet == nil {
		return nil
	}
	job, _ := s.newJob(j, made, found, flags.to)
	return job.Objects
}

// causedField is a changed field with its cause.
type causedField struct {
	path  fieldpath.Path
	claim merge.Claim
}

// ownersFromCauses returns the causes of an object's fields. The root stands for an object that
// comes or goes.
func ownersFromCauses(fields map[string]causedField) *diff.Owners {
	if whole, ok := fields[""]; ok {
		return diff.OwnedBy(whole.claim)
	}
	names := slices.Sorted(maps.Keys(fields))
	return diff.OwnersOfFields(func(yield func(fieldpath.Path, []merge.Claim) bool) {
		for _, name := range names {
			if !yield(fields[name].path, []merge.Claim{fields[name].claim}) {
				return
			}
		}
	})
}

// differingFields returns the fields that differ, by object and name.
func differingFields(old, new []comparison.Object) map[comparison.Key]map[string]fieldpath.Path {
	out := map[comparison.Key]map[string]fieldpath.Path{}
	_ = comparison.Pairs(old, new, func(o *comparison.Object) comparison.Key { return o.Key },
		func(before, after *comparison.Object) error {
			if before == nil || after == nil {
				out[cmp.Or(before, after).Key] = map[string]fieldpath.Path{"": nil}
				return nil
			}
			// the comparison reports an error
			changes, _ := diff.Compare(before.Object, after.Object, diff.Options{})
			paths := map[string]fieldpath.Path{}
			for _, c := range changes {
				paths[c.Path.String()] = c.Path
			}
			if len(paths) > 0 {
				out[after.Key] = paths
			}
			return nil
		})
	return out
}

// reasons explains the switches that turn, and for an upgrade what to do before.
func (u *upgrade) reasons(isUpgrade bool) map[merge.Owner]comparison.Reason {
	reasons := map[merge.Owner]comparison.Reason{}
	for _, s := range u.steps[1:] {
		in := s.change.In
		add := func(id, why, link string) {
			reason := comparison.Reason{Text: release.Marked(why, in, id), Link: link}
			if isUpgrade {
				reason.Before = release.Before(in, id)
			}
			reasons[causeOf(id, in)] = reason
		}
		add(s.of.ID, s.change.Why, s.change.Link)
		for _, part := range s.of.Parts {
			if part.In == in {
				add(part.ID, part.Why, part.Link)
			}
		}
	}
	return reasons
}

// notes says what holds for all TrainJobs of an upgrade.
func (u *upgrade) notes(before, after *version) []string {
	old, new := before.release, after.release
	name := "Trainer " + new.Version
	var notes []string
	if basis := release.Basis(*old, *new); basis != "" {
		notes = append(notes, basis)
	}
	for _, r := range []*release.Release{old, new} {
		if why := r.Untested(); why != "" {
			notes = append(notes, why)
		}
	}
	switch stored := u.flags.to != "jobset"; {
	case old.Kubernetes != new.Kubernetes && !stored &&
		strings.Contains(u.flags.from+u.flags.until, "/"):
		notes = append(notes, fmt.Sprintf("a JobSet does not show what Kubernetes drops of its Jobs "+
			"and Pods: compare %s with %s by --to=pods", old.Kubernetes, new.Kubernetes))
	case old.Kubernetes == new.Kubernetes && stored:
		notes = append(notes, "both releases render Jobs and Pods of Kubernetes "+new.Kubernetes)
	}
	if old.Index() > new.Index() {
		notes = append(
			notes, fmt.Sprintf("%s is earlier than Trainer %s: the upgrade undoes the causes", name,
				old.Version))
	}
	if old.RuntimeRead == release.LiveRuntime && new.RuntimeRead == release.RuntimeSnapshot {
		notes = append(
			notes, name+" takes a snapshot of the runtime of each existing TrainJob after the "+
				"upgrade")
	}
	if which := undecodable(after); len(which) > 0 {
		more := ""
		if len(which) > 1 {
			more = fmt.Sprintf(" and %d more", len(which)-1)
		}
		notes = append(
			notes, fmt.Sprintf(
				"%s reconciles no TrainJob while one is stored that it cannot decode: %s%s", name,
				which[0], more))
	}
	return notes
}

// undecodable returns the TrainJobs of which a field has another type in the release. A list with
// one of them cannot be decoded, so the cache of the controller never fills (client-go v0.36.3
// tools/cache).
func undecodable(v *version) (ids []fieldpath.Object) {
	for _, j := range v.Jobs {
		if slices.ContainsFunc(j.Rejected, func(f finding.Finding) bool {
			return f.Code == codes.WrongType && f.Object.Kind == trainer.TrainJobKind
		}) {
			ids = append(ids, j.ID)
		}
	}
	return ids
}
