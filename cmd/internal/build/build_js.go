package build

import (
	"errors"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
)

// Serve does nothing: a browser starts no process.
func Serve() {}

// Parts calls take once. A browser has no directories to build, so it returns an error for flags that ask for builds.
func Parts(_ *host.Program, flags workspace.Flags, take func(workspace.Flags) error) error {
	if flags.Builds() {
		return exit.Usage(errors.New("-k and --build: a browser has no directories to build"))
	}
	return take(flags)
}

// Pairs calls take once, as Parts does.
func Pairs(p *host.Program, old, new Version, take func(old, new workspace.Flags) error) error {
	return Parts(p, new.Flags, func(part workspace.Flags) error { return take(old.Flags, part) })
}
