package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// program is the package of the released program, in its module.
const program = "./trainweld"

// stdlib names the standard library among the modules, as databases of vulnerabilities do.
const stdlib = "stdlib"

// module is a module that a binary contains.
type module struct {
	path, version string
	// own marks the module of the program itself.
	own bool
	// texts are its licenses and notices, by name.
	texts []text
	// licenses are the SPDX identifiers of its licenses, sorted.
	licenses []string
}

// text is a license or a notice. Its name is the path in the module.
type text struct {
	name string
	data []byte
}

// legal matches the names of licenses and of the notices that go with a copy; isLicense matches only the former.
var legal = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|patents)([.-].*)?$`)

func isLicense(name string) bool {
	name = strings.ToLower(filepath.Base(name))
	return !strings.HasPrefix(name, "notice") && !strings.HasPrefix(name, "patents")
}

// goPackage is a package as go list describes it.
type goPackage struct {
	ImportPath, Dir string
	Standard        bool
	Module          *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// modules returns the modules with packages in the program of a platform, with the licenses of those packages. It builds nothing.
// The program's own module comes first, with the version of the release.
func (r release) modules(p platform) ([]module, error) {
	packages, err := r.packages(p)
	if err != nil {
		return nil, err
	}
	std, err := r.standardLibrary(p)
	if err != nil {
		return nil, err
	}
	folders, roots, found := map[string][]string{}, map[string]string{}, map[string]module{}
	for _, l := range packages {
		if l.Standard || l.Module == nil {
			continue
		}
		m, root := module{path: l.Module.Path, version: l.Module.Version, own: isOwn(l.Module.Path)}, l.Module.Dir
		if m.own { // the siblings are one module here: their license lies in the root
			m.path, m.version = core, r.version
			if root, err = filepath.Abs(r.sources); err != nil {
				return nil, err
			}
		}
		found[m.path], roots[m.path] = m, root
		folders[m.path] = append(folders[m.path], l.Dir)
	}
	all := []module{std}
	for path, m := range found {
		if m.texts, err = texts(roots[path], folders[path]); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int {
		if a.own != b.own {
			return map[bool]int{true: -1, false: 1}[a.own]
		}
		return strings.Compare(a.path, b.path)
	})
	return all, nil
}

// packages lists every package that is linked for a platform.
func (r release) packages(p platform) ([]goPackage, error) {
	out, err := r.goCommand(p, "list", "-deps", "-json=ImportPath,Dir,Standard,Module", "-tags="+r.tags, r.program)
	if err != nil {
		return nil, err
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l goPackage
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, l)
	}
}

// standardLibrary returns the library of the toolchain that builds the sources.
func (r release) standardLibrary(p platform) (module, error) {
	out, err := r.goCommand(p, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return module{}, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	found, err := texts(root, []string{root})
	return module{path: stdlib, version: strings.TrimPrefix(version, "go"), texts: found}, err
}

// texts returns the licenses and notices in the folders of a module, and in the folders above.
func texts(root string, folders []string) ([]text, error) {
	seen := map[string]bool{}
	var found []text
	for _, folder := range folders {
		for ; !seen[folder]; folder = filepath.Dir(folder) {
			seen[folder] = true
			here, err := textsIn(root, folder)
			if err != nil {
				return nil, err
			}
			found = append(found, here...)
			if folder == root {
				break
			}
		}
	}
	slices.SortFunc(found, func(a, b text) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

func textsIn(root, folder string) ([]text, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var found []text
	for _, file := range files {
		if file.IsDir() || !legal.MatchString(file.Name()) || filepath.Ext(file.Name()) == ".go" {
			continue
		}
		name := filepath.Join(folder, file.Name())
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if name, err = filepath.Rel(root, name); err != nil {
			return nil, err
		}
		found = append(found, text{filepath.ToSlash(name), data})
	}
	return found, nil
}

// goCommand runs the go command in the program's module for a platform, and returns its output.
func (r release) goCommand(p platform, args ...string) ([]byte, error) {
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	file, err := withSiblings(r.sources, work)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(r.sources, "cmd")
	// Flags, experiments, instruction levels and modules of FIPS 140 would change the binary.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch,
		"GOFLAGS=-modfile="+file, "GOEXPERIMENT=", "GOFIPS140=off", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return out, nil
}
