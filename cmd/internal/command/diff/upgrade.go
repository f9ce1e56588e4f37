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
	u.steps = append(u.steps, s)
}

// attribute sets the causes of what differs between two versions of the TrainJobs, and explains
// them.
func (u *upgrade) attribute(ctx context.Context, before, after *version) {
	all := map[fieldpath.Object]*attribution{}
	for was, new := range comparison.Pairs(before.Jobs, after.Jobs,
		func(j *comparison.Job) fieldpath.Object { return j.ID }) {
		if was != nil && new != nil && ((was.Rejected != nil) != (new.Rejected != nil) ||
			len(differingFields(was.Objects, new.Objects)) > 0) {
			all[new.ID] = &attribution{was: was, new: new,
				causes: map[comparison.Key]map[string]causedField{}}
		}
	}
	var last *step
	for i, s := range u.steps {
		if i == len(u.steps)-1 {
			s.Jobs = after.Jobs
		} else {
			u.render(ctx, s, last, all)
		}
		for k := range s.Jobs {
			if a := all[s.Jobs[k].ID]; a != nil {
				a.take(s, &s.Jobs[k])
			}
		}
		last, s.Jobs = s, nil
	}
	for _, a := range all {
		for _, objects := range [][]comparison.Object{a.was.Objects, a.new.Objects} {
			for i := range objects {
				objects[i].Causes = ownersFromCauses(a.causes[objects[i].Key])
			}
		}
	}
	after.Reasons = u.reasons(before.release.Index() < after.release.Index())
}

// render renders the TrainJobs that differ as a step does. It reads the inputs again if the release
// decodes them otherwise than that of the last step.
func (u *upgrade) render(ctx context.Context, s, last *step,
	all map[fieldpath.Object]*attribution) {
	s.setOptions(u.flags, u.opts)
	s.accepts = map[fieldpath.Object]bool{}
	for id, a := range all {
		s.accepts[id] = a.was.Rejected == nil && a.new.Rejected == nil
	}
	if r := s.release; last != nil && last.release.Schema == r.Schema &&
		last.release.JobSetSchema == r.JobSetSchema && last.release.Stock == r.Stock &&
		last.release.RuntimeRead == r.RuntimeRead {
		s.in = last.in
	} else {
		s.in = workspace.Read(s.source, s.flags)
		s.in.Jobs = slices.DeleteFunc(s.in.Jobs, func(j workspace.Job) bool {
			return all[render.ObjectOf(j.TrainJob)] == nil
		})
	}
	s.version.render(ctx)
}

// attribution finds the causes of one TrainJob: of each error with which one version rejects it, or
// of the differing fields.
type attribution struct {
	was, new *comparison.Job
	last     *comparison.Job // of the last step, or of the last one that renders it
	causes   map[comparison.Key]map[string]causedField
}

// take compares the TrainJob of a step with that of the last one. The last switch that moves a
// field or an error is its cause. An error that no switch moves keeps its cause of RejectedBy: a
// layer of the TrainJob.
func (a *attribution) take(s *step, now *comparison.Job) {
	has := func(j *comparison.Job, f finding.Finding) bool {
		return slices.ContainsFunc(j.Rejected, func(other finding.Finding) bool {
			return other.Code == f.Code && other.Object == f.Object &&
				other.Path.String() == f.Path.String()
		})
	}
	rejected, runtime, last := a.new, cmp.Or(a.was.Runtime, a.new.Runtime), a.last
	if a.was.Rejected != nil {
		rejected = a.was
	}
	if rejected.Rejected == nil && now.Rejected != nil {
		return // the next switch that lets it render shows what changed
	}
	if a.last = now; last == nil {
		return
	}
	for i, f := range rejected.Rejected {
		if has(last, f) != has(now, f) {
			rejected.RejectedBy[i] = s.cause(f.Object.Kind, runtime, f.Path)
		}
	}
	for key, paths := range differingFields(last.Objects, now.Objects) {
		if a.causes[key] == nil {
			a.causes[key] = map[string]causedField{}
		}
		for name, path := range paths {
			a.causes[key][name] = causedField{path, s.cause(key.Kind, runtime, path)}
		}
	}
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
	for before, after := range comparison.Pairs(old, new,
		func(o *comparison.Object) comparison.Key { return o.Key }) {
		if before == nil || after == nil {
			out[cmp.Or(before, after).Key] = map[string]fieldpath.Path{"": nil}
			continue
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
	}
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
func (u *upgrade) notes(before, after *version) (notes []string) {
	old, new := before.release, after.release
	name := "Trainer " + new.Version
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if basis := release.Basis(*old, *new); basis != "" {
		add("%s", basis)
	}
	for _, r := range []*release.Release{old, new} {
		if why := r.Untested(); why != "" {
			add("%s", why)
		}
	}
	switch stored := u.flags.to != "jobset"; {
	case old.Kubernetes != new.Kubernetes && !stored &&
		strings.Contains(u.flags.from+u.flags.until, "/"):
		add("a JobSet does not show what Kubernetes drops of its Jobs and Pods: compare %s with %s "+
			"by --to=pods", old.Kubernetes, new.Kubernetes)
	case old.Kubernetes == new.Kubernetes && stored:
		add("both releases render Jobs and Pods of Kubernetes %s", new.Kubernetes)
	}
	if old.Index() > new.Index() {
		add("%s is earlier than Trainer %s: the upgrade undoes the causes", name, old.Version)
	}
	if old.RuntimeRead == release.LiveRuntime && new.RuntimeRead == release.RuntimeSnapshot {
		add("%s takes a snapshot of the runtime of each existing TrainJob after the upgrade", name)
	}
	if which := undecodable(after); len(which) > 0 {
		more := ""
		if len(which) > 1 {
			more = fmt.Sprintf(" and %d more", len(which)-1)
		}
		add("%s reconciles no TrainJob while one is stored that it cannot decode: %s%s", name,
			which[0], more)
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
