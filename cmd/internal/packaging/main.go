// Command release makes a release of the program, tags one, and prints licenses:
//
//	go run . build -version v0.1.0 -revision "$(git rev-parse HEAD)" -sources ../../.. -output ../../../dist
//	go run . tag -sources ../../.. v0.1.0
//	go run . licenses -sources ../../.. -program ./playground -platform js/wasm
//	go run . proxy -sources ../../.. -output FOLDER -repository CLONE
//
// build writes an archive for each platform, an image, the manifest for krew, an SBOM, and the checksums of all. The same sources, flags
// and toolchain always give the same bytes. The command proxy gives the tree a version, and writes its modules as GOPROXY=file://FOLDER
// has them. This program is a module of its own. So the library does not depend on the modules that a release needs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "release: %v\n", err)
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "build":
		return runBuild(args)
	case "tag":
		return runTag(args)
	case "proxy":
		return runProxy(args, os.Stdout)
	case "licenses":
		return runLicenses(args, os.Stdout)
	default:
		return fmt.Errorf("unknown command %q: must be build, tag, proxy or licenses", name)
	}
}

func runBuild(args []string) error {
	r := release{program: program, platforms: platforms}
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "the version that the program prints, such as v1.2.3 (required)")
	flags.StringVar(&r.revision, "revision", "unknown", "the revision that the program prints")
	flags.StringVar(&r.tags, "tags", "", "the build tags")
	seconds := flags.Int64("time", earliest.Unix(), "the time of the files, in seconds since 1970")
	flags.StringVar(&r.sources, "sources", ".", "the root of the repository")
	flags.StringVar(&r.output, "output", "dist", "the directory to write to")
	only := flags.String("platforms", "", "only these platforms, such as linux/amd64,darwin/arm64; writes no manifest for krew")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	r.time = time.Unix(*seconds, 0).UTC()
	if err := r.limit(*only); err != nil {
		return err
	}
	return r.make()
}

func runTag(args []string) error {
	flags := flag.NewFlagSet("tag", flag.ContinueOnError)
	sources := flags.String("sources", ".", "the root of the repository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("tag takes one version, such as v1.2.3")
	}
	return repository{*sources}.tag(flags.Arg(0), time.Now().UTC())
}

func runProxy(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	sources := flags.String("sources", ".", "the root of the repository")
	output := flags.String("output", "", "the folder to write to (required)")
	tagged := flags.String("repository", "", "a new folder for the repository with the version (required)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 0 || *output == "" || *tagged == "" {
		return errors.New("proxy takes -output and -repository, and no arguments")
	}
	version, err := proxy(*sources, *output, repository{*tagged})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, version)
	return err
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
			return fmt.Errorf("unknown platform %q: must be one of %v", name, platforms)
		}
	}
	return nil
}
