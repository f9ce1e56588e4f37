package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	modulepath "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// core is the path of the module in the root of the repository.
const core = "github.com/trainweld/trainweld"

// siblings are the folders of the modules that are released together. Each requires those before it.
var siblings = []string{"", "render", "cmd"}

// isOwn reports whether a module is one of the siblings.
func isOwn(module string) bool {
	return slices.ContainsFunc(siblings, func(folder string) bool { return module == path.Join(core, folder) })
}

// named matches a version of a sibling in a go.mod and in go.work.
var named = regexp.MustCompile(`(` + regexp.QuoteMeta(core) + `(?:/\w+)* )v\d[\w.+-]*`)

// naming are the files that name the version of a sibling.
var naming = []string{"go.work", "render/go.mod", "cmd/go.mod"}

// pin commits all changes, with the siblings' versions and checksums in the files that name them. A checksum covers the module's files.
// So it completes each module before the next one names it.
func (r repository) pin(version, message string) error {
	for _, name := range naming {
		if err := r.rewrite(name, func(text string) string { return named.ReplaceAllString(text, "${1}"+version) }); err != nil {
			return err
		}
	}
	if _, err := r.git("commit", "--quiet", "--all", "--message", message); err != nil {
		return err
	}
	sums := ""
	for _, folder := range siblings {
		if folder != "" {
			err := r.rewrite(path.Join(folder, "go.sum"), func(text string) string {
				var lines []string
				for line := range strings.Lines(text) {
					if !isOwn(strings.Fields(line)[0]) {
						lines = append(lines, line)
					}
				}
				for line := range strings.Lines(sums) {
					if required, err := os.ReadFile(filepath.Join(r.root, folder, "go.mod")); err == nil && strings.Contains(string(required), strings.Fields(line)[0]+" ") {
						lines = append(lines, line)
					}
				}
				return inOrder(lines)
			})
			if err != nil {
				return err
			}
			if _, err := r.git("commit", "--quiet", "--all", "--amend", "--no-edit"); err != nil {
				return err
			}
		}
		archive, mod, err := r.moduleFiles(folder, version)
		if err != nil {
			return err
		}
		whole, err := hashOf(archive)
		if err != nil {
			return err
		}
		alone, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(mod)), nil })
		if err != nil {
			return err
		}
		name := path.Join(core, folder) + " " + version
		sums += name + " " + whole + "\n" + name + "/go.mod " + alone + "\n"
	}
	return nil
}

// inOrder returns lines of a go.sum in the order of the go command.
func inOrder(lines []string) string {
	var versions []modulepath.Version
	of := map[modulepath.Version]string{}
	for _, line := range lines {
		fields := strings.Fields(line)
		v := modulepath.Version{Path: fields[0], Version: fields[1]}
		versions, of[v] = append(versions, v), line
	}
	modulepath.Sort(versions)
	var text strings.Builder
	for _, v := range versions {
		text.WriteString(of[v])
	}
	return text.String()
}

// rewrite changes a file of the repository.
func (r repository) rewrite(name string, change func(text string) string) error {
	file := filepath.Join(r.root, name)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(change(string(text))), 0o666)
}

// moduleFiles returns the archive and the go.mod of a sibling, as the go command downloads them, from the last commit.
func (r repository) moduleFiles(folder, version string) (archive, mod []byte, err error) {
	mod, err = os.ReadFile(filepath.Join(r.root, folder, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	err = zip.CreateFromVCS(&out, modulepath.Version{Path: path.Join(core, folder), Version: version}, r.root, "HEAD", folder)
	return out.Bytes(), mod, err
}

// hashOf returns the checksum of a module's archive.
func hashOf(archive []byte) (string, error) {
	file, err := os.CreateTemp("", "module-*.zip")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(archive); err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	return dirhash.HashZip(file.Name(), dirhash.Hash1)
}

// proxy makes a version of the siblings from the files of a working tree that git would commit. It writes the version to a folder, in
// the form of a module proxy. The repository with that version is new. The version follows from the files, so caches of modules never hold another
// tree by its name.
func proxy(sources, output string, r repository) (version string, err error) {
	if err := copyFiles(sources, r.root); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"config", "user.name", "trainweld"}, {"config", "user.email", "trainweld@example.com"}, {"add", "--all"},
	} {
		if _, err := r.git(args...); err != nil {
			return "", err
		}
	}
	tree, err := r.git("write-tree")
	if err != nil {
		return "", err
	}
	version = "v0.0.1-t" + tree[:12] // a number would not begin with zero
	if err := r.pin(version, "release "+version); err != nil {
		return "", err
	}
	for _, folder := range siblings {
		archive, mod, err := r.moduleFiles(folder, version)
		if err != nil {
			return "", err
		}
		info, err := json.Marshal(map[string]any{"Version": version, "Time": earliest.Format(time.RFC3339)})
		if err != nil {
			return "", err
		}
		into := filepath.Join(output, filepath.FromSlash(path.Join(core, folder)), "@v")
		if err := os.MkdirAll(into, 0o777); err != nil {
			return "", err
		}
		for name, data := range map[string][]byte{version + ".zip": archive, version + ".mod": mod, version + ".info": info, "list": []byte(version + "\n")} {
			if err := os.WriteFile(filepath.Join(into, name), data, 0o666); err != nil {
				return "", err
			}
		}
	}
	return version, nil
}

// copyFiles copies the files of a repository that git would commit.
func copyFiles(from, to string) error {
	out, err := repository{from}.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(strings.TrimRight(out, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(from, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // removed in the working tree, or a link in test data
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// withSiblings writes the go.mod and go.sum of the program to a folder, with the siblings replaced by their folders. So a build links the
// same modules as go install does, before there is a version to install. The binary names the folders as they are seen from cmd.
func withSiblings(sources, into string) (file string, err error) {
	data, err := os.ReadFile(filepath.Join(sources, "cmd", "go.mod"))
	if err != nil {
		return "", err
	}
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return "", err
	}
	for _, folder := range siblings[:len(siblings)-1] {
		if err := mod.AddReplace(path.Join(core, folder), "", "../"+folder, ""); err != nil {
			return "", err
		}
	}
	if data, err = mod.Format(); err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(sources, "cmd", "go.sum"))
	if err != nil {
		return "", err
	}
	file = filepath.Join(into, "program.mod")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		return "", err
	}
	return file, os.WriteFile(filepath.Join(into, "program.sum"), sums, 0o666)
}
