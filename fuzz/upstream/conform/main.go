// Command conform answers the conformance suite with the code of each release of the Trainer:
//
//	make oracles
//	go run ./conformance -children -exec bin/conform
//
// It runs in the root of the repository, with the programs of the earlier releases in bin/oracles. With -record the runner writes the answers into the cases.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/release"
)

func main() {
	name := flag.String("release", "", "the release of the Trainer")
	flag.Parse()
	items, refused, err := answer(*name, os.Stdin)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(2)
	case refused != nil:
		fmt.Fprintln(os.Stderr, strings.Join(refused, "\n"))
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}); err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(2)
	}
}

// answer applies the objects of a List, and returns what the controllers of the release make of them, or the reasons of a
// refusal.
func answer(name string, in io.Reader) (items []upstream.Object, refused []string, err error) {
	var list struct{ Items []upstream.Object }
	if err := json.NewDecoder(in).Decode(&list); err != nil {
		return nil, nil, err
	}
	var job, runtime upstream.Object
	for _, item := range list.Items {
		if item["kind"] == "TrainJob" {
			job = item
		} else {
			runtime = item
		}
	}
	if job == nil || runtime == nil {
		return nil, nil, errors.New("the List holds no TrainJob or no runtime")
	}
	u, err := start(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, u.Stop()) }()
	return ask(u, job, runtime)
}

// start starts the code of a release.
func start(name string) (*upstream.Upstream, error) {
	if name != release.Latest().Name {
		return upstream.Start(name, "fuzz/releases", filepath.Join("bin", "oracles"))
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/trainer/v2", "sigs.k8s.io/jobset")
	list.Dir, list.Stderr = "fuzz/upstream", os.Stderr
	out, err := list.Output()
	folders := strings.Fields(string(out))
	if err != nil || len(folders) != 2 {
		return nil, fmt.Errorf("the modules of the latest release are not in the module cache: %w", err)
	}
	return upstream.Latest(oracle.Modules{Trainer: folders[0], JobSet: folders[1]})
}

func ask(u *upstream.Upstream, job, runtime upstream.Object) (items []upstream.Object, refused []string, err error) {
	stored, refused, err := u.Apply(runtime, nil)
	if err != nil || refused != nil {
		return nil, refused, err
	}
	if err := u.Hold(stored); err != nil {
		return nil, nil, err
	}
	stored, refused, err = u.Apply(job, nil)
	if err != nil || refused != nil {
		return nil, refused, err
	}
	outcome, err := u.Render(stored, runtime)
	if err != nil {
		return nil, nil, err
	}
	if outcome.Failed != "" {
		return nil, []string{outcome.Failed}, nil
	}
	for _, object := range outcome.Objects {
		typed, err := upstream.Typed(object)
		if err != nil {
			return nil, nil, err
		}
		items = append(items, typed)
		if typed["kind"] != "JobSet" {
			continue
		}
		children, err := u.Children(object)
		if err != nil {
			return nil, nil, err
		}
		for _, child := range children.Created {
			child["apiVersion"] = versions[fmt.Sprint(child["kind"])]
		}
		items = append(items, children.Created...)
	}
	return items, nil, nil
}

// versions are the API versions of what the JobSet controller creates.
var versions = map[string]string{"Job": "batch/v1", "Service": "v1", "PersistentVolumeClaim": "v1"}
