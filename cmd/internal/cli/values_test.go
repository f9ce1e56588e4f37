package cli

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// valuesRuntime and valuesJob hold a marker as the value of every variable. Some variables are
// right, managers disagree on others, and the cluster rejects others.
const (
	valuesRuntime = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - {name: node, image: i, env: [{name: T, value: MARK-0}]}
                - {name: sidecar, image: i, env: [{name: DISPUTED, value: MARK-0}, {name: BOTH, value: MARK-0}]}
`
	valuesJob = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm}
spec:
  runtimeRef: {name: rt}
  trainer: {numNodes: 1, env: [{name: T, value: VERSION}, {name: PET_NNODES, value: VERSION}]}
  runtimePatches:
  - manager: a.example.com/x
    trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
      containers: [{name: sidecar, env: [{name: DISPUTED, value: VERSION}, {name: BOTH, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: EXTRA, value: VERSION, misspelt: VERSION}]}]}}}}}]}}}
  - manager: b.example.com/y
    trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
      containers: [{name: sidecar, env: [{name: DISPUTED, value: OTHER}]}]}}}}}]}}}
`
)

// TestNoVerbShowsValues feeds a marker through every verb and every format of its report, and looks
// for it. A verb that is not in the table fails: whoever adds one says what it reports.
func TestNoVerbShowsValues(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		text = strings.NewReplacer("MARK", marker, "VERSION", marker+"-1", "OTHER",
			marker+"-2").Replace(text)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return file
	}
	misspelt := valuesJob
	sound := strings.NewReplacer(", misspelt: VERSION", "",
		", {name: BOTH, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", "",
		", {name: PET_NNODES, value: VERSION}", "").Replace(valuesJob)
	runtime := write("runtime.yaml", valuesRuntime)
	job, bad := write("job.yaml", sound), write("bad.yaml", misspelt)
	changed := write("changed.yaml", strings.ReplaceAll(sound, "VERSION", "OTHER-3"))
	golden := filepath.Dir(write("golden/case/job.yaml", sound))
	write("golden/runtime.yaml", valuesRuntime)
	write("golden/case/options.yaml", "on-conflict: last\n")
	reviewed := &host.Program{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Files: host.Files{}}
	if status := runLine(
		reviewed, []string{"render", changed, "-r", runtime, "--on-conflict=last", "--output-dir",
			filepath.Join(golden, "want")}); status != exit.Done {
		t.Fatalf("the reviewed rendering ends with status %d", status)
	}
	legacy := write("legacy.yaml",
		"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\nspec:\n  "+
			"pytorchReplicaSpecs:\n    Worker:\n      template: {spec: {containers: [{name: "+
			"pytorch, image: i, env: [{name: WORLD_SIZE, value: MARK, misspelt: MARK}]}]}}\n")
	patch := write(
		"patch.yaml",
		"manager: c.example.com/z\ntrainingRuntimeSpec: {template: {spec: {replicatedJobs: "+
			"[{name: node, template: {spec: {template: {spec: {containers: [{name: sidecar, env: "+
			"[{value: MARK}, {name: A, value: MARK, valueFrom: {}}]}]}}}}}]}}}\n")
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" +
		asItems(valuesRuntime) + asItems(sound)
	list = strings.NewReplacer("MARK", marker, "VERSION", marker+"-1", "OTHER",
		marker+"-2").Replace(list)

	// objects reports that standard output holds objects, which may show their values. Only the
	// messages on them count.
	type use struct {
		objects bool
		stdin   string
		lines   [][]string
	}
	var views [][]string // of objects that are not TrainJobs
	formats := func(verb string) (lines [][]string) {
		for _, format := range []string{"text", "json", "sarif", "github", "junit"} {
			for _, file := range []string{job, bad} {
				lines = append(
					lines, []string{verb, file, "-r", runtime, "-o", format, "--on-conflict=last"})
			}
			lines = append(
				lines, []string{verb, job, "-r", runtime, "--patch", patch, "-o", format,
					"--force-manager=a.example.com/x"})
		}
		return lines
	}
	// An object of any kind also holds variables in lists that merge as one value. A Secret holds
	// nothing else.
	var mergeLines [][]string
	for i, kind := range []string{"apps/v1 Deployment spec.template.spec",
		"example.com/v1 Thing spec.pod.spec"} {
		apiVersion, rest, _ := strings.Cut(kind, " ")
		kind, path, _ := strings.Cut(rest, " ")
		at := strings.ReplaceAll(path, ".", ": {")
		text := func(value string) string {
			return at + ": {containers: [{name: a, image: i, env: [{name: A, value: " + value +
				"}]}]}" + strings.Repeat("}", strings.Count(path, ".")) + "\n"
		}
		base := write(fmt.Sprint("merge", i, ".yaml"), "apiVersion: "+apiVersion+"\nkind: "+kind+
			"\nmetadata: {name: a}\n"+text("MARK"))
		next := write(fmt.Sprint("next", i, ".yaml"), "apiVersion: "+apiVersion+"\nkind: "+kind+
			"\nmetadata: {name: a}\n"+text("OTHER"))
		one, two := write(fmt.Sprint("one", i, ".yaml"), text("MARK-4")),
			write(fmt.Sprint("two", i, ".yaml"), text("MARK-5"))
		patches := []string{"--patch", one, "--patch", two}
		mergeLines = append(mergeLines, slices.Concat([]string{"merge", "-f", base}, patches),
			slices.Concat([]string{"merge", "-f", base, "--on-conflict=last"}, patches))
		views = append(views, slices.Concat([]string{"blame", "-f", base}, patches),
			slices.Concat([]string{"blame", "-f", base, "-o", "json"}, patches),
			slices.Concat([]string{"blame", "-f", base, "-o", "html"}, patches),
			[]string{"diff", base, next, "--patch",
				write("label.yaml", "metadata: {labels: {a: b}}\n")})
		for _, format := range []string{"text", "json", "sarif", "github", "junit"} {
			views = append(views, slices.Concat([]string{"conflicts", base, "-o", format}, patches))
		}
	}
	secret := write("secret.yaml",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: MARK}\n")
	secretPatches := []string{"--patch", write("s1.yaml", "stringData: {a: MARK-1}\n"), "--patch",
		write("s2.yaml", "stringData: {a: MARK-2}\n")}
	views = append(views, slices.Concat([]string{"conflicts", secret}, secretPatches),
		slices.Concat([]string{"blame", "-f", secret}, secretPatches),
		slices.Concat(
			[]string{"diff", secret,
				write("secret2.yaml",
					"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {b: MARK}\n")},
			secretPatches[:2]))
	mergeLines = append(mergeLines, slices.Concat([]string{"merge", "-f", secret}, secretPatches))
	uses := map[string]use{
		"render": {
			objects: true,
			lines: [][]string{{"render", job, "-r", runtime, "--all"},
				{"render", bad, "-r", runtime}, {"render", job, "-r", runtime, "--patch", patch}}},
		"merge": {objects: true, lines: mergeLines},
		"check": {
			lines: append(formats("check"),
				[]string{"check", job, "-r", runtime, "--trainer-version=2.1"})},
		"conflicts": {lines: append(views, formats("conflicts")...)},
		"blame": {
			lines: [][]string{
				{"blame", job, "-r", runtime}, {"blame", "-f", job, "-r", runtime, "-o", "json"},
				{"blame", "-f", job, "-r", runtime, "-o", "html"},
				{"blame", "-f", job, "-r", runtime, "spec"},
				{"blame", "-f", job, "-r", runtime, "-o", "json", "spec"},
				{"blame", "-f", job, "-r", runtime, "--to=jobs", "--as=stored"},
				{"blame", "-f", job, "-r", runtime, "--to=pods", "--show-origin"},
				{"blame", "-f", bad, "-r", runtime}}},
		"diff": {lines: [][]string{
			{"diff", job, changed, "-r", runtime},
			{"diff", job, changed, "-r", runtime, "-o", "json"},
			{"diff", job, changed, "-r", runtime, "-o", "markdown"},
			{"diff", job, changed, "-r", runtime, "-o", "html"},
			{"diff", job, changed, "-r", runtime, "--to=pods"}, {"diff", job, bad, "-r", runtime},
			{"diff", bad, bad, "-r", runtime}, {"diff", bad, job, "-r", runtime, "-o", "markdown"},
			{"diff", bad, bad, "-r", runtime, "-o", "html"},
		}},
		"explain": {lines: [][]string{{"explain", "containers.env.value"}}},
		"migrate": {objects: true, lines: [][]string{{"migrate", legacy}, {"migrate", bad}}},
		"test": {lines: [][]string{{"test", golden}, {"test", golden, "--update=diff"},
			{"test", golden, "-o", "junit"}, {"test", golden, "-o", "github"}}},
		"fn": {objects: true, stdin: list, lines: [][]string{{"fn"}}},
		"policy": {lines: [][]string{
			{"policy", "test", job, "--policy",
				write("policy.yaml",
					"managers: [{name: c.example.com/z, required: true, paths: [nodeSelector]}]\n"),
				"--old", changed},
			{"policy", "test", bad, "--policy", filepath.Join(dir, "policy.yaml")}}},
		"version": {lines: [][]string{{"version"}}},
	}
	var verbs []string
	for _, cmd := range Root(
		(&host.Program{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
			Files: host.Files{}}), nil).Commands() {
		if name := cmd.Name(); name != "help" && name != "completion" {
			verbs = append(verbs, name)
		}
	}
	if len(verbs) < 10 {
		t.Fatalf("the verbs are %q", verbs)
	}
	for _, verb := range verbs {
		u, ok := uses[verb]
		if !ok {
			t.Errorf("the verb %s is not looked at", verb)
		}
		run := func(args ...string) string {
			var stdout, stderr bytes.Buffer
			p := host.Program{Stdin: strings.NewReader(u.stdin), Stdout: &stdout, Stderr: &stderr,
				Files: host.Files{}}
			runLine(&p, args)
			if u.objects {
				return stderr.String()
			}
			return stdout.String() + stderr.String()
		}
		said, shown := false, false
		for _, args := range u.lines {
			report := run(args...)
			said = said || report != ""
			for line := range strings.Lines(report) {
				if strings.Contains(line, marker) {
					t.Errorf("%q shows a value: %s", args, line)
				}
			}
			if !u.objects {
				shown = shown ||
					strings.Contains(run(append(slices.Clone(args), "--show-values")...), marker)
			}
		}
		if !shown && !u.objects && verb != "explain" && verb != "version" && verb != "policy" {
			t.Errorf("%s shows no value with --show-values, and so none that could have been "+
				"hidden was there", verb)
		}
		if !said {
			t.Errorf("%s reports nothing, and so nothing was looked at", verb)
		}
	}
}

