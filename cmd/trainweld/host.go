package main

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"
)

// program is the command line as a value: a test runs it without a process.
type program struct {
	// name is what a user types to run the program: "trainweld", which also stands for none.
	name           string
	stdin          io.Reader
	stdout, stderr io.Writer
	files          fs.FS
	// interruptions are the signals that are listened to while there is something to undo; nil for none.
	interruptions interruptions
	// env reads the environment, which is empty where it is nil.
	env func(string) string
	// clock and terminal are for progress: the time, and whether a person sees standard error. color says
	// that standard output shows colours.
	clock           func() time.Time
	terminal, color bool
	// size says of an output whether it is a terminal and how wide; where it is nil, none is.
	size func(io.Writer) (columns int, ok bool)
	// tag is the release and revision the commit that the program was built from, each "" if the build did not say.
	tag, revision string
}

// newProgram returns the program of this process, and lets signals end it.
func newProgram() *program {
	return &program{
		interruptions: catchSignals(),
		stdin:         os.Stdin, stdout: os.Stdout, stderr: os.Stderr, files: hostFiles{}, env: os.Getenv,
		clock: time.Now, terminal: isTerminal(os.Stderr), color: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "",
		size: hostTerminal,
	}
}

// getenv is a variable of the environment.
func (p *program) getenv(name string) string {
	if p.env == nil {
		return ""
	}
	return p.env(name)
}

// version is the version of the release, or of the module, that the program was built from.
func (p *program) version() string {
	if p.tag != "" {
		return p.tag
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(info.Main.Version, "(devel)")
	}
	return "(devel)"
}

// isTerminal says whether a person sees the file and its terminal does what it is told.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// hostFiles is the file system of the machine, for paths of any form.
type hostFiles struct{}

func (hostFiles) Open(name string) (fs.File, error)          { return os.Open(name) }
func (hostFiles) ReadFile(name string) ([]byte, error)       { return os.ReadFile(name) }
func (hostFiles) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (hostFiles) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
