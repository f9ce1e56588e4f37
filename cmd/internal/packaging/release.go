package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// platform is the operating system and architecture of a binary, in the names of Go and krew.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// archive returns the name of the platform's archive. Windows users get a zip file.
func (p platform) archive() string {
	return fmt.Sprintf("trainweld-%s-%s%s", p.os, p.arch, map[bool]string{true: ".zip", false: ".tar.gz"}[p.os == "windows"])
}

// binary returns the name of the program in the archive.
func (p platform) binary() string {
	if p.os == "windows" {
		return "trainweld.exe"
	}
	return "trainweld"
}

var platforms = []platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

const (
	// checksums names the file for `sha256sum --check`.
	checksums = "SHA256SUMS"
	// homepage is the address of the project, and downloads is the address of its releases.
	homepage  = "https://github.com/trainweld/trainweld"
	downloads = homepage + "/releases/download/"
)

// earliest is the earliest time of a file in a zip archive.
var earliest = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// release is a build with its sources and its output.
type release struct {
	version, revision, tags string
	// program is the package of the program.
	program string
	// time is the time of every file, so equal files give equal archives.
	time time.Time
	// sources is the root of the repository, and output the directory for the results.
	sources, output string
	platforms       []platform
	// compile returns the binary of a platform. Nil stands for go build.
	compile func(platform) ([]byte, error)
}

// build is a platform's binary with the modules that it contains.
type build struct {
	platform
	binary  []byte
	modules []module
}

// artifact is a file of a release, with the modules within.
type artifact struct {
	name    string
	sum     string
	image   bool
	modules []module
}

// make checks the licenses, and then builds every platform. It writes the checksums last, so they exist only after a complete build.
func (r release) make() error {
	if err := r.validate(); err != nil {
		return err
	}
	if r.compile == nil {
		r.compile = r.goBuild
	}
	if err := os.MkdirAll(r.output, 0o777); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(r.output, checksums)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := removeLayout(filepath.Join(r.output, imageFolder)); err != nil {
		return err
	}
	builds, err := r.plan()
	if err != nil {
		return err
	}
	manual, err := documents(r.version, r.time)
	if err != nil {
		return err
	}
	var made []artifact
	for i := range builds {
		b := &builds[i]
		if b.binary, err = r.compile(b.platform); err != nil {
			return fmt.Errorf("build for %v: %w", b.platform, err)
		}
		a, err := r.writeArchive(*b, manual)
		if err != nil {
			return fmt.Errorf("pack for %v: %w", b.platform, err)
		}
		made = append(made, a)
	}
	return r.finish(builds, made)
}

// finish writes what describes or contains all archives.
func (r release) finish(builds []build, made []artifact) error {
	image, files, err := r.writeImage(builds)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	var sums []string
	for _, a := range made {
		sums = append(sums, a.sum+"  "+a.name)
	}
	sums = append(sums, files...)
	if len(r.platforms) == len(platforms) {
		line, err := r.writeKrew(made)
		if err != nil {
			return err
		}
		sums = append(sums, line)
	}
	if image != nil {
		made = append(made, *image)
	}
	line, err := r.writeSBOM(made)
	if err != nil {
		return err
	}
	sums = append(sums, line)
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	_, err = r.write(checksums, []byte(strings.Join(sums, "\n")+"\n"))
	return err
}

// validate returns an error for a version or a time that the files cannot have.
func (r release) validate() error {
	for _, v := range []struct{ flag, value string }{{"-version", r.version}, {"-revision", r.revision}} {
		if !regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]*$`).MatchString(v.value) {
			return fmt.Errorf("%s: invalid value %q: must be letters, digits, '.', '+', '_' or '-'", v.flag, v.value)
		}
	}
	if r.time.Before(earliest) {
		return fmt.Errorf("-time: %s is too early: must be at least %d", r.time.Format(time.DateOnly), earliest.Unix())
	}
	return nil
}

// plan returns the platforms with their modules. It returns an error if a module's license is not accepted.
func (r release) plan() ([]build, error) {
	known, err := newLicenses()
	if err != nil {
		return nil, err
	}
	var builds []build
	for _, p := range r.platforms {
		all, err := r.modules(p)
		if err != nil {
			return nil, err
		}
		if err := known.identify(all); err != nil {
			return nil, fmt.Errorf("%v: %w", p, err)
		}
		builds = append(builds, build{platform: p, modules: all})
	}
	return builds, nil
}

// goBuild returns the program's static binary. It contains no paths of this machine, and no other version information than r.
func (r release) goBuild(p platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, p.binary())
	stamp := "-s -w -X main.tag=" + r.version + " -X main.revision=" + r.revision
	_, err = r.goCommand(p, "build", "-trimpath", "-buildvcs=false", "-tags="+r.tags, "-ldflags="+stamp, "-o", file, r.program)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

func (r release) writeArchive(b build, manual []entry) (artifact, error) {
	files := append(legalEntries(b.modules), manual...)
	files = append(files, entry{b.platform.binary(), 0o755, b.binary})
	packed, err := pack(b.platform, files, r.time)
	if err != nil {
		return artifact{}, err
	}
	line, err := r.write(b.archive(), packed)
	return artifact{name: b.archive(), sum: line[:sha256.Size*2], modules: b.modules}, err
}

// write writes a file of the release, and returns its line in the checksums.
func (r release) write(name string, data []byte) (string, error) {
	line := fmt.Sprintf("%x  %s", sha256.Sum256(data), name)
	return line, os.WriteFile(filepath.Join(r.output, name), data, 0o666)
}
