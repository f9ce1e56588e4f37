package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// runLicenses prints the licenses and notices of a program that is built elsewhere.
func runLicenses(args []string, w io.Writer) error {
	var r release
	flags := flag.NewFlagSet("licenses", flag.ContinueOnError)
	flags.StringVar(&r.sources, "sources", ".", "the root of the repository")
	flags.StringVar(&r.program, "program", program, "the package of the program")
	name := flags.String("platform", "", "the platform of the program, such as js/wasm (required)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	goos, arch, ok := strings.Cut(*name, "/")
	if !ok || flags.NArg() > 0 {
		return fmt.Errorf("licenses takes a platform such as js/wasm, got %q", *name)
	}
	r.platforms = []platform{{goos, arch}}
	builds, err := r.plan()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, notices(builds[0].modules))
	return err
}

// notices returns the texts of all modules. A text that several modules share appears once, below the list of these.
func notices(modules []module) string {
	of := map[string][]string{}
	var order []string
	for _, m := range modules {
		for _, t := range m.texts {
			text := strings.TrimSpace(string(t.data))
			if of[text] == nil {
				order = append(order, text)
			}
			of[text] = append(of[text], strings.TrimSpace(fmt.Sprintf("%s %s", m.path, m.version))+": "+t.name)
		}
	}
	var b strings.Builder
	for _, text := range order {
		fmt.Fprintf(&b, "%s\n\n%s\n\n%s\n\n", strings.Join(of[text], "\n"), text, strings.Repeat("-", 80))
	}
	return b.String()
}
