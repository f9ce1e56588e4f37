// This program draws objects, and records how each minor version of Kubernetes takes them: it
// compiles the own types, defaults and validation of each version in a temporary folder, one after
// the other, which takes minutes. With names of versions, it records these alone.
//
//	cd fuzz && GOWORK=off go run ./minors/record [1.37 ...]
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/trainweld/trainweld/fuzz/minors"
)

const (
	oracle = "minors/testdata/oracle"
	record = "minors/testdata/answers.json.gz"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(names []string) error {
	var objects bytes.Buffer
	for i := range uint64(minors.Count) {
		objects.Write(append(minors.Draw(i).JSON(), '\n'))
	}
	all := map[string][]minors.Answer{}
	for _, v := range minors.Versions() {
		if len(names) > 0 && !slices.Contains(names, v.Name) {
			continue
		}
		answers, err := answersOf(v, objects.Bytes())
		if err != nil {
			return fmt.Errorf("Kubernetes %s: %w", v.Name, err)
		}
		all[v.Name] = answers
	}
	packed, err := minors.Pack(all)
	if err != nil {
		return err
	}
	return os.WriteFile(record, packed, 0o644)
}

// answersOf compiles the oracle of a version, and asks it.
func answersOf(v minors.Version, objects []byte) ([]minors.Answer, error) {
	dir, err := os.MkdirTemp("", "minors")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	since := "before37.go"
	if v.Name == "1.37" {
		since = "since37.go"
	}
	for _, name := range []string{"main.go", since} {
		text, err := os.ReadFile(filepath.Join(oracle, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := writeModule(v, dir); err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-mod=mod", "-o", "oracle", ".")
	build.Dir, build.Stderr = dir, os.Stderr
	build.Env = append(os.Environ(), "GOWORK=off")
	if err := build.Run(); err != nil {
		return nil, err
	}
	ask := exec.Command(filepath.Join(dir, "oracle"))
	ask.Stdin, ask.Stderr = bytes.NewReader(objects), os.Stderr
	out, err := ask.Output()
	if err != nil {
		return nil, err
	}
	var answers []minors.Answer
	for line := range bytes.Lines(out) {
		var a minors.Answer
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	if len(answers) != minors.Count {
		err = errors.New("it did not answer all")
	}
	return answers, err
}

var (
	required = regexp.MustCompile(`(?s)^(?:.*?\n)?(go \S+\n).*?(require \(.*\n\)\n)\n?(?:replace|$)`)
	staged   = regexp.MustCompile(`(k8s\.io/[a-z0-9-]+) => \./staging`)
)

// writeModule writes a go.mod with the requirements of k8s.io/kubernetes. Its staging folders become
// the modules of the same release, and a module that is not to be had an empty one: nothing that the
// oracle links imports it.
func writeModule(v minors.Version, dir string) error {
	from, err := v.Dir("k8s.io/kubernetes")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		return err
	}
	parts := required.FindSubmatch(text)
	if parts == nil {
		return errors.New("its go.mod has no requirements")
	}
	out := bytes.NewBufferString("module oracle\n\n")
	out.Write(append(parts[1], parts[2]...))
	fmt.Fprintf(out, "require k8s.io/kubernetes %s\nreplace (\n", v.Module("k8s.io/kubernetes"))
	for _, m := range staged.FindAllSubmatch(text, -1) {
		path := string(m[1])
		if _, err := v.Dir(path); err == nil {
			fmt.Fprintf(out, "%s => %s %s\n", path, path, v.Module(path))
			continue
		}
		empty := filepath.Join(dir, "empty", filepath.Base(path))
		if err := os.MkdirAll(empty, 0o700); err != nil {
			return err
		}
		module := []byte("module " + path + "\n")
		if err := os.WriteFile(filepath.Join(empty, "go.mod"), module, 0o600); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s => ./empty/%s\n", path, filepath.Base(path))
	}
	fmt.Fprintln(out, ")")
	sums, err := os.ReadFile(filepath.Join(from, "go.sum"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600)
	}
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "go.mod"), out.Bytes(), 0o600))
}
