// Command trainweld computes, offline, what a Kubeflow TrainJob becomes in a cluster. See the README,
// or run it with --help.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// Without this, writing to a pipe that nobody reads kills the process before it can say so.
	signal.Ignore(syscall.SIGPIPE)
	p := program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, files: hostFiles{}}
	os.Exit(p.run(os.Args[1:]))
}
