package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/cmd/internal/printable"
)

func written(t *testing.T, d page.Document, body *page.Body) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, d, body); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWrite_Policy holds that the policy of a page allows exactly the styles and the script that it
// has. The script has at most 150 lines, so that people can read it.
func TestWrite_Policy(t *testing.T) {
	var layers page.Layers
	var body page.Body
	body.Claims(&layers, "a field",
		[]page.ClaimRow{
			{Layer: "runtime", Value: "1"}, {Layer: "manager/a", Value: "2", Mark: "wins"}})
	for name, d := range map[string]page.Document{"with layers": {Title: "a", Layers: &layers},
		"without": {Title: "a"}} {
		text := written(t, d, &body)
		policy := regexp.MustCompile(`content="(default-src [^"]*)"`).FindStringSubmatch(text)
		if policy == nil {
			t.Fatalf("%s: no policy in %.300s", name, text)
		}
		want := "default-src 'none'; style-src"
		for _, match := range regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(
			text, -1) {
			want += " " + hash(match[1])
		}
		script := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(text, -1)
		if len(script) != 1 {
			t.Fatalf("%s: %d scripts, want 1", name, len(script))
		}
		if lines := strings.Count(script[0][1], "\n"); lines > 150 {
			t.Errorf("%s: the script has %d lines, want at most 150", name, lines)
		}
		want += "; script-src " + hash(script[0][1]) + "; base-uri 'none'; form-action 'none'"
		if policy[1] != want {
			t.Errorf("%s: the policy is %s, want %s", name, policy[1], want)
		}
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// TestLayers holds the classes of layers, and that the filter lists the runtime and the managers
// first.
func TestLayers(t *testing.T) {
	var layers page.Layers
	for i, want := range []struct{ layer, class string }{{"trainjob", "l1"}, {"manager/b", "l2"},
		{"runtime", "l0"}, {"manager/b", "l2"}, {"", ""}, {"manager/a", "l3"}} {
		if got := layers.Class(want.layer); got != want.class {
			t.Errorf("%d: Class(%q) = %q, want %q", i, want.layer, got, want.class)
		}
	}
	text := written(t, page.Document{Title: "a", Layers: &layers, Filtered: "findings"},
		&page.Body{})
	var labels []string
	for _, match := range regexp.MustCompile(
		`<label[^>]*><input[^>]*>([^<]*)<`).FindAllStringSubmatch(text, -1) {
		labels = append(labels, match[1])
	}
	if got, want := strings.Join(labels, " "), "all runtime b a trainjob"; got != want {
		t.Errorf("the filter has %s, want %s", got, want)
	}
	if !strings.Contains(text, "Show the findings of") {
		t.Error("the filter does not name what it shows")
	}
}

// TestLayers_Colors holds that a manager's name gives its color and its pattern, whatever comes
// before it on the page. It also holds that 30 layers differ in one of the two.
func TestLayers_Colors(t *testing.T) {
	styleOf := func(names ...string) map[string]string {
		var layers page.Layers
		styles := map[string]string{}
		for _, name := range names {
			layers.Class(name)
		}
		text := written(t, page.Document{Title: "a", Layers: &layers}, &page.Body{})
		for _, name := range names {
			if match := regexp.MustCompile(
				`\.` + layers.Class(name) + `\{(--c:var\(--c\d+\)[^}]*)\}`).FindStringSubmatch(
				text); match != nil {
				styles[name] = match[1]
			}
		}
		return styles
	}
	sdk, queue := "manager/trainer.kubeflow.org/kubeflow-sdk", "manager/kueue.x-k8s.io/manager"
	want := styleOf(sdk, queue)
	for _, page := range [][]string{
		{queue, sdk}, {"runtime", "trainjob", "default", queue, "policy/torch", sdk},
		{sdk, "jobset", "manager/platform.example.com/defaults", queue}} {
		if got := styleOf(page...); got[sdk] != want[sdk] || got[queue] != want[queue] ||
			want[sdk] == want[queue] {
			t.Errorf("on a page of %q the managers have %q and %q, want %q and %q", page, got[sdk],
				got[queue], want[sdk], want[queue])
		}
	}
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprint([]string{"manager/", "policy/"}[i%2], i))
	}
	different := map[string]bool{}
	for _, style := range styleOf(names...) {
		different[style] = true
	}
	if len(different) != len(names) {
		t.Errorf("%d layers have %d styles", len(names), len(different))
	}
}

