package migrate

import (
	"bytes"
	"io"
	"io/fs"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// unset is a field of today's torch policies. Instead of the word auto it is null, which means the
// same, and moves no line.
const unset = "envInjection"

const numProcPerNode = "numProcPerNode"

// readable is a file with the word auto as numProcPerNode, which Trainer 2.2 and later cannot
// decode.
type readable struct {
	data []byte                 // with the word
	at   map[int]fieldpath.Path // where null replaces it, by the indexes of the documents
}

// readWithoutAuto reads the inputs, in which null replaces the word auto as numProcPerNode. It
// means the same, and moves no line. The second result describes the files with the word, by name.
func readWithoutAuto(p *host.Program,
	flags workspace.Flags) (*workspace.Input, map[string]readable) {
	tree, ok := p.Files.(host.Tree)
	if !ok {
		return workspace.Read(p, flags), nil
	}
	var stdin bytes.Buffer
	first, second := *p, *p
	if p.Stdin != nil {
		first.Stdin, second.Stdin = io.TeeReader(p.Stdin, &stdin), &stdin
	}
	overlay := host.NewOverlay(tree) // keeps the content of pipes
	first.Files, second.Files = overlay, overlay
	in := workspace.Read(&first, flags)
	changed := map[string]readable{}
	for _, text := range append(runtimes(overlay, in), in.Files...) {
		file := readable{text.Data, map[int]fieldpath.Path{}}
		var edits []manifest.Edit
		for i, d := range text.Documents {
			// a word that other parts of the file share keeps its finding
			if unset, at := withoutAuto(d); unset != nil {
				edits, file.at[i] = append(edits, unset...), at
			}
		}
		if len(edits) == 0 {
			continue
		}
		changed[text.Name] = file
		if after := manifest.ApplyEdits(text.Data, edits); text.Name == manifest.Stdin {
			second.Stdin = bytes.NewReader(after)
		} else {
			overlay.Change(text.Name, after)
		}
	}
	if len(changed) == 0 {
		return in, nil
	}
	return workspace.Read(&second, flags), changed
}

// runtimes returns the files with the word that only give runtimes, and are not rewritten.
func runtimes(files fs.FS, in *workspace.Input) []workspace.File {
	var found []workspace.File
	for _, f := range in.Findings {
		isKnown := func(text workspace.File) bool { return text.Name == f.Position.File }
		if !isTorchAuto(f) || slices.ContainsFunc(in.Files, isKnown) ||
			slices.ContainsFunc(found, isKnown) {
			continue
		}
		if data, err := fs.ReadFile(files, f.Position.File); err == nil {
			documents, _ := manifest.Decode(f.Position.File, data)
			found = append(
				found, workspace.File{Name: f.Position.File, Data: data, Documents: documents})
		}
	}
	return found
}

// withoutAuto returns the edits that make a document readable, and the path of the null that they
// leave, or nil.
func withoutAuto(d *manifest.Document) ([]manifest.Edit, fieldpath.Path) {
	for _, f := range d.Findings {
		if f.Code == codes.WrongType && f.Remedy.Do == finding.Remove &&
			slices.Equal(f.Path, fieldpath.Fields("spec", "trainer", numProcPerNode)) {
			return d.Unset(f.Path, numProcPerNode), f.Path
		}
		if isTorchAuto(f) {
			return d.Unset(f.Path, unset), fieldpath.Fields("spec", "mlPolicy", "torch", unset)
		}
	}
	return nil, nil
}

// isTorchAuto reports whether the finding is about the word in a runtime of Trainer 2.0 and 2.1.
// Later releases have auto only, and no field.
func isTorchAuto(f finding.Finding) bool {
	return f.Code == codes.UnknownField && f.Remedy.Do == finding.Remove &&
		slices.Equal(f.Path, fieldpath.Fields("spec", "mlPolicy", "torch", numProcPerNode))
}

// removeNumber returns the change that removes the number. It keeps the parent, without which the
// torch policy does nothing.
func removeNumber(d *manifest.Document, number fieldpath.Path) manifest.Change {
	parent := number[:len(number)-1]
	fields, err := d.Fields()
	for _, step := range parent {
		name, _ := step.Field()
		fields, _ = fields[name].(map[string]any)
	}
	if err == nil && len(fields) == 1 {
		return manifest.Change{Path: parent, Do: manifest.SetField, Value: map[string]any{}}
	}
	return manifest.Change{Path: number, Do: manifest.RemoveField}
}
