// Command chart draws charts of a benchmark's output: how do the sides of docs/performance.md compare?
//
//	go test -run '^$' -bench . . > results.txt
//	go run ./chart -output ../docs results.txt
//
// It writes an SVG for each chart. The same results give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "chart: %v\n", err)
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("chart", flag.ContinueOnError)
	output := flags.String("output", ".", "the directory to write to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("chart takes the file of a benchmark's output, got %d arguments", flags.NArg())
	}
	file, err := os.Open(flags.Arg(0))
	if err != nil {
		return err
	}
	defer file.Close()
	found, err := parse(file)
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	texts := make([]string, len(charts))
	for i, c := range charts {
		if texts[i], err = c.draw(found); err != nil {
			return fmt.Errorf("%s: %s: %w", flags.Arg(0), c.file, err)
		}
	}
	for i, c := range charts {
		if err := os.WriteFile(filepath.Join(*output, c.file), []byte(texts[i]), 0o666); err != nil {
			return err
		}
	}
	return nil
}
