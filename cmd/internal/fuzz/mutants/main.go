// Command mutants changes the conflicts, the engine or a guard in one place at a time. It runs their tests on each change. It lists the
// changes that no test notices:
//
//	go run ./cmd/internal/fuzz/mutants -deep=false ./conflict ./merge
//
// All mutants are in one build: a number in the environment turns one of them on. A tool that builds one mutant after the other would
// link the laws of package fuzz two thousand times. A first run of each test program finds the mutants that it reaches, and only those
// run with it. The file survivors.txt holds the mutants that may survive, with the reasons. Another one that survives fails the run.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	gobuild "go/build"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// The first variable has the number of the mutant that is on. The second one has the file for the mutants that a run reaches.
const (
	mutantVariable  = "TRAINWELD_MUTANT"
	reachedVariable = "TRAINWELD_MUTANTS_REACHED"
)

func main() {
	workers := flag.Int("workers", max(1, runtime.NumCPU()/2), "test programs at a time")
	accepted := flag.String("accepted", "cmd/internal/fuzz/mutants/survivors.txt", "the file of mutants that may survive")
	only := flag.String("only", "", "only mutants whose name matches this regular expression")
	again := flag.String("again", "", "only the survivors in the output of another run, which is this file")
	deep := flag.Bool("deep", true, "also run the tests that take long, and those of the modules cmd/internal/fuzz/strategic and cmd/internal/fuzz/crds")
	flag.Parse()
	ok, err := start(flag.Args(), *only, *again, *accepted, *workers, *deep)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// start reads the flags and calls run.
func start(folders []string, only, again, accepted string, workers int, deep bool) (bool, error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	chosen := pattern.MatchString
	if again != "" {
		text, err := os.ReadFile(again)
		if err != nil {
			return false, err
		}
		survivors := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, surviving); ok {
				_, name, _ := strings.Cut(rest, ": ")
				survivors[strings.TrimRight(name, "\n")] = true
			}
		}
		chosen = func(name string) bool { return survivors[name] && pattern.MatchString(name) }
	}
	reasons, err := readAccepted(accepted)
	if err != nil {
		return false, err
	}
	return run(context.Background(), os.Stdout, folders, reasons, chosen, workers, deep)
}

// surviving begins the line of a survivor in the output.
const surviving = "survives: "

// run tests the mutants of the packages in some folders, and reports whether the survivors are those accepted.
func run(ctx context.Context, out *os.File, folders []string, reasons map[string]string, chosen func(string) bool, workers int, deep bool) (bool, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	mutants, overlay, err := overlayOf(dir, folders)
	if err != nil {
		return false, err
	}
	areGuards := slices.ContainsFunc(folders, func(folder string) bool { return strings.Contains(filepath.ToSlash(folder), "internal/") })
	programs, err := build(ctx, dir, overlay, deep, areGuards)
	if err != nil {
		return false, err
	}
	for _, p := range programs {
		if err := p.first(ctx, dir, len(mutants)); err != nil {
			return false, err
		}
		fmt.Fprintf(out, "%-40s reaches %4d of %d mutants in %.1f s\n", p.name, p.count(), len(mutants), p.takes.Seconds())
	}
	return report(out, mutants, killersOf(ctx, out, dir, mutants, programs, chosen, workers), reasons, chosen), nil
}

// overlayOf writes the mutated files of some folders, and returns the mutants and the file for go build's -overlay.
func overlayOf(dir string, folders []string) (mutants []Mutant, overlay string, err error) {
	replace := map[string]string{}
	for _, folder := range folders {
		names, texts, err := sources(folder)
		if err != nil {
			return nil, "", err
		}
		consts, err := constants(texts)
		if err != nil {
			return nil, "", err
		}
		for i, name := range names {
			mutated, of, err := mutate(filepath.ToSlash(filepath.Clean(name)), texts[i], len(mutants), consts)
			if err != nil {
				return nil, "", err
			}
			mutants = append(mutants, of...)
			if err := writeOverlay(dir, replace, name, mutated); err != nil {
				return nil, "", err
			}
		}
	}
	for _, folder := range folders {
		if err := writeOverlay(dir, replace, filepath.Join(folder, "mutants_on.go"), switches(filepath.Base(folder), len(mutants))); err != nil {
			return nil, "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return mutants, overlay, os.WriteFile(overlay, data, 0o666)
}

// sources reads the files of a package for this system, without its tests.
func sources(folder string) (names, texts []string, err error) {
	all, err := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, name := range all {
		matches, err := gobuild.Default.MatchFile(filepath.Split(name))
		if err != nil {
			return nil, nil, err
		}
		if strings.HasSuffix(name, "_test.go") || !matches {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		names, texts = append(names, name), append(texts, string(text))
	}
	return names, texts, err
}

// writeOverlay writes a file, and lets it replace another one.
func writeOverlay(dir string, replace map[string]string, name, text string) error {
	name, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
	replace[name] = file
	return os.WriteFile(file, []byte(text), 0o666)
}

// readAccepted reads the mutants that may survive. A line that begins with # has the reason of the mutants below it.
func readAccepted(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	reasons, reason := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "":
			reason = ""
		case strings.HasPrefix(line, "#"):
			reason = strings.TrimSpace(reason + " " + strings.TrimPrefix(line, "#"))
		case reason == "":
			return nil, fmt.Errorf("%s: %q has no reason above it", file, line)
		default:
			reasons[line] = reason
		}
	}
	return reasons, nil
}

// report prints the survivors, and the accepted ones that do not survive any more. It reports whether there are neither.
func report(out *os.File, mutants []Mutant, killers []string, reasons map[string]string, chosen func(string) bool) bool {
	killed, accepted, unreached, survivors := 0, 0, 0, []string{}
	ok, folders := true, map[string]bool{}
	for i, m := range mutants {
		folders[path.Dir(m.File)] = true
		_, expected := reasons[m.String()]
		switch {
		case killers[i] == skipped:
		case killers[i] != "" && killers[i] != nowhere:
			if killed++; expected {
				ok = false
				fmt.Fprintf(out, "killed by %s, remove its line from the survivors: %s\n", killers[i], m)
			}
		case expected:
			accepted++
		default:
			if killers[i] == nowhere {
				unreached++
			}
			survivors = append(survivors, fmt.Sprintf("%s:%d: %s", m.File, m.Line, m))
		}
		delete(reasons, m.String())
	}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		file, _, _ := strings.Cut(name, "\t")
		if chosen(name) && folders[path.Dir(file)] {
			ok = false
			fmt.Fprintf(out, "no such mutant, remove its line from the survivors: %s\n", name)
		}
	}
	slices.SortFunc(survivors, cmp.Compare[string])
	for _, line := range survivors {
		fmt.Fprintln(out, surviving+line)
	}
	fmt.Fprintf(out, "%d mutants: %d killed, %d accepted, %d survive, of which %d are in code that no test reaches\n",
		killed+accepted+len(survivors), killed, accepted, len(survivors), unreached)
	return ok && len(survivors) == 0
}
