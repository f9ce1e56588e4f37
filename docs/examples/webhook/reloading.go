package main

import (
	"bytes"
	"net/http"
	"os"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trainweld/trainweld/render/policy"
)

// reloading answers by the policy in a file. It reads the file for each request, so that a changed
// ConfigMap holds as soon as it is mounted. While the policy is invalid, each request fails, and
// the failurePolicy decides.
type reloading struct {
	file    string
	handler func(*policy.Policy) (http.Handler, error)

	mu   sync.Mutex
	text []byte // that last was made
	last http.Handler
}

func (r *reloading) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	handler, err := r.current()
	if err != nil {
		ctrl.Log.Error(err, "the policy is invalid, and no TrainJob was judged")
		http.Error(w, "the policy of the webhook is invalid: "+err.Error(),
			http.StatusInternalServerError)
		return
	}
	handler.ServeHTTP(w, request)
}

// current returns the handler of the present policy. Without a file, it has no rules.
func (r *reloading) current() (http.Handler, error) {
	var text []byte
	if r.file != "" {
		var err error
		if text, err = os.ReadFile(r.file); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && bytes.Equal(text, r.text) {
		return r.last, nil
	}
	var rules *policy.Policy
	if r.file != "" {
		parsed, findings := policy.Parse(r.file, text)
		if err := findings.Err(); err != nil {
			return nil, err
		}
		rules = parsed
	}
	handler, err := r.handler(rules)
	if err == nil {
		r.text, r.last = text, handler
	}
	return handler, err
}
