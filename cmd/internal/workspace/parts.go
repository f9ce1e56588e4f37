package workspace

import (
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// withoutParts removes files that hold no objects before a build: patches of a kustomization, and
// templates of a chart. A file that paths names stays. Each removed file is a note. A template is a
// warning if this run builds nothing: no other file has its objects. A kustomization that is a PATH
// without -R is an error if it has patches, or nothing else. It needs a build.
func (ds *Documents) withoutParts(fsys fs.FS, paths, files []string) []string {
	// the kustomization of a patch, and the folders of charts
	patches, charts := map[string]string{}, map[string]bool{}
	var kustomizations []string
	isReported := map[string]bool{}
	for _, file := range files {
		switch dir, base := filepath.Split(filepath.Clean(file)); {
		case slices.Contains(kustomizationNames(), base):
			kustomizations = append(kustomizations, file)
			for _, patch := range patchFiles(fsys, file) {
				patches[filepath.Join(dir, patch)] = file
			}
		case base == "Chart.yaml":
			charts[filepath.Join(dir, "templates")] = true
		}
	}
	unbuilt := finding.Warning
	if ds.flags.Builds() || ds.flags.Built != nil {
		unbuilt = finding.Note
	}
	left := slices.DeleteFunc(files, func(file string) bool {
		f := finding.Finding{Code: codes.BuildPart, Severity: finding.Note,
			Position: fieldpath.Position{File: file}}
		if by := patches[filepath.Clean(file)]; by != "" {
			f.Message, f.Remedy.Text = "patch of "+printable.Name(by)+" is skipped",
				"build the kustomization with -k"
			if ds.isNamed(filepath.Dir(by)) {
				f.Severity = finding.Error
			}
		} else if isTemplate(charts, file) {
			f.Severity, f.Message, f.Remedy.Text = unbuilt, "template of a chart is skipped",
				"render the chart: helm template . | trainweld check -"
		}
		if f.Message == "" || slices.Contains(paths, file) {
			return false
		}
		ds.report(f)
		isReported[patches[filepath.Clean(file)]] = true
		ds.flags.Unread.addPart(f.Remedy.Text)
		return true
	})
	for _, file := range kustomizations {
		dir := filepath.Dir(file)
		isOther := func(other string) bool { return filepath.Dir(other) == dir && other != file }
		if !ds.isNamed(dir) || isReported[file] || slices.ContainsFunc(left, isOther) {
			continue
		}
		ds.report(finding.Finding{
			Code: codes.BuildPart, Severity: finding.Error,
			Position: fieldpath.Position{File: file},
			Message:  "the kustomization is not built, and its directory holds nothing else",
			Remedy:   finding.Remedy{Text: "build the kustomization with -k"},
		})
	}
	return left
}

// isNamed reports whether a directory is a PATH of a run without -R.
func (ds *Documents) isNamed(dir string) bool {
	isDir := func(path string) bool {
		return filepath.Clean(path) == dir && !ds.flags.IsBuilt(path)
	}
	return !ds.flags.Recursive && slices.ContainsFunc(ds.flags.Files, isDir)
}

// isTemplate reports whether a file is below the templates of a chart.
func isTemplate(charts map[string]bool, file string) bool {
	for dir := filepath.Dir(filepath.Clean(file)); len(charts) > 0; dir = filepath.Dir(dir) {
		if charts[dir] {
			return true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return false
}

// mostKustomization is the size of the largest kustomization that is searched for patches, in
// bytes.
const mostKustomization = 1 << 20

// patchFiles returns the files that a kustomization names as patches. It returns none for a file
// that it cannot read: the build has the finding.
func patchFiles(fsys fs.FS, file string) []string {
	f, err := fsys.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close() // reading only
	text, err := io.ReadAll(io.LimitReader(f, mostKustomization))
	var k struct {
		Patches               []struct{ Path string } `yaml:"patches"`
		JSONPatches           []struct{ Path string } `yaml:"patchesJson6902"`
		PatchesStrategicMerge []string                `yaml:"patchesStrategicMerge"`
	}
	if err != nil || yaml.Unmarshal(text, &k) != nil {
		return nil
	}
	var files []string
	for _, p := range slices.Concat(k.Patches, k.JSONPatches) {
		files = append(files, p.Path)
	}
	for _, p := range k.PatchesStrategicMerge {
		if !strings.Contains(p, "\n") { // else a patch in the kustomization itself
			files = append(files, p)
		}
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" })
}
