// Command trainweld computes, offline, the objects that a Kubeflow TrainJob becomes in a cluster.
// See the README, or run it with --help.
package main

import (
	"os"

	"github.com/trainweld/trainweld/cmd/internal/cli"
)

// revision is the revision of the sources. The Makefile's build sets it, because a binary without
// stamping does not record it. A release sets tag.
var revision, tag string

func main() { os.Exit(cli.Run(cli.Start(tag, revision), os.Args)) }
