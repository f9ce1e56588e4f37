// Command trainweld computes, offline, what a Kubeflow TrainJob becomes in a cluster. See the README,
// or run it with --help.
package main

import (
	"os"
	"time"
)

func main() {
	caught := catchSignals()
	postponeCollection()
	name, args := invoked(os.Args[0], os.Args[1:])
	p := program{
		name: name, interruptions: caught,
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, files: hostFiles{}, env: os.Getenv,
		clock: time.Now, terminal: isTerminal(os.Stderr), color: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "",
		size: hostTerminal,
	}
	os.Exit(p.run(args))
}

// isTerminal says whether a person sees the file and its terminal does what it is told.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