// TestNoFormShowsValues writes a marker in every right or wrong form of a variable, a Secret or a
// file without objects. It looks for the marker in the reports of the verbs that read files.
func TestNoFormShowsValues(t *testing.T) {
	const head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: " +
		"llm\nspec:\n  runtimeRef: {name: rt}\n  trainer:\n    numNodes: 1\n"
	files := map[string]string{
		"key":        "-----BEGIN PRIVATE KEY-----\nMARK\n-----END PRIVATE KEY-----\n",
		"password":   "MARK\n",
		"dotenv":     "TOKEN=MARK\n",
		"yaml":       "user: me\npassword: MARK\n",
		"open quote": "user: me\npassword: \"MARK\n",
		"alias":      "user: me\npassword: *MARK\n",
		"tag":        "password: !!float MARK\n",
		"json":       "{\"password\": MARK\n",
		"tab":        "user:\n\tpassword: MARK\n",
		"binary":     "MARK\x00\n",
		"latin":      "MARK\xff\n",
		"secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: " +
			"MARK}\ndata:\n  b: MARK\n",
		"two keys": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: MARK, " +
			"a: MARK}\n",
		"no kind": "apiVersion: v1\nstringData: {a: MARK}\n",
		"annotation": strings.Replace(head, "  name: llm\n",
			"  name: Llm\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: "+
				"MARK, 5: MARK}\n", 1),
		"anchor": strings.Replace(head, "metadata:\n", "x-shared: &S MARK\nmetadata:\n", 1) +
			"    env:\n    - {name: A, value: *S}\n    - {name: A, value: *S, valeu: *S}\n",
		"merge key": strings.Replace(head, "metadata:\n",
			"x-shared: &S {value: MARK}\nmetadata:\n", 1) + "    env:\n    - {<<: *S, nam: A}\n",
		"snapshot": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " +
			"llm-runtime-snapshot}\ndata:\n  runtime: |\n    password: MARK\n",
	}
	for i, env := range []string{
		"env: {TOKEN: MARK}", "env: [TOKEN=MARK]", "env: MARK", "env: [[MARK]]",
		"env:\n    - TOKEN=MARK", "env:\n    - name: A\n      Value: MARK",
		"env:\n    - name: A\n      valeu: MARK", "env:\n    - name: A\n      value: [MARK]",
		"env:\n    - name: A\n      value: {a: MARK}",
		"env:\n    - name: A\n      value: |\n        MARK\n      bad: x",
		"env:\n    - name: A\n      value: >-\n        MARK\n\n        MARK\n      bad: x",
		"env:\n    - name: A\n      value: \"MARK\n        MARK\"\n      bad: x",
		"env:\n    - name: A\n      value: \"MARK", "env:\n    - name: A\n      value: *MARK",
		"env:\n    - name: A\n      value: !!int MARK", "env:\n    - name: A\n      value: a: MARK",
		"env:\n    - name: A\n      value: {{ MARK }}",
		"env:\n    - {name: A, value: MARK, value: MARK}",
		"env:\n    - {name: A, value: MARK, valueFrom: {secretKeyRef: {nam: x}}}",
		"env:\n    - {name: A, value: MARK}\n    - {name: A, value: MARK-2}",
		"env:\n    - {value: MARK}", "env:\n    - {name: \"\", value: MARK}",
		"env:\n    - {name: PET_NNODES, value: MARK}",
		"Env:\n    - {name: A, value: MARK}", "evn:\n    - {name: A, value: MARK}",
		"env:\n    - name: A\n     value: MARK", "env:\n\t- MARK", "env: [{name: A, value: MARK",
		"env:\n    - ? value\n      : [MARK]",
	} {
		files[fmt.Sprintf("fn env %d", i)] = mergeList(
			"{manager: a, target: {kind: Deployment}, patch: {spec: {template: {spec: "+
				"{containers: [{name: c0, env: [{name: A, value: MARK}, {name: A, value: "+
				"5}]}]}}}}}, "+
				"{manager: b, target: {kind: Deployment}, patch: {spec: {template: {spec: "+
				"{containers: [{name: c0, env: [{name: A, value: MARK2}]}]}}}}}",
			func(int) string {
				return "- " + strings.ReplaceAll(deployment("{name: c%d}")(1)+"    "+env, "\n",
					"\n  ") + "\n"
			})(1)
		files[fmt.Sprintf("env %d", i)] = head + "    " + env + "\n"
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".yaml")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "MARK", marker)),
			0o666); err != nil {
			t.Fatal(err)
		}
		return file
	}
	runtime, sound := write("runtime", valuesRuntime), write("sound", head)
	// a short run gives each file to some of the command lines
	first, every := testenv.Seed(t), uint64(testenv.Every(4))
	for i, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		file := write(name, text)
		var lines [][]string
		for _, format := range []string{"text", "json", "sarif", "github", "junit"} {
			lines = append(lines, []string{"check", file, "-r", runtime, "-o", format})
		}
		lines = append(lines, []string{"check", sound, "-r", runtime, "--patch", file},
			[]string{"check", sound, "-r", runtime, "--old", file},
			[]string{"conflicts", file, "-r", runtime},
			[]string{"conflicts", file, "--type=merge", "--patch", sound},
			[]string{"conflicts", sound, "--type=merge", "--patch", file})
		for _, format := range []string{"text", "json", "markdown", "html"} {
			lines = append(lines, []string{"diff", sound, file, "-r", runtime, "-o", format},
				[]string{"diff", file, sound, "-r", runtime, "--to=pods", "-o", format})
		}
		lines = append(lines, []string{"render", file, "-r", runtime, "--all"},
			[]string{"render", sound, "-r", file}, []string{"migrate", file},
			[]string{"blame", "-f", file, "-r", runtime},
			[]string{"blame", "-f", file, "-r", runtime, "-o", "json"},
			[]string{"blame", "-f", file, "-r", runtime, "-o", "html"}, []string{"fn"})
		for j, args := range lines {
			if (first+uint64(i+j))%every != 0 {
				continue
			}
			var stdout, stderr bytes.Buffer
			p := host.Program{Stdin: strings.NewReader(strings.ReplaceAll(text, "MARK", marker)),
				Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}
			runLine(&p, args)
			said := stderr.String()
			if !slices.Contains([]string{"render", "migrate", "fn"}, args[0]) {
				said += stdout.String()
			}
			for line := range strings.Lines(said) {
				if strings.Contains(line, marker) {
					t.Errorf("%s: %q shows a value: %s", name, args, line)
				}
			}
		}
	}
}

// asItems makes an object an item of a list.
func asItems(object string) string {
	lines := strings.Split(strings.TrimSpace(object), "\n")
	return "- " + strings.Join(lines, "\n  ") + "\n"
}
