package render

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/outputname"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/wholefile"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// writeDir writes a file for each TrainJob.
func (r *renderRun) writeDir(all []rendered) (output.Outcome, error) {
	files := make([]wholefile.File, len(all))
	folders := foldersOf(all)
	for i, m := range all {
		var b bytes.Buffer
		out := output.Framing{W: &b, Format: r.format}
		_ = errors.Join(out.Add(m.texts...), out.Close()) // a buffer takes all
		files[i] = wholefile.File{Name: r.fileOf(m, folders), Text: b.Bytes()}
		all[i].texts = nil // a file has them now
	}
	interrupted, end := r.p.Listen()
	defer end()
	dir := output.Dir{Path: r.flags.OutputDir, Prune: r.flags.Prune,
		Step: r.progress.Step}
	made, err := dir.Write(files, interrupted)
	if err != nil {
		err = fmt.Errorf("--output-dir: %w", err)
	}
	return made, err
}

// exitChanged is the exit status of --exit-code for a changed file.
const exitChanged = 1

// reportChanges names the changed files, and the others that git does not track. It returns status
// 1 if there is one.
func (r *renderRun) reportChanges(made output.Outcome, all []rendered) error {
	untracked, err := r.untracked(all)
	if err != nil {
		return fmt.Errorf("--exit-code: %w", err)
	}
	untracked = slices.DeleteFunc(untracked, func(name string) bool {
		return slices.Contains(made.Wrote, name)
	})
	status := error(nil)
	for _, c := range []struct {
		what  string
		names []string
	}{{"wrote", made.Wrote}, {"removed", made.Removed}, {"not tracked by git:", untracked}} {
		for _, name := range c.names {
			fmt.Fprintf(r.p.Stderr, "%s %s\n", c.what,
				printable.Name(filepath.Join(r.flags.OutputDir, name)))
			status = exit.Status(exitChanged)
		}
	}
	return status
}

// untracked returns the rendered files that git neither tracks nor ignores, sorted. It returns nil
// outside a repository.
func (r *renderRun) untracked(all []rendered) ([]string, error) {
	names, err := host.Untracked(r.flags.OutputDir)
	if names == nil {
		return nil, err
	}
	folders := foldersOf(all)
	rendered := make([]string, len(all))
	for i, m := range all {
		rendered[i] = r.fileOf(m, folders)
	}
	slices.Sort(rendered)
	return slices.DeleteFunc(names, func(name string) bool {
		_, made := slices.BinarySearch(rendered, name)
		return !made
	}), nil
}

// fileOf returns the name of the file for the objects of a TrainJob.
func (r *renderRun) fileOf(m rendered, folders map[string]string) string {
	return path.Join(folders[m.build], outputname.Of(m.id, r.format))
}

// editedFiles returns findings on edited files, which --prune keeps.
func (r *renderRun) editedFiles(edited []string) finding.List {
	var found finding.List
	for _, name := range edited {
		found = append(found, finding.Finding{
			Code: codes.EditedOutput, Severity: finding.Warning,
			Position: fieldpath.Position{File: filepath.Join(r.flags.OutputDir, name)},
			Message:  "obsolete file with edits: it stays",
			Remedy: finding.Remedy{
				Text: "remove it, or remove its line from " +
					filepath.Join(r.flags.OutputDir, output.OwnFilesName) + " to keep it"},
		})
	}
	return found
}

// foldersOf returns the folder of each build: none for a single one, else the path of the
// directory.
func foldersOf(all []rendered) map[string]string {
	folders := map[string]string{}
	for _, m := range all {
		below := strings.TrimPrefix(m.build, filepath.VolumeName(m.build))
		var folder []string
		for name := range strings.SplitSeq(filepath.ToSlash(below), "/") {
			if strings.HasPrefix(name, ".") && name != "." {
				name = "_" + name // not above the directory, and not hidden
			}
			folder = append(folder, name)
		}
		folders[m.build] = strings.TrimPrefix(path.Join(folder...), "/")
	}
	if len(folders) == 1 {
		return nil
	}
	return folders
}
