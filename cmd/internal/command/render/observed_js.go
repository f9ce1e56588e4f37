package render

import (
	"errors"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/release"
)

func readDump(*host.Program, workspace.Flags, string, *pipeline.Queue) (observedDump, finding.List, error) {
	return nil, nil, errors.New("--observed: a browser has no dump of a cluster")
}

// admitRuntime returns nothing: the browser's program does not link the rules of admission.
func admitRuntime(*release.Release, map[string]any) finding.List { return nil }