// TestStyle holds that a browser shows no control that does nothing: the filter needs a selector
// that older browsers lack.
func TestStyle(t *testing.T) {
	if text := written(t, page.Document{Title: "a"}, &page.Body{}); !regexp.MustCompile(
		`@supports not selector\(:has\(a\)\) \{ \.filter, \.places \{ display: none \} \}`).MatchString(text) {
		t.Error("the style shows the filter to browsers that do not know :has()")
	}
}

// fails is an output that takes nothing.
type fails struct{}

func (fails) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWrite_Fails(t *testing.T) {
	if err := page.Write(fails{}, page.Document{}, &page.Body{}); err == nil ||
		err.Error() != "full" {
		t.Errorf("Write to a full output = %v, want its error", err)
	}
}

// FuzzBody writes any string as text and as an attribute. A browser must read back the string that
// the rules for terminals make of it.
func FuzzBody(f *testing.F) {
	for _, text := range []string{"", "plain", "a b", `"`, `'`, `"'`, "<script>",
		"</li><b onclick=x>", "&amp;", "&#34", "a=b", "a/>", "\x00\xff\u2028", "]]>", "<!--", " x ",
		"`"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var body page.Body
		body.Open("section", page.Attr{Name: "data-a", Value: text})
		body.Add("code", "x"+text, page.Class(text), page.ID("c"))
		body.Void("li")
		body.Cell("li", "x"+text)
		body.Close()
		root, err := html.Parse(
			strings.NewReader(
				written(t, page.Document{Title: "a" + text + "b", Lead: []string{text},
					Version: text}, &body)))
		if err != nil {
			t.Fatal(err)
		}
		want, seen := printable.String(text), 0
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			for _, a := range n.Attr {
				if (n.Data == "section" && a.Key == "data-a" ||
					n.Data == "code" && a.Key == "class") && a.Val != want {
					t.Errorf("%s of %s = %q, want %q", a.Key, n.Data, a.Val, want)
				}
				if strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s has the attribute %s", n.Data, a.Key)
				}
			}
			switch n.Data {
			case "code":
				seen++
				var text strings.Builder
				for inside := range n.Descendants() {
					switch {
					case inside.Type == html.TextNode:
						text.WriteString(inside.Data)
					case inside.Data != "wbr" && !(inside.Data == "i" && inside.Attr == nil):
						t.Errorf("the text has the element %s", inside.Data)
					}
				}
				if text.String() != "x"+want {
					t.Errorf("the text is %q, want %q", text.String(), "x"+want)
				}
			case "title":
				if n.FirstChild.Data != "a"+want+"b - trainweld" {
					t.Errorf("the title is %q", n.FirstChild.Data)
				}
			}
		}
		if seen != 1 {
			t.Errorf("%d elements of code, want 1", seen)
		}
	})
}

// TestIndent holds that a long line of any depth has the class of its indentation, which the style
// of each page knows.
func TestIndent(t *testing.T) {
	text := written(t, page.Document{Title: "a"}, &page.Body{})
	long := strings.Repeat("a", 60)
	for line, want := range map[string]string{
		"short": "", long: "", "-    short": "", "-    " + long: " i4", "    - name: " + long: " i6",
		"+     " + long: " i6", strings.Repeat(" ", 90) + long: " i40",
	} {
		if got := page.Indent(line); got != want {
			t.Errorf("Indent(%q) = %q, want %q", line, got, want)
		}
	}
	for n := 2; n <= 40; n += 2 {
		if rule := fmt.Sprintf(".i%d { --i: %dch }", n, n); !strings.Contains(text, rule) {
			t.Errorf("the style lacks %q", rule)
		}
	}
}
