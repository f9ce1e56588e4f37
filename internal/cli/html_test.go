package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/host"
)

// pageElements are the elements of pages.
var pageElements = []string{
	"html", "head", "meta", "title", "style", "script", "body", "header", "main", "footer", "nav", "section", "article", "div", "h1", "h2", "h3", "p", "a",
	"details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td", "ol", "ul", "li", "code", "b", "i", "span", "strong", "mark",
	"fieldset", "legend", "label", "input", "svg", "g", "path", "text",
}

// isPage holds that a page has the elements of this program only, and one script. No attribute may run or load something, and the
// policy has to forbid everything else.
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
			case strings.HasPrefix(name, "on"), name == "src", name == "style", name == "srcdoc", name == "href" && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "https://github.com/"):
				t.Errorf("%.60q writes the attribute %s=%.60q", args, name, a.Val)
			case name == "content" && strings.HasPrefix(a.Val, "default-src"):
				policy = a.Val
			}
		}
	}
	if scripts != 1 || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("%.60q writes %d scripts and the policy %q", args, scripts, policy)
	}
}

// TestHTML_Size holds that a page of 400 TrainJobs shows all of them, and stays below 5 MB.
func TestHTML_Size(t *testing.T) {
	const jobs, most = 400, 5_000_000
	old, now := t.TempDir(), t.TempDir()
	text, err := os.ReadFile(filepath.Join(repository, "testdata", "quickstart", "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		job := strings.ReplaceAll(string(text), "name: llm", fmt.Sprintf("name: train-%d", i))
		job = strings.ReplaceAll(job, "a100-spot", fmt.Sprintf("pool-%d", i))
		for dir, nodes := range map[string]int{old: 4, now: i + 5} {
			data := strings.ReplaceAll(job, "numNodes: 4", fmt.Sprintf("numNodes: %d", nodes))
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("job-%d.yaml", i)), []byte(data), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime := filepath.Join(repository, "testdata", "quickstart", "runtime.yaml")
	for _, args := range [][]string{
		{"blame", now, "-r", runtime}, {"conflicts", now, "-r", runtime, "--all"}, {"check", now, "-r", runtime, "--all"}, {"diff", old, now, "-r", runtime},
	} {
		var stdout, stderr bytes.Buffer
		p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}
		if status := runLine(&p, append(args, "-o", "html")); status == exit.Failed {
			t.Fatalf("%q ends with status %d: %.2000s", args, status, stderr.String())
		}
		if stdout.Len() > most {
			t.Errorf("%s writes %d bytes for %d TrainJobs, more than %d", args[0], stdout.Len(), jobs, most)
		}
		shown := map[string]bool{}
		for _, name := range regexp.MustCompile(`train-\d+`).FindAllString(stdout.String(), -1) {
			shown[name] = true
		}
		if len(shown) != jobs {
			t.Errorf("%s shows %d TrainJobs, want %d", args[0], len(shown), jobs)
		}
	}
}
