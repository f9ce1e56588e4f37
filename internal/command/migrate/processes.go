package migrate

import (
	"bytes"
	"io"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/manifest"
)

func processes() fieldpath.Path { return fieldpath.Fields("spec", "trainer", "numProcPerNode") }

// readable is a file of which some TrainJobs have the word auto as numProcPerNode. Trainer 2.2 and later cannot decode it.
type readable struct {
	data []byte       // with the word
	jobs map[int]bool // the indexes of the documents
}

// read reads the inputs, in which null replaces the word auto as numProcPerNode. It means the same, and moves no line. The second
// result describes the files with the word, by name.
func read(p *host.Program, flags workspace.Flags) (*workspace.Input, map[string]readable) {
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
	for _, text := range in.Files {
		file := readable{text.Data, map[int]bool{}}
		var edits []manifest.Edit
		for i, d := range text.Documents {
			if !saysAuto(d) {
				continue
			}
			// A word that other parts of the file share keeps its finding.
			if made, err := d.Change([]manifest.Change{{Path: processes(), Do: manifest.SetField}}); err == nil {
				edits, file.jobs[i] = append(edits, made...), true
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

// saysAuto reports whether the word is an error of a TrainJob.
func saysAuto(d *manifest.Document) bool {
	for _, f := range d.Findings {
		if f.Code == finding.CodeWrongType && f.Remedy.Do == finding.Remove && slices.Equal(f.Path, processes()) {
			return true
		}
	}
	return false
}

// withoutProcesses returns the change that removes the field. It keeps spec.trainer, without which the torch policy does nothing.
func withoutProcesses(d *manifest.Document) manifest.Change {
	if fields, err := d.Fields(); err == nil {
		spec, _ := fields["spec"].(map[string]any)
		if t, _ := spec["trainer"].(map[string]any); len(t) == 1 {
			return manifest.Change{Path: processes()[:2], Do: manifest.SetField, Value: map[string]any{}}
		}
	}
	return manifest.Change{Path: processes(), Do: manifest.RemoveField}
}
