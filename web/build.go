// Package web builds the style and the script of trainweld's pages, and tests the pages in a browser.
//
//	go run ./build
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

// sources are the sources and what they become, in the order of the list of hashes.
var sources = []struct{ source, built string }{{"page.css", "page.css"}, {"page.ts", "page.js"}}

// Build bundles the sources of a folder. It returns the built files and the list of hashes, by name, or what esbuild found wrong.
func Build(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	var sums strings.Builder
	for _, s := range sources {
		file := filepath.Join(folder, s.source)
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		result := api.Build(api.BuildOptions{
			EntryPoints: []string{file}, Bundle: true, Write: false, Outfile: s.built,
			MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true, LegalComments: api.LegalCommentsNone,
			Format: api.FormatIIFE, Target: api.ES2022, Charset: api.CharsetASCII,
			Engines: []api.Engine{{Name: api.EngineChrome, Version: "111"}, {Name: api.EngineFirefox, Version: "121"}, {Name: api.EngineSafari, Version: "16.4"}},
		})
		if len(result.Errors) > 0 {
			return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
		}
		built := []byte(strings.TrimSpace(string(result.OutputFiles[0].Contents)))
		files[s.built] = built
		fmt.Fprintf(&sums, "%x  web/src/%s\n%x  internal/page/%s\n", sha256.Sum256(text), s.source, sha256.Sum256(built), s.built)
	}
	files["built.sum"] = []byte(sums.String())
	return files, nil
}
