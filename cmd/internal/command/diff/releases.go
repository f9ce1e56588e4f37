package diff

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// This file compares the renderings and the verdicts of two releases of the Trainer.

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
	v.runtimes = new(parallel.Once[*workspace.RuntimeSource, judgedRuntime])
}

// again is the input of a program whose standard input is read before, for each version.
type again struct {
	files fs.FS
	stdin []byte
}

func (a again) Inputs() (fs.FS, io.Reader) { return a.files, bytes.NewReader(a.stdin) }

// changesPage lists the behaviors that changed between releases.
const changesPage = "https://github.com/trainweld/trainweld/blob/main/docs/versions.md"

// notes says what holds for all TrainJobs that two releases render.
func (flags *diffFlags) notes(before, after *version) []string {
	old, new := before.release, after.release
	name := "Trainer " + new.Version
	notes := []string{changesPage + " lists what changed between the releases"}
	if basis := release.Basis(*old, *new); basis != "" {
		notes = append(notes, basis)
	}
	switch stored := flags.to != "jobset"; {
	case old.Kubernetes != new.Kubernetes && !stored &&
		strings.Contains(flags.from+flags.until, "/"):
		notes = append(notes, fmt.Sprintf("a JobSet does not show what Kubernetes drops of its Jobs "+
			"and Pods: compare %s with %s by --to=pods", old.Kubernetes, new.Kubernetes))
	case old.Kubernetes == new.Kubernetes && stored:
		notes = append(notes, "both releases render Jobs and Pods of Kubernetes "+new.Kubernetes)
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
