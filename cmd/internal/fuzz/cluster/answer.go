package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// Answer is a response of the API server.
type Answer struct {
	Status   int
	Body     []byte
	Warnings []string
}

// Rejection returns the error as kubectl shows it.
func (a Answer) Rejection() string {
	var status struct{ Reason, Message string }
	if json.Unmarshal(a.Body, &status) != nil || status.Message == "" {
		return fmt.Sprintf("HTTP %d: %s", a.Status, a.Body)
	}
	return fmt.Sprintf("HTTP %d %s: %s", a.Status, status.Reason, status.Message)
}

// Fields returns the paths of the rejected fields, as the API server names them.
func (a Answer) Fields() (paths []string) {
	var status struct {
		Details struct{ Causes []struct{ Field string } }
	}
	if json.Unmarshal(a.Body, &status) != nil {
		return nil
	}
	for _, cause := range status.Details.Causes {
		if cause.Field != "" && cause.Field != "<nil>" {
			paths = append(paths, cause.Field)
		}
	}
	return paths
}

// Do sends a request to the API server.
func (c *ControlPlane) Do(method, path string, body []byte) (Answer, error) {
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/merge-patch+json"
		if strings.Contains(path, "fieldManager=") {
			kind = "application/apply-patch+yaml"
		}
	}
	return c.send("", method, path, kind, body)
}

// send sends a request of a user, or of the administrator, with a body of the content type.
func (c *ControlPlane) send(user, method, path, kind string, body []byte) (Answer, error) {
	request, err := http.NewRequest(method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("Content-Type", kind)
	if user != "" {
		request.Header.Set("Impersonate-User", user)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	out, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, out, response.Header.Values("Warning")}, err
}

// failures are the log lines of the managers about one namespace.
type failures struct {
	mu    sync.Mutex
	lines []string
	last  time.Time
}

func (f *failures) add(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = time.Now()
	for _, known := range f.lines {
		if known == line {
			return
		}
	}
	f.lines = append(f.lines, line)
}

func (f *failures) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.lines...)
}

// sink keeps the errors that a manager logs, by namespace.
type sink struct {
	manager  string
	failures *sync.Map
	values   []any
}

func (s *sink) Init(logr.RuntimeInfo) {}

func (s *sink) Enabled(int) bool { return false }

func (s *sink) Info(int, string, ...any) {}

func (s *sink) WithName(string) logr.LogSink { return s }

func (s *sink) WithValues(v ...any) logr.LogSink {
	return &sink{s.manager, s.failures, append(append([]any(nil), s.values...), v...)}
}

func (s *sink) Error(err error, message string, values ...any) {
	namespace := ""
	for all, i := append(append([]any(nil), s.values...), values...), 0; i+1 < len(all); i += 2 {
		if all[i] == "namespace" {
			namespace, _ = all[i+1].(string)
		}
		if all[i] == "panic" && err == nil {
			err = fmt.Errorf("panic: %v", all[i+1])
		}
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	line := fmt.Sprintf("%s: %s: %s", s.manager, message, strings.ReplaceAll(text, "\n", `\n`))
	if namespace == "" {
		log.Print(line)
		return
	}
	kept, _ := s.failures.LoadOrStore(namespace, &failures{})
	kept.(*failures).add(line)
}
