package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/render/manifest"
)

// hostile is a text that any string of an input may hold. It has characters that a terminal acts
// on, and lines that end a comment and begin an object. It also has commands of workflows, and the
// syntax of reports.
const hostile = "x\x1b[31m\u009b2J\u202e\u2066\u061c\u2028\u200b\u200d\ufeff\x7f\a\r\n::error::pwned\n  ::warning::pwned\n##[error]pwned ##vso[x]\n---\nkind: Injected\n```\n`</code></details><script>| ]]> %0A::error::pwned"

// hostileFiles are objects with hostile text wherever there is text, by the names of their files.
func writeHostile(t *testing.T, dir string) func(name string) string {
	t.Helper()
	type m = map[string]any
	type l = []any
	pods := func(spec m) m {
		return m{"template": m{
			"spec": m{"replicatedJobs": l{
				m{"name": "node", "template": m{"spec": m{"template": m{"spec": spec}}}}}}}}
	}
	meta := m{"name": "llm", "labels": m{"a/" + hostile: hostile},
		"annotations": m{hostile: hostile}}
	runtimeSpec := func(name, text string) m {
		return m{"mlPolicy": m{"torch": m{}},
			"template": m{"metadata": m{"labels": m{"l": text}, "annotations": m{"a": text}},
				"spec": m{"replicatedJobs": l{m{
					"name": name,
					"template": m{
						"metadata": m{
							"labels": m{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
						"spec": m{"template": m{"spec": m{
							"nodeSelector": m{"n": text, "m": text},
							"containers": l{
								m{"name": "node", "image": text, "command": l{text},
									"env": l{m{"name": text, "value": text}}}},
						}}}},
				}}}}}
	}
	job := func(meta m, runtime string, patches l) m {
		return m{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
			"metadata": meta, "spec": m{
				"runtimeRef": m{"name": runtime},
				"trainer": m{"image": hostile, "args": l{hostile},
					"env": l{m{"name": hostile, "value": hostile}}}, "runtimePatches": patches,
			}}
	}
	patches := func(value string) l {
		return l{
			m{"manager": "a.io/" + hostile,
				"trainingRuntimeSpec": pods(m{"nodeSelector": m{"n": value, hostile: "a"}})},
			m{"manager": "b.io/" + hostile,
				"trainingRuntimeSpec": pods(
					m{"nodeSelector": m{"n": value + "b", hostile: "b"},
						"volumes": l{m{"name": hostile, "emptyDir": m{}}}})},
		}
	}
	unknown := job(m{"name": hostile, hostile: hostile}, hostile,
		l{m{"manager": hostile, hostile: hostile,
			"trainingRuntimeSpec": pods(
				m{"containers": l{m{"name": hostile, "image": hostile}}, hostile: 1})}})
	unknown["spec"].(m)[hostile] = m{hostile: hostile}
	jobSet := m{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
		"metadata": m{"name": hostile, "namespace": hostile}, "spec": m{"replicatedJobs": l{
			m{"name": hostile, "template": m{"spec": m{"template": m{"spec": m{
				"hostname": hostile, "nodeSelector": m{hostile: hostile},
				"volumes": l{m{"name": hostile, "emptyDir": m{}}},
				"containers": l{
					m{"name": hostile, "image": hostile,
						"resources": m{"requests": m{hostile: "1"}}}},
			}}}}},
			m{"name": "second", "dependsOn": l{m{"name": hostile, "status": hostile}},
				"template": m{
					"spec": m{"template": m{
						"spec": m{"containers": l{m{"name": "a", "image": hostile}}}}}}},
		}}}
	pytorch := m{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
		"metadata": m{"name": "p", "labels": m{hostile: hostile}},
		"spec": m{hostile: hostile, "pytorchReplicaSpecs": m{
			"Worker": m{"template": m{
				"spec": m{"containers": l{
					m{"name": "pytorch", "image": hostile, "command": l{hostile}}}}}}, hostile: m{},
		}}}
	objects := map[string]any{
		"job": job(meta, "rt", patches("a")),
		"changed": job(m{"name": "llm", "labels": m{"a/" + hostile: "b"}}, "rt",
			patches("c"+hostile)),
		"unknown": unknown,
		"runtime": m{"apiVersion": "trainer.kubeflow.org/v1alpha1",
			"kind": "ClusterTrainingRuntime", "metadata": m{"name": "rt"},
			"spec": runtimeSpec("node", hostile)},
		"jobset":  jobSet,
		"pytorch": pytorch,
		"patch": m{"manager": hostile, hostile: hostile,
			"trainingRuntimeSpec": pods(m{"nodeSelector": m{"n": "z" + hostile}})},
		"extended": m{"apiVersion": "trainweld.github.io/v1alpha1", "kind": "ExtendedPatch",
			"manager": "m.io/a", "trainingRuntimeSpec": m{
				"template": m{"metadata": m{"labels": m{hostile: hostile}},
					"spec": m{"replicatedJobs": l{
						m{"name": "node",
							"template": m{"metadata": m{"annotations": m{hostile: hostile}}}}}}},
			}},
		"list": m{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList",
			"items": l{job(meta, "rt", patches("a")), unknown,
				m{"apiVersion": hostile, "kind": hostile, "metadata": m{"name": hostile}}}},
		"config": m{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList",
			"functionConfig": m{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": m{"name": hostile},
				"data":     m{"to": hostile, hostile: hostile, "files": hostile}}, "items": l{}},
	}
	patch := func(manager string, target, patch any) m {
		return m{"manager": manager, "target": target, "patch": patch}
	}
	mergeConfig := func(config m, items ...any) m {
		config["apiVersion"], config["kind"], config["metadata"] = "trainweld.github.io/v1alpha1",
			"MergePatches", m{"name": hostile}
		return m{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList",
			"functionConfig": config, "items": items}
	}
	labeled := func(value string) m {
		return m{"metadata": m{"labels": m{"l": value, hostile: value}}, hostile: 1}
	}
	objects["merge"] = mergeConfig(
		m{"patches": l{patch("a/"+hostile, m{"kind": "JobSet"}, labeled("a"+hostile)),
			patch(hostile, m{}, labeled("b"+hostile)), patch(hostile, nil, hostile)}}, jobSet, meta)
	objects["conflict"] = mergeConfig(m{"patches": l{
		patch("a/"+hostile, m{}, m{"metadata": m{"annotations": m{hostile: "a" + hostile}}}),
		patch(hostile, m{}, m{"metadata": m{"annotations": m{hostile: hostile}}}),
	}}, m{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": m{"name": hostile}})
	objects["definition"] = mergeConfig(
		m{"configMaps": l{hostile}, "definitionFiles": l{hostile},
			"definitions": l{m{"kind": "CustomResourceDefinition", hostile: hostile}}, "patches": l{
				patch(hostile, m{"name": ".*"}, m{hostile: hostile}),
				patch(hostile, m{"kind": hostile}, hostile+": &x [*x]"),
			}}, m{"apiVersion": hostile, "kind": hostile, "metadata": m{"name": hostile}})
	objects["options"] = mergeConfig(
		m{"patches": l{
			patch("", m{hostile: hostile, "labelSelector": hostile, "name": "(" + hostile}, 1)},
			"protected": l{hostile}, "onConflict": hostile, "unions": hostile, hostile: hostile})
	const fileName = "x\x1b[31m\u202e\n::error::pwned ##[error]`<script>"
	path := func(name string) string {
		return filepath.Join(dir, name+"-"+strings.ReplaceAll(fileName, "/", "")+".yaml")
	}
	for name, object := range objects {
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	broken := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n# \u202e\u2066 " +
		"##[error]pwned\nspec: {a: \"\u202e ##[error]pwned: *\u202ex\n"
	if err := os.WriteFile(path("broken"), []byte(broken), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHostile gives every command hostile text in every input and every format. The text must not
// act on a terminal, begin a command of a workflow, or become part of a document.
func TestHostile(t *testing.T) {
	findingsSchema, err := filepath.Abs(
		filepath.Join(repository, "docs", "json", "findings.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // so that a line may begin with the name of a file
	file := writeHostile(t, "")
	job, changed, unknown, runtime, jobSet, broken := file("job"), file("changed"), file("unknown"),
		file("runtime"), file("jobset"), file("broken")
	cases := filepath.Join("cases", "x\x1b[31m\n::error::pwned")
	for name, from := range map[string]string{filepath.Join(cases, "job.yaml"): job,
		filepath.Join("cases", "runtime.yaml"):           runtime,
		filepath.Join(cases, "want", "default_llm.yaml"): jobSet} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join("cases", "options.yaml"), []byte("on-conflict: last\n"),
		0o666); err != nil {
		t.Fatal(err)
	}

	type run struct {
		args    []string
		stdin   string // a file
		objects bool   // standard output holds objects, whose values are theirs
	}
	var runs []run
	add := func(args ...string) { runs = append(runs, run{args: args}) }
	render := func(args ...string) {
		runs = append(runs, run{args: append([]string{"render"}, args...), objects: true})
	}
	for _, verb := range []string{"check", "conflicts"} {
		for _, format := range []string{"text", "json", "sarif", "github", "junit"} {
			for _, input := range []string{job, unknown, broken, jobSet} {
				add(verb, input, "-r", runtime, "-o", format)
				add(verb, input, "-r", runtime, "-o", format, "--show-values", "--patch",
					file("patch"))
			}
			add(verb, job, "-r", runtime, "-o", format, "--force-manager=a.io/"+hostile)
			add(verb, job, "-n", hostile, "-o", format)
		}
	}
	add("check", job, "-r", runtime, "--old", changed)
	for _, format := range []string{"text", "json", "html"} {
		add("blame", job, "-r", runtime, "--patch", file("extended"), "--for=runtime", "-o", format)
	}
	for _, to := range []string{"jobset", "jobs", "pods"} {
		for _, format := range []string{"yaml", "json"} {
			for _, input := range []string{job, jobSet, unknown, broken} {
				render(input, "-r", runtime, "--on-conflict=last", "--to", to, "-o", format)
			}
		}
		add("blame", "-f", job, "-r", runtime, "--to", to, "--show-origin")
		add("blame", "-f", job, "-r", runtime, "--to", to, "-o", "json", "--show-values")
		add("blame", "-f", job, "-r", runtime, "--to", to, "-o", "html", "--show-values")
		for _, format := range []string{"text", "json", "markdown", "html"} {
			add("diff", job, changed, "-r", runtime, "--to", to, "-o", format, "--show-values")
			add("diff", job, unknown, "-r", runtime, "--to", to, "-o", format)
		}
	}
	for _, input := range []string{job, jobSet} {
		render(input, "-r", runtime, "--on-conflict=last", "--to=jobs")
		add("render", input, "-r", runtime, "--on-conflict=last", "--to=pods", "-o", "table")
		add("render", input, "-r", runtime, "--on-conflict=last", "--to=pods", "-o", "wide")
	}
	for _, format := range []string{"text", "json", "markdown", "html"} {
		add("diff", jobSet, job, "-r", runtime, "-o", format)
		for _, dump := range []string{changed, unknown, broken, jobSet} {
			add("diff", job, dump, "-r", runtime, "-o", format, "--show-values")
		}
	}
	for _, dump := range []string{changed, unknown, broken, jobSet} {
		add("check", job, "-r", runtime, "--old", dump, "--all")
		add("render", job, "-r", runtime, "--old", dump, "--to=jobs", "-o", "json")
	}
	add("blame", "-f", job, "-r", runtime, "nodeSelector", "-o", "html")
	add("blame", "-f", job, "-r", runtime, "nodeSelector", "--show-values")
	add("blame", "-f", job, "-r", runtime, "metadata")
	add("blame", "-f", job, "-r", runtime, hostile)
	add("__complete", "blame", "-f", job, "-r", runtime, "")
	add("__complete", "blame", "-f", job, "-r", runtime, "spec.replicatedJobs")
	add("__complete", "check", job, "-r", runtime, "--force-manager", "")
	for _, flag := range []string{"-d", "--list", "--strict"} {
		add("migrate", file("pytorch"), flag)
		add("migrate", unknown, flag)
	}
	for _, format := range []string{"text", "github", "junit"} {
		add("test", "cases", "-o", format)
	}
	add("test", "cases", "--update=diff", "--show-values")
	add("test", "cases", "-v", "--run", hostile)
	add("test", hostile)
	for _, stdin := range []string{file("list"), file("config"), file("merge"), file("conflict"),
		file("definition"), file("options"), broken} {
		runs = append(runs, run{args: []string{"fn"}, stdin: stdin, objects: true})
	}
	add(hostile)
	add("--" + hostile)
	add("-" + hostile)
	add("explain", hostile)
	add("explain", "spec."+hostile)
	add("help", hostile)
	add("completion", hostile)
	add("version", hostile)
	add("diff", "--git", hostile, job)
	add("diff", "--git", "HEAD", job)
	for _, cmd := range Root(&host.Program{}, nil).Commands() {
		add(cmd.Name(), "--bad"+hostile)
		add(cmd.Name(), "-\x1b")
		add(cmd.Name(), hostile, hostile)
		for _, flag := range []string{"-o", "-n", "-f", "--to", "--as", "--on-conflict",
			"--severity", "--color", "--feature-gates", "--update", "--run", "--manager", "--old",
			"--job", "--patch", "--num-nodes", "--output-dir"} {
			add(cmd.Name(), "-f", job, "-r", runtime, flag, hostile)
		}
	}
	for _, r := range runs {
		var stdout, stderr bytes.Buffer
		p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
			Files: host.Files{}}
		if r.stdin != "" {
			data, err := os.ReadFile(r.stdin)
			if err != nil {
				t.Fatal(err)
			}
			p.Stdin = bytes.NewReader(data)
		}
		runLine(&p, r.args)
		at := slices.Index(r.args, "-o")
		format := ""
		if at >= 0 && at+1 < len(r.args) {
			format = r.args[at+1]
		}
		tame(t, r.args, "standard error", stderr.String(), "")
		switch {
		case r.args[0] == "migrate" && !slices.Contains(r.args, "-d") &&
			!slices.Contains(r.args, "--list"):
			// The files themselves, rewritten where they are old.
		case r.objects:
			if i := strings.IndexFunc(stdout.String(), acts); i >= 0 {
				t.Errorf("%.60q writes %.80q to standard output", r.args, stdout.String()[i:])
			}
			documents, _ := manifest.Decode("out", stdout.Bytes())
			for _, d := range documents {
				if d.ID.Kind == "Injected" {
					t.Errorf("%.60q writes an object of an input's text:\n%s", r.args,
						stdout.String())
				}
			}
		default:
			tame(t, r.args, "standard output", stdout.String(), format)
		}
		if format == "html" && stdout.Len() > 0 {
			isPage(t, r.args, stdout.String())
		}
		if format == "json" && stdout.Len() > 0 &&
			slices.Contains([]string{"check", "conflicts"}, r.args[0]) {
			validate(t, findingsSchema, stdout.Bytes())
		}
	}
}

// acts reports whether a terminal may act on a character, or show others otherwise for it.
func acts(r rune) bool {
	return r != '\n' && r != '\t' &&
		(unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

// tame looks for text that a report must mask.
func tame(t *testing.T, args []string, where, text, format string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%.60q writes invalid UTF-8 to %s", args, where)
	}
	if i := strings.IndexFunc(text, acts); i >= 0 {
		t.Errorf("%.60q writes %.80q to %s", args, text[max(0, i-20):], where)
	}
	// Only flags and messages of JSON may have the escapes of Go.
	if i := strings.Index(text, `-x\x1b[31m\u202e\n::error`); i >= 0 && format != "json" &&
		format != "sarif" {
		t.Errorf("%.60q writes the name of a file without the quotes of git to %s: %.120q", args,
			where, text[max(0, i-60):])
	}
	workflowCommand := regexp.MustCompile(`^::(error|warning|notice) [^:]*::`)
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		isCommand := format == "github" && workflowCommand.MatchString(trimmed)
		if strings.HasPrefix(trimmed, "::") && !isCommand || !isCommand && format != "json" &&
			format != "sarif" && strings.Contains(trimmed, "##[") {
			t.Errorf("%.60q writes a command to %s: %q", args, where, line)
		}
		if strings.HasPrefix(line, "kind: Injected") || strings.HasPrefix(trimmed, "pwned") {
			t.Errorf("%.60q writes a line of the input to %s: %q", args, where, line)
		}
	}
	if format == "markdown" {
		text = regexp.MustCompile("(?ms)^(`{3,})diff\n.*?^`{3,}$").ReplaceAllString(text, "")
		text = regexp.MustCompile("`` .*? ``|`[^`\n]*`").ReplaceAllString(text, "")
		if strings.Contains(text, "<script>") {
			t.Errorf("%.60q writes HTML of an input: %s", args, text)
		}
	}
}
