package hosts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// languageServer is a running yaml-language-server, as an editor sees it.
type languageServer struct {
	t        *testing.T
	root     string
	settings map[string]any // of the section yaml
	input    io.WriteCloser

	mu        sync.Mutex
	last      int
	answers   map[int]chan json.RawMessage
	published map[string]chan []diagnostic // by the file
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type diagnostic struct {
	Range   struct{ Start, End position }
	Message string
}

// String returns a diagnostic with its place, counted from 1 as in an editor.
func (d diagnostic) String() string {
	return fmt.Sprintf("%d:%d %s", d.Range.Start.Line+1, d.Range.Start.Character+1, d.Message)
}

// message is a message of the protocol in both directions.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      *int            `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
}

// serverProgram returns the language server that editor/package.json names. The first test installs it, unless it is there.
var serverProgram = sync.OnceValues(func() (string, error) {
	program, err := filepath.Abs(filepath.Join("editor", "node_modules", ".bin", "yaml-language-server"))
	if err != nil || isInstalled() {
		return program, err
	}
	install := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	install.Dir = "editor"
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %v\n%s", err, out)
	}
	return program, nil
})

// isInstalled reports whether npm has installed the packages of the lock file.
func isInstalled() bool {
	lock, err := os.Stat(filepath.Join("editor", "package-lock.json"))
	if err != nil {
		return false
	}
	installed, err := os.Stat(filepath.Join("editor", "node_modules", ".package-lock.json"))
	return err == nil && !installed.ModTime().Before(lock.ModTime())
}

// server returns the path of the language server.
func server(t *testing.T) string {
	t.Helper()
	need(t, "npm", "node")
	program, err := serverProgram()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// startServer starts the language server for a folder with the settings of the section yaml.
func startServer(t *testing.T, root string, settings map[string]any) *languageServer {
	t.Helper()
	all := map[string]any{"schemaStore": map[string]any{"enable": false}, "kubernetesCRDStore": map[string]any{"enable": false}} // no network
	maps.Copy(all, settings)
	s := &languageServer{t: t, root: root, settings: all, answers: map[int]chan json.RawMessage{}, published: map[string]chan []diagnostic{}}
	cmd := exec.Command(server(t), "--stdio")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	var err error
	if s.input, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.read(bufio.NewReader(output))
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
	})
	folder := map[string]any{"uri": uri(root), "name": "repository"}
	s.ask("initialize", map[string]any{
		"processId": os.Getpid(), "rootUri": uri(root), "workspaceFolders": []any{folder},
		"capabilities": map[string]any{
			"workspace":    map[string]any{"configuration": true, "workspaceFolders": true},
			"textDocument": map[string]any{"completion": map[string]any{"completionItem": map[string]any{"snippetSupport": true}}},
		},
	})
	s.tell("initialized", map[string]any{})
	return s
}

func uri(path string) string { return "file://" + filepath.ToSlash(path) }

// read takes the messages of the server until it ends.
func (s *languageServer) read(r *bufio.Reader) {
	for {
		length := 0
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				length, _ = strconv.Atoi(value)
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		s.take(body)
	}
}

// take answers a request of the server, and passes on an answer or diagnostics.
func (s *languageServer) take(body []byte) {
	var m struct {
		ID     *int
		Method string
		Params json.RawMessage
		Result json.RawMessage
	}
	if err := json.Unmarshal(body, &m); err != nil {
		s.t.Errorf("the server writes %q: %v", body, err)
		return
	}
	switch {
	case m.Method == "workspace/configuration":
		s.write(message{ID: m.ID, Result: s.configuration(m.Params)})
	case m.Method == "textDocument/publishDiagnostics":
		var p struct {
			URI         string
			Diagnostics []diagnostic
		}
		if err := json.Unmarshal(m.Params, &p); err == nil {
			s.channel(p.URI) <- p.Diagnostics
		}
	case m.Method != "" && m.ID != nil:
		s.write(message{ID: m.ID, Result: json.RawMessage("null")})
	case m.ID != nil:
		s.mu.Lock()
		answer := s.answers[*m.ID]
		s.mu.Unlock()
		answer <- m.Result
	}
}

// configuration returns the settings of the sections that the server asks for.
func (s *languageServer) configuration(params json.RawMessage) []any {
	var p struct{ Items []struct{ Section string } }
	if err := json.Unmarshal(params, &p); err != nil {
		s.t.Error(err)
	}
	values := make([]any, len(p.Items))
	for i, item := range p.Items {
		if item.Section == "yaml" {
			values[i] = s.settings
		}
	}
	return values
}

// channel returns the channel of a file's diagnostics.
func (s *languageServer) channel(uri string) chan []diagnostic {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.published[uri] == nil {
		s.published[uri] = make(chan []diagnostic, 16)
	}
	return s.published[uri]
}

func (s *languageServer) write(m message) {
	m.Version = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.input, "Content-Length: %d\r\n\r\n%s", len(text), text)
}

// patience is how long the server may take for an answer.
const patience = time.Minute

// ask sends a request, and returns the answer.
func (s *languageServer) ask(method string, params any) json.RawMessage {
	s.t.Helper()
	answer := make(chan json.RawMessage, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.answers[id] = answer
	s.mu.Unlock()
	s.write(message{ID: &id, Method: method, Params: encoded(s.t, params)})
	select {
	case result := <-answer:
		return result
	case <-time.After(patience):
		s.t.Fatalf("no answer to %s", method)
		return nil
	}
}

// tell sends a notification.
func (s *languageServer) tell(method string, params any) {
	s.write(message{Method: method, Params: encoded(s.t, params)})
}

func encoded(t *testing.T, value any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// cursor marks a place in a text.
const cursor = "¦"

// open removes the cursors from a text and opens it as a file of the folder. It returns the diagnostics and the places of the cursors.
func (s *languageServer) open(name, text string) (document, []string) {
	s.t.Helper()
	d := document{s: s, uri: uri(filepath.Join(s.root, name))}
	for before, after, found := strings.Cut(text, cursor); found; before, after, found = strings.Cut(text, cursor) {
		line := strings.Count(before, "\n")
		d.places = append(d.places, position{line, len(before) - strings.LastIndex(before, "\n") - 1})
		text = before + after
	}
	s.tell("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": d.uri, "languageId": "yaml", "version": 1, "text": text}})
	select {
	case found := <-s.channel(d.uri):
		var lines []string
		for _, one := range found {
			lines = append(lines, one.String())
		}
		slices.Sort(lines)
		return d, lines
	case <-time.After(patience):
		s.t.Fatalf("no diagnostics of %s", name)
		return d, nil
	}
}

// document is an open file.
type document struct {
	s      *languageServer
	uri    string
	places []position
}

func (d document) at(place int) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": d.uri}, "position": d.places[place]}
}

// completion returns the sorted labels that the server offers at a place.
func (d document) completion(place int) []string {
	d.s.t.Helper()
	var list struct{ Items []struct{ Label string } }
	if err := json.Unmarshal(d.s.ask("textDocument/completion", d.at(place)), &list); err != nil {
		d.s.t.Fatal(err)
	}
	var labels []string
	for _, item := range list.Items {
		labels = append(labels, item.Label)
	}
	slices.Sort(labels)
	return labels
}

// hover returns the text that the server shows at a place.
func (d document) hover(place int) string {
	d.s.t.Helper()
	var hover struct{ Contents struct{ Value string } }
	if err := json.Unmarshal(d.s.ask("textDocument/hover", d.at(place)), &hover); err != nil {
		d.s.t.Fatal(err)
	}
	return hover.Contents.Value
}
