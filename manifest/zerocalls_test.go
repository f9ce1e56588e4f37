package manifest_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/manifest"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		manifest.ApplyEdits, manifest.Decode, manifest.DecodeAs, manifest.DecodeExpanded, manifest.DecodeKinds, manifest.DecodePatches, manifest.Encode,
		manifest.Files, manifest.HasAliases, manifest.Lines, manifest.MayHoldRuntime, manifest.ParseFormat, manifest.Quotes, manifest.Read,
		manifest.Snapshot, manifest.Tolerate,
		new(manifest.Document), new(manifest.Encoder), new(manifest.Format),
	)
}
