// This program draws objects, and records how each minor version of Kubernetes takes them: it
// compiles the own types, defaults and validation of each version in a temporary folder, one after
// the other, which takes minutes. With names of versions, it asks these again, and keeps what the
// others answered to the same objects.
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
	all := minors.Record{Drawn: minors.Drawn(), Answers: map[string][][]int{}}
	if before, err := os.ReadFile(record); err == nil && len(names) > 0 {
		if old, err := minors.Unpack(before); err == nil && old.Drawn == all.Drawn {
			all = old // of the same objects
		}
	}
	for _, v := range minors.Versions() {
		if len(names) > 0 && !slices.Contains(names, v.Name) {
			continue
		}
		answers, err := answersOf(v, objects.Bytes())
		if err != nil {
			return fmt.Errorf("Kubernetes %s: %w", v.Name, err)
		}
		all.Add(v.Name, answers)
	}
	packed, err := all.Pack()
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

// writeModule writes a go.mod with the requirements of k8s.io/kubernetes. Its staging folders
// become the modules of the same release, and a module that is not to be had an empty one: nothing
// that the oracle links imports it. Of k8s.io/cloud-provider, validation needs the number of a
// port, and three quarters of what would be compiled hang on its import.
func writeModule(v minors.Version, dir string) error {
	from, err := v.Dir("k8s.io/kubernetes")
	if err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	text, err := edit(dir, "-json")
	if err != nil {
		return err
	}
	var written struct {
		Replace []struct{ Old struct{ Path string } }
	}
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	args := []string{"-module=oracle",
		"-require=k8s.io/kubernetes@" + v.Module("k8s.io/kubernetes")}
	for _, r := range written.Replace {
		path := r.Old.Path
		isCloud := path == "k8s.io/cloud-provider"
		if _, err := v.Dir(path); err == nil && !isCloud {
			args = append(args, "-replace="+path+"="+path+"@"+v.Module(path))
			continue
		}
		empty := filepath.Join(dir, "empty", filepath.Base(path))
		files := map[string]string{"go.mod": "module " + path + "\n"}
		if isCloud {
			files["options/ports.go"] = "package options\n\n" +
				"const CloudControllerManagerWebhookPort = 10260\n"
		}
		for name, text := range files {
			name = filepath.Join(empty, name)
			err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700),
				os.WriteFile(name, []byte(text), 0o600))
			if err != nil {
				return err
			}
		}
		args = append(args, "-replace="+path+"=./empty/"+filepath.Base(path))
	}
	_, err = edit(dir, args...)
	return err
}

// edit runs go mod edit in a folder.
func edit(dir string, args ...string) ([]byte, error) {
	run := exec.Command("go", append([]string{"mod", "edit"}, args...)...)
	run.Dir, run.Stderr = dir, os.Stderr
	return run.Output()
}
