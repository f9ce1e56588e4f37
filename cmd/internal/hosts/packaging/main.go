// Command packaging makes what goreleaser and the go command do not: it tags a release, and writes
// the documents of an archive.
//
//	go run ./packaging tag ../../.. v0.1.0
//	go run ./packaging documents ../../../bin/documents
//
// It is a module of its own, so that the program does not depend on what only a release needs.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/trainweld/trainweld/cmd/internal/cli"
	"github.com/trainweld/trainweld/cmd/internal/host"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "tag":
		return (&repository{root: args[1]}).tag(args[2], time.Now().UTC())
	case len(args) == 2 && args[0] == "documents":
		return documents(args[1])
	default:
		return errors.New("usage: packaging tag REPOSITORY VERSION, or packaging documents FOLDER")
	}
}

// documents writes the completion files and the man pages of the program to a folder.
func documents(folder string) error {
	completions := filepath.Join(folder, "completions")
	man := filepath.Join(folder, "man")
	for _, into := range []string{completions, man} {
		if err := os.MkdirAll(into, 0o777); err != nil {
			return err
		}
	}
	for shell, file := range map[string]string{
		"bash": "trainweld.bash", "zsh": "_trainweld", "fish": "trainweld.fish",
		"powershell": "trainweld.ps1",
	} {
		var out strings.Builder
		root := cli.Root(
			&host.Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
				Files: host.Files{}}, nil)
		root.SetArgs([]string{"completion", shell})
		if err := root.Execute(); err != nil {
			return fmt.Errorf("completion %s: %w", shell, err)
		}
		if err := os.WriteFile(filepath.Join(completions, file), []byte(out.String()),
			0o666); err != nil {
			return err
		}
	}
	root := cli.Root(&host.Program{Files: host.Files{}}, nil)
	cli.AddAddresses(root)
	root.DisableAutoGenTag = true // it has the day, and the same sources give the same bytes
	return doc.GenManTree(root, &doc.GenManHeader{Source: "trainweld"}, man)
}
