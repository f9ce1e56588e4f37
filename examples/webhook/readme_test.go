package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// TestMain keeps controller-runtime's log out of what commands print.
func TestMain(m *testing.M) {
	log.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	os.Exit(m.Run())
}

// TestREADME runs the README's commands in a copy of this folder, as a reader would who took it elsewhere,
// and compares what they print.
func TestREADME(t *testing.T) {
	clone, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	text := readme(t)
	commands := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		for _, part := range regexp.MustCompile(`(?m)^\$ `).Split(block[1], -1)[1:] {
			commands++
			command, want, _ := strings.Cut(part, "\n")
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TRAINWELD="+clone, "GOFLAGS=-mod=mod")
			got, err := cmd.CombinedOutput()
			if err != nil || string(got) != want {
				t.Errorf("$ %s\n%v, prints:\n%s\nthe README says:\n%s", command, err, got, want)
			}
		}
	}
	if commands < 4 {
		t.Errorf("found %d commands in the README; its blocks are no longer what this test looks for", commands)
	}
}

// TestREADMEAnswer sends the TrainJob of which the README shows the answer.
func TestREADMEAnswer(t *testing.T) {
	response := ask(t, &admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: raw(t, trainJob(t))})
	if response.Allowed || response.Result.Code != http.StatusUnprocessableEntity {
		t.Fatalf("allowed %v, %+v", response.Allowed, response.Result)
	}
	if !strings.Contains(readme(t), "```text\n"+response.Result.Message+"\n```") {
		t.Errorf("the README shows another answer than:\n%s", response.Result.Message)
	}
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
