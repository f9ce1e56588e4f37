package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// request holds files and the command lines that read them, as package cmd/internal/playground takes them.
type request struct {
	Files map[string]string `json:"files"`
	Lines [][]string        `json:"lines"`
}

// answer is what one command line prints.
type answer struct {
	Stdout   string          `json:"stdout"`
	Stderr   string          `json:"stderr"`
	Status   int             `json:"status"`
	Findings string          `json:"findings"`
	Report   json.RawMessage `json:"report"`
}

// asking is a script for node. It starts the program and runs each request of a line of standard input. It writes the answers to each,
// and the milliseconds of wall and processor time.
const asking = `
const fs = require("fs");
require(process.argv[1]);
const go = new Go();
WebAssembly.instantiate(fs.readFileSync(process.argv[2]), go.importObject).then(({instance}) => {
	go.run(instance);
	for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
		const began = performance.now();
		const before = process.cpuUsage();
		const answers = trainweld(line);
		const used = process.cpuUsage(before);
		const millis = performance.now() - began;
		fs.writeSync(1, '{"millis": ' + millis + ', "busy": ' + (used.user + used.system) / 1000 + ', "answers": ' + answers + '}\n');
	}
	process.exit(0);
});`

// answered holds the answers to one request. They took Millis, and Busy of them on a processor.
type answered struct {
	Millis, Busy float64
	Answers      []answer
}

// ask runs requests one after the other in one process of the program for browsers.
func ask(program []byte, requests []request) ([]answered, error) {
	dir, err := os.MkdirTemp("", "trainweld-ask")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "trainweld.wasm")
	if err := os.WriteFile(file, program, 0o666); err != nil {
		return nil, err
	}
	script, err := goScript()
	if err != nil {
		return nil, err
	}
	var in bytes.Buffer
	for _, r := range requests {
		line, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		in.Write(append(line, '\n'))
	}
	run := exec.Command("node", "-e", asking, script, file)
	run.Stdin, run.Stderr = &in, os.Stderr
	out, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("the program for browsers in node: %w", err)
	}
	all := make([]answered, 0, len(requests))
	for line := range strings.Lines(string(out)) {
		var one answered
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			return nil, fmt.Errorf("an answer of the program for browsers: %w", err)
		}
		if want := len(requests[len(all)].Lines); len(one.Answers) != want {
			return nil, fmt.Errorf("the program for browsers gives %d answers to %d command lines", len(one.Answers), want)
		}
		all = append(all, one)
	}
	if len(all) != len(requests) {
		return nil, fmt.Errorf("the program for browsers answers %d of %d requests", len(all), len(requests))
	}
	return all, nil
}

// goScript returns the path of Go's own script for programs in WebAssembly.
func goScript() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"), nil
}
