// Package web builds the style and the script of trainweld's pages and the playground, and tests both in a browser.
//
//	go run ./build
//	go run ./playground ../bin/playground
//
// Its sources are in src. The program embeds what Build makes of them, so building the program needs Go alone.
package web

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Target is the folder of the package that embeds the built files, from this folder.
const Target = "../internal/page/"

// built are the entry points and their built files. The inputs are the sources of both, in the order of the list of hashes.
var (
	built  = []struct{ source, built string }{{"page.css", "page.css"}, {"page.ts", "page.js"}}
	inputs = []string{"page.css", "page.ts", "lines.ts"}
)

// Build bundles the sources of pages in a folder. It returns the built files and the list of hashes, by name, or what esbuild found wrong.
func Build(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	var sums strings.Builder
	for _, input := range inputs {
		text, err := os.ReadFile(filepath.Join(folder, input))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&sums, "%x  cmd/web/src/%s\n", sha256.Sum256(text), input)
	}
	for _, b := range built {
		text, err := bundle(filepath.Join(folder, b.source), nil)
		if err != nil {
			return nil, err
		}
		files[b.built] = text
		fmt.Fprintf(&sums, "%x  cmd/internal/page/%s\n", sha256.Sum256(text), b.built)
	}
	files["built.sum"] = []byte(sums.String())
	return files, nil
}

// bundle returns a source with everything that it imports. define replaces names by expressions.
func bundle(file string, define map[string]string) ([]byte, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{file}, Bundle: true, Write: false, Outfile: "out" + filepath.Ext(file), Define: define,
		MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true, LegalComments: api.LegalCommentsNone,
		Format: api.FormatIIFE, Target: api.ES2022, Charset: api.CharsetASCII,
		Engines: []api.Engine{{Name: api.EngineChrome, Version: "111"}, {Name: api.EngineFirefox, Version: "121"}, {Name: api.EngineSafari, Version: "16.4"}},
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	return []byte(strings.TrimSpace(string(result.OutputFiles[0].Contents))), nil
}
