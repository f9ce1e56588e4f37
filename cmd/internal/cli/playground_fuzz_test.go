package cli

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/trainweld/trainweld/cmd/internal/command/blame"
	"github.com/trainweld/trainweld/cmd/internal/command/check"
	"github.com/trainweld/trainweld/cmd/internal/command/render"
	"github.com/trainweld/trainweld/cmd/internal/playground"
)

// FuzzPlayground runs command lines on any files. Each ends with a status of the program, and an answer has a form in JSON. The same
// request has the same answer.
func FuzzPlayground(f *testing.F) {
	read := func(name string) string {
		text, err := os.ReadFile("../../../internal/testdata/quickstart/" + name)
		if err != nil {
			f.Fatal(err)
		}
		return string(text)
	}
	job, runtime := read("job.yaml"), read("runtime.yaml")
	const policy = "managers: [{name: a.io/b}]\n"
	for line := range fuzzedLines {
		f.Add(job, runtime, policy, uint8(line))
		f.Add("kind: [", runtime, "", uint8(line))
		f.Add(runtime, job, "managers: {", uint8(line))
	}
	f.Fuzz(func(t *testing.T, job, runtime, policy string, which uint8) {
		if len(job)+len(runtime)+len(policy) > 1<<14 {
			t.Skip("larger than the files of a fuzzer need to be")
		}
		files := map[string]string{"job.yaml": job, "runtime.yaml": runtime}
		if policy != "" {
			files["trainweld.yaml"] = policy
		}
		request := playground.Request{Files: files, Lines: [][]string{fuzzedLines[int(which)%len(fuzzedLines)]}}
		answers := playground.Run(request, render.Command, blame.Command, check.Command)
		if len(answers) != 1 || answers[0].Status < 0 || answers[0].Status > 2 {
			t.Fatalf("%q: %+v", request.Lines, answers)
		}
		if text, err := json.Marshal(answers); err != nil || !utf8.ValidString(answers[0].Stdout) || !utf8.ValidString(answers[0].Stderr) {
			t.Errorf("%q answers %q, %v", request.Lines, text, err)
		}
		if answers[0].Status != 0 && answers[0].Stderr == "" {
			t.Errorf("%q ends with status %d and no word", request.Lines, answers[0].Status)
		}
		if again := playground.Run(request, render.Command, blame.Command, check.Command); !reflect.DeepEqual(answers, again) {
			t.Errorf("%q answers %+v, and then %+v", request.Lines, answers, again)
		}
	})
}

var fuzzedLines = [][]string{
	{"render", "-f", "job.yaml", "-r", "runtime.yaml"},
	{"render", "-f", "job.yaml", "-r", "runtime.yaml", "--on-conflict=last", "--to=jobs", "--explain"},
	{"render", "-f", "job.yaml", "-r", "runtime.yaml", "--on-conflict=last", "--to=pods", "--max-pods=50"},
	{"render", "-f", ".", "-o", "json"},
	{"blame", "-f", "job.yaml", "-r", "runtime.yaml", "-o", "html"},
	{"blame", "-f", "job.yaml", "-r", "runtime.yaml", "--show-origin"},
	{"blame", "-f", "job.yaml", "-r", "runtime.yaml", "--for=runtime"},
	{"blame", "-f", "job.yaml", "-r", "runtime.yaml", "nodeSelector", "-o", "json"},
	{"check", "-f", "job.yaml", "-r", "runtime.yaml", "--on-conflict=last"},
}
