package cli

import (
	_ "embed"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/trainweld/trainweld/internal/testenv"
)

// growth is a command line of testdata/growth.txt, with its input.
type growth struct {
	name  string
	args  string
	n     int // of the smaller input
	isGit bool
	files []txtar.File
}

// run is a command line in a directory.
type run struct {
	dir, stdin string
	args       []string
}

// inputs are files with the command lines that read them.
type inputs struct {
	name  string
	lines []string
	files []txtar.File
}

// inputsOf returns the inputs of a file in testdata. "== NAME" begins each.
func inputsOf(t *testing.T, file string) (all []inputs) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(text), "\n== ")[1:] {
		input := txtar.Parse([]byte(section))
		lines := strings.Split(strings.TrimSpace(string(input.Comment)), "\n")
		all = append(all, inputs{lines[0], lines[1:], input.Files})
	}
	return all
}

// growing returns the command lines of testdata/growth.txt, which explains their input.
func growing(t *testing.T) (all []growth) {
	t.Helper()
	for _, in := range inputsOf(t, "growth") {
		for _, line := range in.lines {
			number, args, _ := strings.Cut(line, " ")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatalf("%s: %v", in.name, err)
			}
			name := strings.ReplaceAll(in.name+": "+args, ",", "") // covdata splits at commas
			all = append(all,
				growth{name, args, n, strings.HasSuffix(in.name, "; git"), in.files})
		}
	}
	return all
}

// command writes the files of an input of a size, and returns the command line.
func (g growth) command(t *testing.T, n int) run {
	t.Helper()
	r := run{dir: t.TempDir(), args: strings.Fields(sized(g.args, n))}
	for _, side := range []string{"old", "new"} {
		for _, f := range g.files {
			name := strings.ReplaceAll(f.Name, "SIDE", side)
			text := strings.ReplaceAll(string(f.Data), "SIDE", side)
			switch {
			case name == "stdin":
				r.stdin = sized(text, n)
			case strings.Contains(name, "%d"):
				for i := range n {
					testenv.WriteIn(t, r.dir, indexed(name, i), sized(indexed(text, i), n))
				}
			default:
				testenv.WriteIn(t, r.dir, name, sized(text, n))
			}
		}
		if g.isGit && side == "old" {
			gitIn(t, r.dir, "", "init", "-q")
			gitIn(t, r.dir, "", "add", ".")
			gitIn(t, r.dir, "", "commit", "-qm", "a")
		}
	}
	return r
}

// sized returns a text of testdata/growth.txt for an input of a size.
func sized(text string, n int) string {
	for _, object := range []struct{ name, text string }{
		{`trainjob (\S+)`, trainJob("$1", "")},
		{`trainjob (\S+) (\S+)`, strings.Replace(trainJob("$1", ""), "torch", "$2", 1)},
		{"runtime", workRuntime},
		{`runtime (\S+)`, strings.Replace(workRuntime, "name: torch", "name: $1", 1)},
		{`patch (\S+) (.*)`, "  - {manager: $1, trainingRuntimeSpec: {template: {spec: " +
			"{replicatedJobs: [{name: node, template: {spec: {template: {$2}}}}]}}}}\n"},
		{"deployment", workDeployment},
	} {
		text = regexp.MustCompile("#"+object.name+"\n").ReplaceAllString(text, object.text)
	}
	repeated := regexp.MustCompile(`(?s)«(?:(\d+)×)?([^»]*)»`)
	text = repeated.ReplaceAllStringFunc(text, func(found string) string {
		match, most := repeated.FindStringSubmatch(found), n
		if match[1] != "" {
			most, _ = strconv.Atoi(match[1]) // the expression has digits
		}
		var b strings.Builder
		for i := range most {
			b.WriteString(indexed(match[2], i))
		}
		return b.String()
	})
	return strings.ReplaceAll(text, "%n", strconv.Itoa(n))
}

func indexed(text string, i int) string {
	return strings.NewReplacer("%d", strconv.Itoa(i), "%p", strconv.Itoa(i-1)).Replace(text)
}

//go:embed testdata/inputs/torch.yaml
var workRuntime string

//go:embed testdata/inputs/deployment.yaml
var workDeployment string

// trainJob is a TrainJob whose spec.trainer, the last of its fields, goes on with the text.
func trainJob(name, text string) string {
	return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " + name +
		"}\nspec:\n  runtimeRef: {name: torch}\n  trainer:\n    numNodes: 2\n" + text
}

// pyTorchJob is a job of the training operator, whose container goes on.
//
//go:embed testdata/inputs/pytorch.yaml
var pyTorchJob string

// gitIn runs git in a directory, and returns what it prints.
func gitIn(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command(
		"git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"},
			args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}
