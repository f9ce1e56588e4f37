package cli

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// pageElements are the elements of pages.
var pageElements = []string{
	"html", "head", "meta", "title", "style", "script", "body", "header", "main", "footer", "nav",
	"section", "article", "div", "h1", "h2", "h3", "p", "a",
	"details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td", "ol", "ul", "li",
	"code", "b", "i", "wbr", "span", "strong", "mark",
	"fieldset", "legend", "label", "input",
}

// isPage holds that a page has the elements of this program only, and one script. No attribute may
// run or load something, and the policy has to forbid everything else.
func isPage(t *testing.T, args []string, text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	scripts, policy := 0, ""
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("%.60q writes a comment", args)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(pageElements, n.Data) {
			t.Errorf("%.60q writes an element %.60q", args, n.Data)
		}
		if n.Data == "script" {
			scripts++
		}
		for _, a := range n.Attr {
			switch name := strings.ToLower(a.Key); {
			case strings.HasPrefix(name, "on"), name == "src", name == "style", name == "srcdoc",
				name == "href" && !strings.HasPrefix(a.Val, "#") &&
					!strings.HasPrefix(a.Val, "https://github.com/"):
				t.Errorf("%.60q writes the attribute %s=%.60q", args, name, a.Val)
			case name == "content" && strings.HasPrefix(a.Val, "default-src"):
				policy = a.Val
			}
		}
	}
	if scripts != 1 || !strings.HasPrefix(policy, "default-src 'none'; ") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("%.60q writes %d scripts and the policy %q", args, scripts, policy)
	}
}
