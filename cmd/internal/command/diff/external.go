package diff

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/process"
	"github.com/trainweld/trainweld/render/manifest"
)

// externalVariable names the program that compares objects.
const externalVariable = "KUBECTL_EXTERNAL_DIFF"

// needsAllObjects reports whether the report needs the objects of all TrainJobs.
func (flags *diffFlags) needsAllObjects(p *host.Program) bool {
	return flags.all || p.Getenv(externalVariable) != ""
}

// externalDiff compares the differing objects with another program, like kubectl diff. The program gets two directories with a
// file per object. Its exit status reports differences.
func externalDiff(p *host.Program, command []string, c *comparison.Comparison) (status int, err error) {
	dirs := make([]string, 2)
	for i, name := range []string{"OLD-", "NEW-"} {
		if dirs[i], err = os.MkdirTemp("", name); err != nil {
			return 0, err
		}
		defer os.RemoveAll(dirs[i]) // ignore files that cannot be removed
	}
	for _, j := range c.Jobs {
		for _, o := range j.Objects {
			if err := writeObject(c, j, o, dirs); err != nil {
				return 0, err
			}
		}
	}
	cmd := process.Named(command, dirs...)
	cmd.Stdout, cmd.Stderr = host.Unwrap(p.Stdout), p.Stderr
	err = cmd.Run()
	switch {
	case err == nil:
		return exit.Done, nil
	case cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == exitDiffers:
		return exitDiffers, nil
	default:
		return 0, fmt.Errorf("the program of KUBECTL_EXTERNAL_DIFF failed: %s: %w; it must end with 0 or 1", strings.Join(command, " "), err)
	}
}

// writeObject writes the existing versions of an object.
func writeObject(c *comparison.Comparison, j *comparison.JobDiff, o *comparison.ObjectDiff, dirs []string) error {
	old, new, err := c.Shown(o)
	if err != nil {
		return err
	}
	for i, object := range []any{old, new} {
		if v := reflect.ValueOf(object); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			continue
		}
		file, err := os.OpenFile(filepath.Join(dirs[i], fileName(o, j)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(manifest.Encode(file, manifest.YAML, object), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// fileName returns the file name that kubectl diff gives an object.
func fileName(o *comparison.ObjectDiff, j *comparison.JobDiff) string {
	version := "v1"
	for _, object := range []any{o.Old, o.New} {
		if typed, ok := object.(runtime.Object); ok && !reflect.ValueOf(typed).IsNil() {
			gvk := typed.GetObjectKind().GroupVersionKind()
			version = strings.TrimPrefix(gvk.Group+"."+gvk.Version, ".")
		}
	}
	name := fmt.Sprintf("%s.%s.%s.%s", version, o.Key.Kind, j.ID.Namespace, o.Key.Name)
	if o.Key.Number > 0 {
		name += fmt.Sprintf(".%d", o.Key.Number)
	}
	if j.Build != "" {
		name = j.Build + "." + name
	}
	// A name that the cluster rejects could lead to another directory.
	return strings.ReplaceAll(name, string(filepath.Separator), "_")
}
