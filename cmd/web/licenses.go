package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// licenses returns the licenses of all code in the built files. The program that checks has all code of the other one. Modules of Go,
// which cmd/internal/packaging accepts, come before npm's.
func licenses() ([]byte, error) {
	list := exec.Command("go", "run", ".", "licenses", "-sources", "../../..", "-program", "./playground/checks", "-platform", "js/wasm")
	list.Dir, list.Stderr, list.Env = filepath.Join(repository, "cmd", "internal", "packaging"), os.Stderr, append(os.Environ(), "GOWORK=off")
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("the licenses of the program for browsers: %w", err)
	}
	packages, err := packagesOf(filepath.Join(repository, "cmd", "web"), "src/playground.ts")
	if err != nil {
		return nil, err
	}
	for _, name := range packages {
		license, err := os.ReadFile(filepath.Join(repository, "cmd", "web", "node_modules", filepath.FromSlash(name), "LICENSE"))
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "%s: LICENSE\n\n%s\n\n%s\n\n", name, strings.TrimSpace(string(license)), strings.Repeat("-", 80))
	}
	return text, nil
}

// packagesOf returns the packages of npm that a source contains once it is bundled, sorted.
func packagesOf(folder, source string) ([]string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{EntryPoints: []string{source}, AbsWorkingDir: folder, Bundle: true, Metafile: true, Outfile: "out.js"})
	if len(result.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	var made struct{ Inputs map[string]any }
	if err := json.Unmarshal([]byte(result.Metafile), &made); err != nil {
		return nil, err
	}
	var packages []string
	for file := range made.Inputs {
		_, path, ok := strings.Cut(file, "node_modules/")
		if !ok {
			continue
		}
		steps := strings.SplitN(path, "/", 3)
		name := steps[0]
		if strings.HasPrefix(name, "@") {
			name += "/" + steps[1]
		}
		packages = append(packages, name)
	}
	slices.Sort(packages)
	return slices.Compact(packages), nil
}
