// Package host is what the machine gives to a command: streams, files, signals, the terminal, and git.
package host

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"
)

// Program is the command line as a value: a test runs it without a process.
type Program struct {
	// Name is what a user types to run the program: "trainweld", which also stands for none.
	Name           string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Files          fs.FS
	// interruptions are the signals that are listened to while there is something to undo; nil for none.
	interruptions interruptions
	// Env reads the environment, which is empty where it is nil.
	Env func(string) string
	// Clock and Terminal are for progress: the time, and whether a person sees standard error. Color says
	// that standard output shows colours.
	Clock           func() time.Time
	Terminal, Color bool
	// Size says of an output whether it is a terminal and how wide; where it is nil, none is.
	Size func(io.Writer) (columns int, ok bool)
	// Tag is the release and revision the commit that the program was built from, each "" if the build did not say.
	Tag, Revision string
}

// New returns the program of this process, and lets signals end it.
func New() *Program {
	return &Program{
		interruptions: catchSignals(),
		Stdin:         os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Files: Files{}, Env: os.Getenv,
		Clock: time.Now, Terminal: isTerminal(os.Stderr), Color: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "",
		Size: hostTerminal,
	}
}

// Inputs returns the files and the standard input that commands read.
func (p *Program) Inputs() (fs.FS, io.Reader) { return p.Files, p.Stdin }

// Getenv is a variable of the environment.
func (p *Program) Getenv(name string) string {
	if p.Env == nil {
		return ""
	}
	return p.Env(name)
}

// Version is the version of the release, or of the module, that the program was built from.
func (p *Program) Version() string {
	if p.Tag != "" {
		return p.Tag
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

// Files is the file system of the machine, for paths of any form.
type Files struct{}

func (Files) Open(name string) (fs.File, error)          { return os.Open(name) }
func (Files) ReadFile(name string) ([]byte, error)       { return os.ReadFile(name) }
func (Files) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (Files) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
