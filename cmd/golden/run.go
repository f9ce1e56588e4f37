package golden

import (
	"errors"
	"flag"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/wholefile"
)

// updateFlag is the name of the flag, as in most packages with golden files.
const updateFlag = "update"

// UpdateFlag defines the flag -update for the tests of a package, unless it exists, and reports
// whether it existed. Call it before flags are parsed: in the initialization of a package-level
// variable of the test, as in
//
//	var _ = golden.UpdateFlag()
//
// or in TestMain. A package that defines a boolean flag of this name needs no call: Run reads that
// flag. Importing this package defines nothing.
func UpdateFlag() bool {
	if flag.Lookup(updateFlag) != nil {
		return true
	}
	flag.Bool(updateFlag, false, "write the renderings of golden tests")
	return false
}

// updating returns the value of the flag.
func updating() bool {
	f := flag.Lookup(updateFlag)
	if f == nil {
		return false
	}
	getter, ok := f.Value.(flag.Getter)
	if !ok {
		return false
	}
	on, _ := getter.Get().(bool)
	return on
}

// Run runs every case in a folder and below it as a parallel subtest. Each folder on the path of a
// case is also a subtest of that name. So go test -run finds the case by its path. With the flag
// -update (see UpdateFlag), Run writes the rendered files instead of failing. It fails without any
// case.
//
// A file may be a link to another file of its repository, or without a repository of the working
// directory. A link out of it fails.
//
// At most one Options may follow, such as Options{ShowValues: true}.
func Run(t *testing.T, dir string, opts ...Options) {
	t.Helper()
	if len(opts) > 1 {
		t.Fatal("golden.Run takes at most one Options")
	}
	cases, err := Find(host.BoundedFolder(dir), filepath.ToSlash(dir))
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	if len(cases) == 0 {
		t.Fatalf("there is no case in %s: a case is a folder with a TrainJob, and with want", dir)
	}
	runTree(t, runner{dir, append(opts, Options{})[0]}, "", cases)
}

// runner runs the cases below a directory.
type runner struct {
	dir  string
	opts Options
}

// runTree runs the cases of a folder, which must be sorted.
func runTree(t *testing.T, r runner, folder string, cases []*Case) {
	for len(cases) > 0 {
		if c := cases[0]; c.Name == folder || c.Name == "." {
			t.Run("case", func(t *testing.T) { r.run(t, c) })
			cases = cases[1:]
			continue
		}
		step, _, _ := strings.Cut(
			strings.TrimPrefix(strings.TrimPrefix(cases[0].Name, folder), "/"), "/")
		below := path.Join(folder, step)
		n := 0
		for n < len(cases) &&
			(cases[n].Name == below || strings.HasPrefix(cases[n].Name, below+"/")) {
			n++
		}
		these := cases[:n]
		cases = cases[n:]
		t.Run(step, func(t *testing.T) {
			if len(these) == 1 && these[0].Name == below {
				r.run(t, these[0])
				return
			}
			runTree(t, r, below, these)
		})
	}
}

func (of runner) run(t *testing.T, c *Case) {
	t.Parallel()
	r, err := c.Run(of.opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Warnings {
		t.Logf("%s: %s", w.Position, w.Message)
	}
	if updating() && r.Updatable() {
		if err := Update(of.dir, r); err != nil {
			t.Fatal(err)
		}
		for _, change := range r.Changes {
			t.Logf("wrote %s", change.File)
		}
		return
	}
	for _, f := range r.Failures {
		var b strings.Builder
		for _, l := range f.Lines {
			b.WriteString("\n    " + l.String())
		}
		message := f.Message
		if f.Update != "" {
			message += "; -" + updateFlag + " " + f.Update
		}
		if f.IsMasked {
			message += "; Options.ShowValues shows the masked values"
		}
		t.Errorf("%s: %s%s", f.Position, message, b.String())
	}
}

// Update writes the changes of a result below the searched folder, so that want has the rendered
// files. It does not touch unchanged files, or files of other cases. Each file is whole at every
// moment. An error, or the end of the program, may come between two files; an error names the files
// that were changed before it.
//
// It follows no links below the folder. It replaces a link in the place of a file. A link in the
// place of want is an error.
func Update(folder string, r *Result) (err error) {
	if r == nil || r.Case == nil {
		return errors.New("the run has no result of a case")
	}
	if len(r.Changes) == 0 {
		return nil
	}
	dir, err := wholefile.Open(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	changes := wholefile.Changes{Dir: dir}
	for _, c := range r.Changes {
		if c.New != nil {
			changes.Put(c.Name, c.New)
		} else {
			changes.Delete(c.Name)
		}
	}
	return wholefile.Write([]wholefile.Changes{changes}, func() error {
		return nil
	}, func(int, int) {})
}
