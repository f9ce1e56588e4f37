package migrate

import (
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/repair"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render/manifest"
)

// overrides returns the changes that rewrite a TrainJob of Trainer 2.1.
func (m *migration) overrides(d *manifest.Document) []manifest.Change {
	at := slices.IndexFunc(m.Jobs, func(j workspace.Job) bool { return j.Document == d })
	if at < 0 {
		return nil // its own findings give the reason
	}
	changes, found := repair.Migrate(m.Input, m.Jobs[at], m.flags.manager)
	m.findings = append(m.findings, found...)
	return changes
}
