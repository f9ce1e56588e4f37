// Command trainweld computes, offline, what a Kubeflow TrainJob becomes in a cluster. See the README,
// or run it with --help.
package main

import (
	"os"

	"github.com/trainweld/trainweld/cmd/internal/cli"
)

// revision is set by the Makefile's build: the revision that a binary was built from is not
// recorded where stamping is switched off. tag is set by its release.
var revision, tag string

func main() { os.Exit(cli.Run(cli.Start(tag, revision), os.Args)) }
