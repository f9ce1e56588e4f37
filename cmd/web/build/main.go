// Command build bundles the style and the script of pages, and records the hashes of their sources. By the hashes, a test
// without these tools reports whether the bundles are up to date.
package main

import (
	"fmt"
	"os"

	"github.com/trainweld/trainweld/cmd/web"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	files, err := web.Build("src")
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(web.Target+name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
