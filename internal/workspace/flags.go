// This file answers which flags say what to read, and in which namespace an object is.

package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/manifest"
)

// Flags are the flags that say what to read.
type Flags struct {
	Files, Runtimes, Patches []string
	Recursive                bool
	Namespace                string
	Spelled                  bool            // see Input.Spelled
	Kinds                    []manifest.Kind // to read besides those of the Trainer
}

// CheckPaths refuses paths that can only be mistakes.
func (flags Flags) CheckPaths() error {
	stdin := 0
	for _, path := range slices.Concat(flags.Files, flags.Runtimes, flags.PatchFiles()) {
		switch path {
		case manifest.Stdin:
			stdin++
		case "":
			return errors.New("an empty path: give -f, -r and --patch a file, a directory, a glob or -")
		}
	}
	if stdin > 1 {
		return errors.New("standard input can be read once: give - to one flag only")
	}
	return CheckNamespace(flags.Namespace)
}

// ManagerOf reads a [NAME=]FILE: a manager, or "", and where its patch stands.
func ManagerOf(patch string) (manager, file string) {
	if manager, file, named := strings.Cut(patch, "="); named {
		return manager, file
	}
	return "", patch
}

// PatchFiles are the files of the patches.
func (flags Flags) PatchFiles() []string {
	files := make([]string, len(flags.Patches))
	for i := range files {
		_, files[i] = ManagerOf(flags.Patches[i])
	}
	return files
}

// CheckNamespace refuses what cannot be the name of a namespace.
func CheckNamespace(name string) error {
	if name == "" || len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}
	return fmt.Errorf("-n: invalid value %q: must be a lower-case RFC 1123 label", name)
}

// InNamespace gives an object of the Trainer, or of a further kind, the namespace that it is in when it names none, so that
// all findings call it by one name.
func (flags Flags) InNamespace(o fieldpath.Object) fieldpath.Object {
	further := slices.ContainsFunc(flags.Kinds, func(k manifest.Kind) bool { return k.Kind == o.Kind })
	if o.Name != "" && (further || o.Kind == trainer.TrainJobKind || o.Kind == trainer.TrainingRuntimeKind) {
		o.Namespace = flags.NamespaceOf(o.Namespace)
	}
	return o
}

// NamespaceOf is the namespace of an object that is in one.
func (flags Flags) NamespaceOf(namespace string) string {
	return cmp.Or(namespace, flags.Namespace, "default")
}
