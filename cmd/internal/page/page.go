// Package page writes reports as HTML. A page is one file that needs neither a network nor a
// script.
//
//	var body page.Body
//	body.Add("h2", "TrainJob team-a/llm")
//	err := page.Write(os.Stdout, page.Document{Title: "blame", Lead: []string{"1 TrainJob"}}, &body)
//
// A report appends elements to a Body, which escapes every string. Reports cannot add markup in
// another way. The content security policy of the page allows its own style and script by their
// hashes. It forbids requests, forms and frames.
//
// The page is complete without the script. cmd/internal/hosts/pages opens pages in a browser.
//
// Its first file to read is page.go.
package page

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"strings"
)

// The style and the script.
var (
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// Document is what surrounds the body of a page.
type Document struct {
	// Title is the heading of the page and of its window.
	Title string
	// Lead are the lines below the heading.
	Lead []string
	// Version is the version of this program, which may be empty.
	Version string
	// Layers are the layers of the body. Nil means that the page has no filter.
	Layers *Layers
	// Filtered names the filtered elements. It is "lines" if empty.
	Filtered string
	// HasPlaces offers to show the file and line of each line of an object.
	HasPlaces bool
}

// Write writes a page. It returns the errors of w.
func Write(w io.Writer, d Document, body *Body) error {
	layers := d.Layers
	if layers == nil {
		layers = &Layers{}
	}
	generated := layers.style()
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("<!DOCTYPE html>\n") // Flush returns the error
	var head Body
	head.Open("html", Attr{"lang", "en"})
	head.Open("head")
	head.Void("meta", Attr{"charset", "utf-8"})
	head.Void("meta", Attr{"http-equiv", "Content-Security-Policy"},
		Attr{"content", policyOf(generated)})
	head.Void("meta", Attr{"name", "viewport"},
		Attr{"content", "width=device-width, initial-scale=1"})
	head.Void("meta", Attr{"name", "color-scheme"}, Attr{"content", "light dark"})
	head.Void("meta", Attr{"name", "referrer"}, Attr{"content", "no-referrer"})
	head.Add("title", d.Title+" - trainweld")
	head.embed("style", style)
	if generated != "" {
		head.embed("style", generated)
	}
	head.Close()
	head.Open("body")
	head.Add("a", "Skip to the report", Class("skip"), Attr{"href", "#report"})
	d.header(&head, layers)
	head.Open("main", ID("report"))
	var foot Body
	foot.open = head.open
	foot.Close()
	foot.Open("footer")
	foot.Text(strings.TrimSpace("trainweld " + d.Version))
	foot.Close()
	foot.embed("script", script)
	foot.Close()
	foot.Close()
	for _, part := range []*Body{&head, body, &foot} {
		_, _ = out.Write(part.b)
	}
	return out.Flush()
}

// header appends the heading and the controls.
func (d Document) header(b *Body, layers *Layers) {
	b.Open("header")
	b.Add("h1", d.Title)
	for _, line := range d.Lead {
		b.Add("p", line)
	}
	layers.filter(b, cmp.Or(d.Filtered, "lines"))
	if d.HasPlaces {
		b.Open("label", Class("places"))
		b.Void("input", Attr{"type", "checkbox"}, ID("places"))
		b.Text("show file and line")
		b.Close()
	}
	b.Close()
}

// embed appends a style or a script of this program unchanged.
func (b *Body) embed(tag, text string) {
	b.b = append(append(append(b.b, '<'), tag...), '>')
	b.b = append(b.b, text...)
	b.b = append(append(append(b.b, "</"...), tag...), ">\n"...)
}

// policyOf returns the content security policy of a page with a generated style.
func policyOf(generated string) string {
	styles := cspHash(style)
	if generated != "" {
		styles += " " + cspHash(generated)
	}
	return "default-src 'none'; style-src " + styles + "; script-src " + cspHash(script) +
		"; base-uri 'none'; form-action 'none'"
}

// cspHash returns the hash that allows a style or a script.
func cspHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
