package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzArchive reads any archive of cases. The written archive reads as the same cases, and is written again as the same bytes.
func FuzzArchive(f *testing.F) {
	files, err := filepath.Glob("cases/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	for _, file := range files[:3] {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, seed := range []string{
		"", "a\n-- b/c/input.yaml --\n", "-- b/c/input.yaml --\na: [\n-- b/c/2.0,2.1.refused --\n", "-- b/c/2.0.json --\n{}\n", "-- b/c/2.0.json --\n{\"kind\":\"List\",\"items\":[null,{\"a\":1e400}]}\n",
		"-- b/c/input.yaml --\n{}\n-- b/c/2.2.json --\n{\"kind\":\"List\",\"items\":[]}\n-- b/c/2.2.owners --\n[{\"manager\":\"m\",\"fields\":{\"f:a\":{}}}]\n", "-- b --\n", "-- b/c/2.0.owners --\nnull\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := parseArchive("cases.txtar", txtar.Parse(data))
		if err != nil {
			return
		}
		for _, c := range a.cases {
			_, _ = c.objects()
		}
		once, err := a.text()
		if err != nil {
			t.Fatalf("%q cannot be written: %v", data, err)
		}
		again, err := parseArchive("cases.txtar", txtar.Parse(once))
		if err != nil {
			t.Fatalf("%q is written as %q, which cannot be read: %v", data, once, err)
		}
		if twice, err := again.text(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q is written as\n%s\nand then as\n%s, %v", data, once, twice, err)
		}
	})
}
