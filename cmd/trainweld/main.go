// Command trainweld computes, offline, what a Kubeflow TrainJob becomes in a cluster. See the README,
// or run it with --help.
package main

import "os"

func main() {
	p := program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, files: hostFiles{}}
	os.Exit(p.run(os.Args[1:]))
}
