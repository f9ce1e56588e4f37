package build

import (
	"io/fs"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
)

// Version is one of two versions to build.
type Version struct {
	Files fs.FS
	Flags workspace.Flags
	// Root is the directory or the file that only this version reads, or "". Directories below the roots pair up.
	Root string
}
