// Command playground builds the playground: a folder of files for any web server.
//
//	go run ./playground FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/trainweld/trainweld/cmd/web"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./playground FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(folder string) error {
	files, err := web.Playground(func(what string) { fmt.Fprintln(os.Stderr, what) })
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
