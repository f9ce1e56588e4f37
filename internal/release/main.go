// Command release builds the program for every platform, statically, and packs each binary with the
// license:
//
//	go run ./internal/release -version v0.1.0 -revision "$(git rev-parse HEAD)" -output dist
//
// It writes one archive for each platform and their checksums. The same sources, version, revision and toolchain always give
// the same bytes.
package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// checksums names the file for `sha256sum --check`.
const checksums = "SHA256SUMS"

// release is a build with its sources and its output.
type release struct {
	version, revision string
	// sources is the root of the repository, and output the directory for the archives.
	sources, output string
	platforms       []platform
}

func main() {
	r := release{sources: ".", platforms: platforms}
	flag.StringVar(&r.version, "version", "", "the version that the program tells, as v1.2.3 (required)")
	flag.StringVar(&r.revision, "revision", "", "the revision that the program tells")
	flag.StringVar(&r.output, "output", "dist", "the directory to write to")
	only := flag.String("platforms", "", "only these platforms, as linux/amd64,darwin/arm64")
	flag.Parse()
	if err := r.limit(*only); err != nil {
		fail(err)
	}
	if err := r.make(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "release: %v\n", err)
	os.Exit(1)
}

// limit selects the platforms of a list. It returns an error for an unknown platform.
func (r *release) limit(list string) error {
	if list == "" {
		return nil
	}
	r.platforms = nil
	for _, name := range strings.Split(list, ",") {
		found := false
		for _, p := range platforms {
			if p.String() == name {
				r.platforms, found = append(r.platforms, p), true
			}
		}
		if !found {
			return fmt.Errorf("nothing is released for %q; the platforms are %v", name, platforms)
		}
	}
	return nil
}

// make builds and packs every platform. It writes the checksums last, so they exist only after a complete build.
func (r release) make() error {
	if r.version == "" {
		return errors.New("a release has a version: give -version v1.2.3")
	}
	if err := os.MkdirAll(r.output, 0o777); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(r.output, checksums)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	license, err := os.ReadFile(filepath.Join(r.sources, "LICENSE"))
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, p := range r.platforms {
		binary, err := r.build(p)
		if err != nil {
			return fmt.Errorf("build for %v: %w", p, err)
		}
		packed, err := pack(p, []entry{{"LICENSE", 0o644, license}, {p.binary(), 0o755, binary}})
		if err != nil {
			return fmt.Errorf("pack for %v: %w", p, err)
		}
		if err := os.WriteFile(filepath.Join(r.output, p.archive()), packed, 0o666); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(packed), p.archive())
	}
	return os.WriteFile(filepath.Join(r.output, checksums), []byte(sums.String()), 0o666)
}

// build returns the program's static binary. It contains no paths of this machine, and no other version information than r.
func (r release) build(p platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, p.binary())
	stamp := "-s -w -X main.tag=" + r.version + " -X main.revision=" + cmp.Or(r.revision, "unknown")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", file, "./cmd/trainweld")
	cmd.Dir = r.sources
	// GOFLAGS, GOEXPERIMENT and instruction levels would change the binary.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch,
		"GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}
