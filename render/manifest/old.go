package manifest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
	"github.com/trainweld/trainweld/render/release"
)

// isOld reports whether a TrainJob's spec has one of these fields.
func isOld(r *source.Reading, n *yaml.Node) bool {
	_, spec := r.Lookup(n, "spec")
	if spec == nil {
		return false
	}
	for _, name := range legacy.Fields() {
		if key, _ := r.Lookup(source.Target(spec), name); key != nil {
			return true
		}
	}
	return false
}

// oldAPI returns a warning about a document for Trainer 2.0 or 2.1.
func oldAPI(d *Document) finding.Finding {
	f := finding.Finding{
		Code: codes.OldAPI, Severity: finding.Warning, Object: d.ID,
		Remedy: finding.Remedy{Do: finding.Migrate, IsCertain: true,
			Text: "rewrite them as .spec.runtimePatches"},
	}
	var names []string
	for _, name := range legacy.Fields() {
		path := fieldpath.Fields("spec", name)
		if !d.Has(path) {
			continue
		}
		if names = append(names, "spec."+name); f.Path == nil {
			f.Path, f.Position = path, d.Position(path)
		}
	}
	verb := "is"
	if len(names) > 1 {
		verb = "are"
	}
	since := "2.2"
	if len(names) == 1 && names[0] == "spec."+string(release.PodSpecOverrides) {
		since = "2.1"
	}
	f.Message = fmt.Sprintf("%s %s gone since Trainer %s", strings.Join(names, ", "), verb, since)
	return f
}
