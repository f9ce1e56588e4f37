package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// count counts a decoded file, and rejects it beyond the limit of aliases. Call it in the order of
// the files.
func (ds *Documents) count(d Decoded) Decoded {
	if ds.aliases.expanded += d.expanded; d.expanded == 0 ||
		ds.aliases.expanded <= manifest.MaxExpanded {
		ds.flags.Unread.add(d.Documents)
		return d
	}
	ds.aliases.exhausted.Store(true)
	return Decoded{file: d.file, data: d.data, Findings: finding.List{{
		Code: codes.Syntax, Severity: finding.Error, Position: fieldpath.Position{File: d.file},
		Message: fmt.Sprintf("the YAML aliases of this run expand its files to more than %d MiB",
			manifest.MaxExpanded>>20),
		Remedy: finding.Remedy{Text: "replace YAML aliases by their values"},
	}}}
}

// ReadDocuments returns the documents of the files that paths name. It records the files and the
// findings in the input.
func (ds *Documents) ReadDocuments(s Source, paths []string) []*manifest.Document {
	var documents []*manifest.Document
	ds.ReadFiles(s, paths, func(d Decoded) {
		documents = append(documents, d.Documents...)
		ds.Files = append(ds.Files, File{d.file, d.data, d.Documents})
		ds.report(d.Findings...)
	})
	return documents
}

// ReadFiles decodes the files that paths name on all cores, and passes them to take in order. A
// directory may hold files of other kinds. In a file that paths names, a document that is not an
// object is a mistake.
func (ds *Documents) ReadFiles(s Source, paths []string, take func(Decoded)) {
	fsys, stdin := s.Inputs()
	files := ds.listFiles(fsys, paths)
	parallel.Ordered(len(files), func(i int) Decoded {
		data, unreadable := ds.load(fsys, stdin, files[i])
		if unreadable != nil {
			return Decoded{file: files[i], Findings: finding.List{*unreadable}}
		}
		return ds.decode(files[i], data, slices.Contains(paths, files[i]))
	}, func(i int, d Decoded) {
		ds.Step("read", i+1, len(files))
		if d.data != nil && !ds.flags.IsBuilt(files[i]) {
			ds.lines.opened(files[i], d.data)
		}
		take(ds.count(d))
	})
}

// listFiles returns the files that paths name, without those listed before.
func (ds *Documents) listFiles(fsys fs.FS, paths []string) []string {
	ds.addBuilt()
	built := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return !ds.flags.IsBuilt(path)
	})
	files, findings := manifest.Files(
		fsys, slices.DeleteFunc(slices.Clone(paths), ds.flags.IsBuilt), ds.flags.Recursive)
	files = append(files, built...)
	ds.report(findings...)
	files = ds.withoutParts(fsys, paths, files)
	return ds.withoutConfigs(fsys, slices.DeleteFunc(files, func(file string) bool {
		key := filepath.Clean(file)
		seen := ds.read[key]
		ds.read[key] = true
		return seen
	}))
}

// withoutConfigs removes each policy file from the files, and records what holds for the others.
func (ds *Documents) withoutConfigs(fsys fs.FS, files []string) []string {
	var kept []string
	for _, file := range files {
		if !ds.settings.IsConfig(fsys, file) {
			ds.settings.ApplyPolicy(fsys, file, dirOf(file))
			kept = append(kept, file)
		}
	}
	return kept
}

// decode decodes a listed file, unless earlier files have exhausted the limit of aliases. If paths
// names the file itself, it must hold objects only.
func (ds *Documents) decode(file string, data []byte, named bool) Decoded {
	d := Decoded{file: file, data: data}
	if ds.aliases.exhausted.Load() && manifest.HasAliases(data) {
		d.expanded = 1
		return d
	}
	read := ds.settings.byFile[file].Decode
	if ds.flags.Outlines {
		read = ds.settings.byFile[file].Outline
	}
	d.Documents, d.Findings, d.expanded = read(file, data, ds.flags.Kinds)
	d = ds.flags.withoutOthers(d)
	if ds.flags.IsBuilt(file) {
		ds.flags.Built.trace(&d)
	}
	if !named {
		d.Findings = manifest.Tolerate(d.Findings, codes.NotAnObject)
	}
	ds.flags.inNamespace(d.Findings)
	for _, document := range d.Documents {
		ds.flags.inNamespace(document.Findings)
	}
	return d
}

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
