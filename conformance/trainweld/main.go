// Command trainweld is trainweld's answer to the conformance suite: it renders a TrainJob as a release of the Trainer does.
//
//	go build -o bin/answer ./conformance/trainweld
//	go run ./conformance -exec bin/answer
//
// It shows how a program links the library: decode by the API of a release, admit the runtime and the TrainJob, render.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/release"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
)

func main() {
	name := flag.String("release", "", "the release of the Trainer")
	flag.Parse()
	refused, err := answer(*name, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "trainweld:", err)
		os.Exit(2)
	}
	if refused != nil {
		fmt.Fprintln(os.Stderr, refused)
		os.Exit(1)
	}
}
