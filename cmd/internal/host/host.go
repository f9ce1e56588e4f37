// Package host provides the machine to commands: streams, files, signals, the terminal and git.
//
// Its first file to read is host.go.
package host

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"
)

// Program is the command line as a value, which tests run without a process.
type Program struct {
	// Name is the command that the user types. Empty stands for "trainweld".
	Name           string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Files          fs.FS
	// signals are nil for a program that handles none.
	signals *signals
	// Env reads the environment. Nil stands for an empty one.
	Env func(string) string
	// Clock and Terminal control the progress display: the time, and whether standard error is a
	// terminal.
	Clock    func() time.Time
	Terminal bool
	// Size reports whether an output is a terminal, and its width. If it is nil, no output is a
	// terminal.
	Size func(io.Writer) (columns int, ok bool)
	// Tag is the release and Revision the commit of the build. Each is empty if unknown.
	Tag, Revision string
}

// New returns the program of this process. From then on, signals end the process.
func New() *Program {
	return &Program{
		signals: catchSignals(),
		Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Files: Files{},
		Env:   os.Getenv,
		Clock: time.Now, Terminal: isTerminal(os.Stderr),
		Size: hostTerminal,
	}
}

// Inputs returns the file system and the standard input of commands.
func (p *Program) Inputs() (fs.FS, io.Reader) { return p.Files, p.Stdin }

// Getenv returns an environment variable.
func (p *Program) Getenv(name string) string {
	if p.Env == nil {
		return ""
	}
	return p.Env(name)
}

// Version returns the version of the release or of the module.
func (p *Program) Version() string {
	if p.Tag != "" {
		return p.Tag
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(info.Main.Version, "(devel)")
	}
	return "(devel)"
}

// isTerminal reports whether the file is a terminal that supports control sequences.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// Files is the machine's file system, for paths of any form.
type Files struct{}

func (Files) Open(name string) (fs.File, error)          { return os.Open(name) }
func (Files) ReadFile(name string) ([]byte, error)       { return os.ReadFile(name) }
func (Files) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (Files) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// HeapLimit is the size of the heap, in bytes, from which on the collector works as often as it
// must.
const HeapLimit = 320 << 20

// CollectLess lets the heap grow to four times the live data before a garbage collection, up to
// HeapLimit. It holds until restore is called. A build or a check leaves much garbage and little
// data, so collections take a quarter of the time. A set GOGC or GOMEMLIMIT takes precedence.
func CollectLess() (restore func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	const percent = 300
	wasPercent, wasLimit := debug.SetGCPercent(percent), debug.SetMemoryLimit(HeapLimit)
	if wasPercent > percent {
		wasPercent = 100 // the program postponed its first collection, which has come since
	}
	return func() {
		debug.SetGCPercent(wasPercent)
		debug.SetMemoryLimit(wasLimit)
	}
}
