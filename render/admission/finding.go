package admission

import (
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// findings is the report so far of an admission.
type findings struct{ codes.Report }

// reject adds an error.
func (fs *findings) reject(code finding.Code, object fieldpath.Object, path fieldpath.Path, message,
	help string) {
	fs.Add(finding.Finding{Code: code, Severity: finding.Error, Object: object, Path: path,
		Message: message, Remedy: finding.Remedy{Text: help}})
}
