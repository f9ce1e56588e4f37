// This file reads the flags that select the input, and resolves the namespace of an object.

package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// Flags are the flags that select the input.
type Flags struct {
	// Release is the release that --trainer-version names; nil without the flag.
	Release *release.Release
	// Kubernetes is the minor version that --kubernetes-version names; empty without the flag.
	Kubernetes string
	// AnyRelease reads objects of all releases: no trainweld.yaml counts.
	AnyRelease bool
	// Policy is the policy file; without it, the nearest trainweld.yaml of each file is.
	Policy string
	// Advisory reports violations of a policy as warnings, and lets the policy raise no finding to
	// an error. It is for commands that show the result in any case.
	Advisory bool
	// Decided are the codes whose severities the command sets itself.
	Decided                  map[finding.Code]bool
	Files, Runtimes, Patches []string
	// PrefersFiles lets a runtime of Files take the place of its namesake among Runtimes.
	PrefersFiles bool
	// Kustomize are the directories of -k. Package build makes a part of each build.
	Kustomize []string
	Built     *Built // the build of a part
	Recursive bool
	// Outlines reads TrainJobs and runtimes for their mistakes and their text, see
	// manifest.Outline.
	Outlines  bool
	Steady    bool // omits folders and lines from messages, so that golden files can record them
	Namespace string
	// Spelled omits the protocol of ports that the runtime does not set. The runtime's CRD sets it,
	// so a JobSet shows it. In Jobs and Pods it is a plain default without information.
	Spelled  bool
	Kinds    []manifest.Kind // to read in addition to the kinds of the Trainer
	Selector labels.Selector // of the TrainJobs and JobSets to read; nil selects all
	// records the training jobs that are not read, for all parts of a run; nil records none
	Unread *Unread
}

// Unread records what of the inputs only other programs read, or a build.
type Unread struct {
	old  *finding.Finding // on the first job of the Training Operator or the MPI Operator
	part string           // the advice on the first file that holds no objects before a build
}

// CheckPaths returns an error for an empty path, a second standard input and an invalid namespace.
func (flags Flags) CheckPaths() error {
	stdin := 0
	for _, path := range slices.Concat(flags.Files, flags.Runtimes, flags.PatchFiles()) {
		switch path {
		case manifest.Stdin:
			stdin++
		case "":
			return errors.New(
				"an empty path: -f, -r and --patch need a file, a directory, a glob or -")
		}
	}
	if stdin > 1 {
		return errors.New("standard input can be read once: use - for one flag")
	}
	return CheckNamespace(flags.Namespace)
}

// Empty reports whether the flags name no input.
func (flags Flags) Empty() bool { return len(flags.Files)+len(flags.Kustomize) == 0 }

// Builds reports whether the flags ask for builds.
func (flags Flags) Builds() bool { return len(flags.Kustomize) > 0 }

// ManagerOf splits [NAME=]FILE into the manager, which may be empty, and the file of its patch.
func ManagerOf(patch string) (manager, file string) {
	if manager, file, named := strings.Cut(patch, "="); named {
		return manager, file
	}
	return "", patch
}

// PatchFiles returns the files of the patches.
func (flags Flags) PatchFiles() []string {
	files := make([]string, len(flags.Patches))
	for i := range files {
		_, files[i] = ManagerOf(flags.Patches[i])
	}
	return files
}

// CheckNamespace returns an error if name is not empty and not a valid name of a namespace.
func CheckNamespace(name string) error {
	if name == "" || len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}
	return fmt.Errorf("-n: invalid value %q: must be a lower-case RFC 1123 label", name)
}

// InNamespace sets the namespace of an object of the Trainer, or of a further kind, that names
// none. So all findings use one name.
func (flags Flags) InNamespace(o fieldpath.Object) fieldpath.Object {
	further := slices.ContainsFunc(flags.Kinds, func(k manifest.Kind) bool {
		return k.Kind == o.Kind
	})
	if o.Name != "" &&
		(further || o.Kind == trainer.TrainJobKind || o.Kind == trainer.TrainingRuntimeKind) {
		o.Namespace = flags.NamespaceOf(o.Namespace)
	}
	return o
}

// inNamespace does the same for the objects of findings.
func (flags Flags) inNamespace(found finding.List) {
	for i := range found {
		found[i].Object = flags.InNamespace(found[i].Object)
	}
}

// NamespaceOf returns the namespace of a namespaced object: its own, the one of the flag, or the
// default.
func (flags Flags) NamespaceOf(namespace string) string {
	return cmp.Or(namespace, flags.Namespace, "default")
}
