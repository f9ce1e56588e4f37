package cli

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// attack is a repository of a stranger, and the command lines that a pipeline runs in it.
type attack struct {
	// files maps names to texts. A text "-> TARGET" makes a link, "fifo" a named pipe, and "sparse"
	// a file of 3 TiB. URL is the address of a server. SENTINEL is a file that a command of the
	// attacker would write. MARK is a text that no report shows.
	files map[string]string
	make  func(t *testing.T, dir string) // what else to make, after a commit of the files
	// a ~ stands for a space within a word, and a last word <FILE for the standard input
	lines []string
	want  string // in what the lines print, or "" where they may succeed
}

// attackLines are the lines that start git, build or read settings.
var attackLines = []string{
	"check --git HEAD . -r rt.yaml", "diff --git HEAD .",
	"render -f job.yaml -r rt.yaml --output-dir S --exit-code", "check -k top --git HEAD",
}

// dumpLines are the lines that read the dump of a cluster.
var dumpLines = []string{
	"render --old dump.yaml -f job.yaml -r rt.yaml --to=jobs -o name",
	"check --old dump.yaml job.yaml -r rt.yaml --all",
}

// dumped is a dump of one TrainJob, whose JobSet has more metadata.
func dumped(name, metadata string) string {
	const jobSet = "---\napiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata:\n  name: " +
		"%s\n  namespace: default\n%sspec: {suspend: true, replicatedJobs: [{name: node, " +
		"template: {spec: {template: {spec: {containers: [{name: node, image: old}]}}}}}]}\n"
	return "---\n" + trainJob(name, "") + fmt.Sprintf(jobSet, name, metadata)
}

// attacks returns the repositories. Each is one of a class: others of the class are in the tests of
// the guards.
func attacks() map[string]attack {
	const (
		object    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		generator = "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: " +
			"['a=URL/a']\n"
		run   = "touch SENTINEL"
		byGit = "git@localhost:a?ref=--upload-pack=touch SENTINEL;"
	)
	function := func(config string) string {
		return "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{apiVersion: " +
			"trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a}, spec: " +
			"{runtimeRef: {name: rt}}}]\nfunctionConfig: " + config + "\n"
	}
	top := func(kustomization string, more ...string) map[string]string {
		files := map[string]string{"top/kustomization.yaml": kustomization, "top/a.yaml": object}
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	build := []string{"check -k top", "render -k top"}
	plugin := func(text string) attack {
		return attack{files: top("generators: [g.yaml]\n", "top/g.yaml", text), lines: build,
			want: "TW12"}
	}
	remote := func(key, value string, more ...string) attack {
		return attack{files: top(key+": ['"+value+"']\n", more...), lines: build, want: "TW12"}
	}
	configured := func(text string) attack {
		return attack{lines: attackLines, make: func(t *testing.T, dir string) {
			config, err := os.OpenFile(filepath.Join(dir, ".git/config"),
				os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(config, strings.ReplaceAll(text, "SENTINEL", os.Getenv("SENTINEL")))
			if err := config.Close(); err != nil {
				t.Fatal(err)
			}
			testenv.WriteIn(t, dir, "rt.yaml", valuesRuntime+"# changed\n")
		}}
	}
	// A file of the revision is missing, and the configuration says how to get it.
	lacking := func(url, config string) attack {
		a := configured(
			"[remote \"o\"]\n\turl = \"" + url +
				"\"\n\tpromisor = true\n[extensions]\n\tpartialClone = o\n" + config)
		change := a.make
		a.make = func(t *testing.T, dir string) {
			hash := gitIn(t, dir, "", "rev-parse", "HEAD:job.yaml")
			if err := os.Remove(
				filepath.Join(dir, ".git/objects", hash[:2], hash[2:])); err != nil {
				t.Fatal(err)
			}
			change(t, dir)
		}
		return limited(a, 2, "")
	}
	password := configured("[http]\n\textraheader = MARK\n")
	password.files = map[string]string{
		"kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator: [{name: a, files: " +
			"[a=.git/config]}]\nreplacements: [{source: {kind: ConfigMap, fieldPath: data.a}, " +
			"targets: [{select: {kind: TrainJob}, fieldPaths: [spec.runtimeRef.name]}]}]\n",
	}
	password.lines, password.want = []string{"render -k . -r rt.yaml", "check -k . -r rt.yaml"},
		"is outside of the repository"
	long, manyPatches := strings.Repeat("x", 1<<18), 900
	if testenv.Long() {
		manyPatches *= 2
	}
	return map[string]attack{
		// Files and programs that kustomize would fetch or run.
		"URL":           remote("resources", "URL/a.yaml"),
		"file of a URL": remote("resources", byGit, "top/"+byGit, "no manifest\n"),
		"schema": {files: top("openapi: {path: 'URL/a.json'}\n"), lines: build,
			want: "TW12"},
		"plugin": plugin(generator),
		"chart": {files: top("helmCharts: [{name: a, repo: 'URL'}]\n"), lines: build,
			want: "TW12"},
		"exec function": plugin(
			"apiVersion: example.com/v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    " +
				"config.kubernetes.io/function: 'exec: {path: ./run.sh}'\n"),
		// Inputs on which kustomize does not end.
		"aliases": {
			files: top("resources: [a.yaml]\ncommonAnnotations: {a: &a \"" + long + "\"" +
				strings.Repeat(", *a : *a", 1<<15) + "}\n"), lines: build[:1], want: "TW12"},
		"aliases of settings": {
			files: map[string]string{
				"trainweld.yaml": "a: &a " + long + "\nb: [" + strings.Repeat("*a, ", 1<<12) +
					"]\n"}, lines: attackLines[:1], want: "TW100"},
		"aliases of a golden file": {
			files: map[string]string{"cases/a/job.yaml": testenv.TrainJob(0),
				"cases/rt.yaml": valuesRuntime, "cases/a/want/default_a.yaml": "a: &a " + long +
					"\nb: [" + strings.Repeat("*a, ", 1<<12) + "]\n"},
			lines: []string{"test cases"}, want: "FAIL"},
		"aliases of a patch": {
			files: map[string]string{
				"a.yaml": object, "b.yaml": "a: &a " + long + "\nb: [" +
					strings.Repeat("*a, ", 1<<12) + "]\n"},
			lines: []string{"merge -f a.yaml --patch b.yaml",
				"merge -f a.yaml --patch a.yaml --openapi b.yaml"}, want: "expand"},
		"circle of aliases": {files: top("resources: &a [*a]\n"), lines: build, want: "TW12"},
		"nested":            {files: top(strings.Repeat("[", 1<<17)), lines: build, want: "TW12"},
		"device": {files: map[string]string{"top/kustomization.yaml": "-> /dev/zero"},
			lines: build, want: "TW12"},
		"named pipe": {files: map[string]string{"top/kustomization.yaml": "fifo"}, lines: build,
			want: "TW12"},
		"large": {files: map[string]string{"top/kustomization.yaml": "sparse"}, lines: build,
			want: "TW12"},
		"pipe in it": {files: top("resources: [b.yaml]\n", "top/b.yaml", "fifo"), lines: build,
			want: "TW12"},
		// Attacks through the state of a git repository.
		"monitor": configured("[core]\n\tfsmonitor = " + run + "\n"),
		"ext": lacking("ext::sh -c "+strings.ReplaceAll(run, " ", "% "),
			"[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n"),
		"programs": lacking("ssh://localhost/a", "[core]\n\tsshCommand = "+run+"\n"),
		"working tree": limited(configured("[core]\n\tworktree = ../../outside\n"), 2,
			"takes another folder for its working tree"),
		"endless reference": {make: func(t *testing.T, dir string) {
			special(t, filepath.Join(dir, ".git/refs/heads/zero"), "-> /dev/zero")
		}, lines: []string{"diff --git zero .", "check --git zero ."},
			want: "cannot be read: git rev-parse"},
		"bare folder": {
			files: map[string]string{"ch/HEAD": "ref: refs/heads/a\n", "ch/objects/a": "",
				"ch/refs/a": "",
				"ch/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree " +
					"= .\n\tfsmonitor = " + run + "\n", "ch/Chart.yaml": "name: a\n"},
			make: func(t *testing.T, dir string) {
				index, err := os.ReadFile(filepath.Join(dir, ".git/index"))
				if err != nil {
					t.Fatal(err)
				}
				testenv.WriteIn(t, dir, "ch/index", string(index))
			}, lines: append([]string{"render -f job.yaml -r rt.yaml --output-dir ch --exit-code"},
				attackLines...)},
		"git file outside": {make: func(t *testing.T, dir string) {
			otherRepository(t, dir)
			gitFile(t, dir, "../outside/.git")
		}, lines: attackLines[:2], want: "belongs to another working tree"},
		"git link outside": {make: func(t *testing.T, dir string) {
			otherRepository(t, dir)
			gitFile(t, dir, "")
			special(t, filepath.Join(dir, ".git"), "-> ../outside/.git")
		}, lines: attackLines[:2], want: "belongs to another working tree"},
		"common folder outside": {make: func(t *testing.T, dir string) {
			otherRepository(t, dir)
			special(t, filepath.Join(dir, ".git/commondir"), "../../outside/.git\n")
		}, lines: attackLines[:2], want: "belongs to another working tree"},
		"replaced file": {make: func(t *testing.T, dir string) {
			gitIn(t, dir, "", "replace", gitIn(t, dir, "", "rev-parse", "HEAD:job.yaml"),
				gitIn(t, dir, marked, "hash-object", "-w", "--stdin"))
		}, lines: attackLines[1:2]},
		"password of the configuration": password,
		"endless alternates": {make: func(t *testing.T, dir string) {
			special(t, filepath.Join(dir, ".git/objects/info/alternates"), "-> /dev/zero")
		}, lines: attackLines[:2], want: "cannot be read: git rev-parse"},
		// Attacks through the files of a tree.
		"trees": {make: manyTrees,
			lines: []string{"check --git many .", "diff --git many .", "check -k top --git many"},
			want:  "lists more than 64 MiB"},
		"odd names": {
			files: map[string]string{"jobs/a\n::error::x\x1b[31m\xff.yaml": "MARK: x: y\n",
				"top/kustomization.yaml": "resources: [\"a\\n::error::x\\e[31m\"]\n"},
			lines: []string{"check jobs -o github", "diff jobs job.yaml -o markdown",
				"check -k top -o github"}, want: "error"},
		"deep folders": {
			files: map[string]string{strings.Repeat("d/", 300) + "job.yaml": testenv.TrainJob(0),
				strings.Repeat("d/", 300) + "Chart.yaml": "name: a\n"},
			lines: []string{"test .", "check -k ."}, want: "lies in"},
		"deep bases": {make: deepBases, lines: []string{"check -k top", "render -k top"},
			want: "lies in"},
		// Attacks through settings.
		"policy outside": {
			files: map[string]string{
				"trainweld.yaml": "policy: ../outside/secret.yaml\npatches:\n- file: " +
					"../outside/secret.yaml\n"}, lines: attackLines[:3], want: "TW"},
		"patch of a link": {
			files: map[string]string{"trainweld.yaml": "patches:\n- file: link.yaml\n",
				"link.yaml": "-> ../outside/secret.yaml"}, lines: attackLines[:3],
			want: "is outside of the repository"},
		"patch of a pipe": {
			files: map[string]string{"trainweld.yaml": "patches:\n- file: pipe.yaml\n",
				"pipe.yaml": "fifo"}, lines: attackLines[:3], want: "must be a regular file"},
		"settings: pipe": {files: map[string]string{"trainweld.yaml": "fifo"},
			lines: append([]string{"test .", "migrate --list ."}, attackLines[:3]...),
			want:  "regular file"},
		"settings: device": {files: map[string]string{"trainweld.yaml": "-> /dev/zero"},
			lines: attackLines[:3], want: "is outside of the repository"},
		"settings: link": {
			files: map[string]string{"trainweld.yaml": "-> ../outside/secret.yaml"},
			lines: attackLines[:3], want: "is outside of the repository"},
		"case of a link": {
			files: map[string]string{"cases/a/job.yaml": "-> ../../../outside/secret.yaml",
				"cases/a/want/README": ""}, lines: []string{"test cases", "test cases --update"},
			want: "is outside of the repository"},
		"link for output": {files: map[string]string{"out": "-> ../outside"},
			lines: []string{"render -f job.yaml -r rt.yaml --output-dir out",
				"render -f job.yaml -r rt.yaml --output-dir out/deep"}, want: "is outside of the repository"},
		"list of files": {
			files: map[string]string{
				"S/.trainweld-files": strings.Repeat(strings.Repeat("0", 64)+"  a\n", 300_000)},
			lines: []string{"render -f job.yaml -r rt.yaml --output-dir S --prune"},
			want:  "names more than"},
		"files of a function": {
			files: map[string]string{
				"in.yaml": function(
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {runtimeFiles: " +
						"../outside/secret.yaml}}"), "out": "-> ../outside",
				"files.yaml": function(
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {files: " +
						"out/secret.yaml}}"),
				"policy.yaml": function(
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {policy: " +
						"out/secret.yaml}}"),
				"merge.yaml": function(
					"{apiVersion: trainweld.github.io/v1alpha1, kind: MergePatches, patches: " +
						"[{manager: a, target: {kind: TrainJob}, patch: {spec: {}}}], " +
						"definitionFiles: [/dev/zero]}")},
			lines: []string{"fn <in.yaml", "fn <files.yaml", "fn <policy.yaml", "fn <merge.yaml"},
			want:  "is outside of the repository"},
		"list of a function": {
			files: map[string]string{
				"in.yaml": function(
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: [" +
						strings.Repeat("a,", 1<<22) + "]}}")},
			lines: []string{"fn <in.yaml"}, want: "has more than 250000 fields and items"},
		"targets of a function": {
			files: map[string]string{
				"in.yaml": mergeList(
					times(1000, "{manager: m%d, target: {kind: ConfigMap}, patch: {data: "+
						"{k%[1]d: a}}}, "), configMaps)(1000)},
			lines: []string{"fn <in.yaml"}, want: "the targets select too many objects"},
		"selectors of a function": {
			files: map[string]string{
				"in.yaml": mergeList(
					times(2100, "{manager: m%d, target: {kind: ConfigMap, name: '.*b%[1]d', "+
						"labelSelector: a!=b}, patch: {data: {k: a}}}, "), configMaps)(2100)},
			lines: []string{"fn <in.yaml"}, want: "the targets select too many objects"},
		"large patches of a function": {
			files: map[string]string{
				"in.yaml": mergeList(
					times(manyPatches, "{manager: m%d, target: {kind: ConfigMap}, patch: {data: {"+
						strings.ReplaceAll(times(60, "k%d-MANAGER: a, "), "MANAGER", "%[1]d")+
						"}}}, "), configMaps)(1)},
			lines: []string{"fn <in.yaml"}, want: "merged the patches of"},
		"managers of a policy": {
			files: map[string]string{
				"jobs.yaml": times(1000, "---\n"+trainJob("a%d", "")) + workRuntime,
				"trainweld.yaml": "managers:\n" +
					times(1000, "- {name: m.io/a%d, required: true}\n")},
			lines: []string{"check jobs.yaml", "render -f jobs.yaml", "conflicts jobs.yaml"},
			want:  "must have at most 256 managers"},
		"patterns of a policy": {
			files: map[string]string{
				"jobs.yaml": times(1000, "---\n"+trainJob("a%d", "")) + workRuntime,
				"trainweld.yaml": "managers: [{name: m.io/a, required: true, for: {names: [" +
					times(50_000, "'*b%d', ") + "]}}]\n"},
			lines: []string{"check jobs.yaml", "render -f jobs.yaml"},
			want:  "to select TrainJobs by"},
		"mistakes of a policy": {
			files: map[string]string{
				"trainweld.yaml": "patches:\n" + times(60_000, "- {file: /%d}\n")},
			lines: []string{"check job.yaml -r rt.yaml"}, want: "must be a relative path"},
		// Attacks through dumps.
		"names of a dump": {
			files: map[string]string{
				"dump.yaml": dumped(`"a\\e[31m\\n::error::x"`, "") +
					"---\napiVersion: v1\nkind: Secret\nmetadata: {name: llm, name: " +
					"b}\nstringData: {a: MARK, b: [MARK]}\n"}, lines: dumpLines, want: "llm"},
		"owners of a dump": {
			files: map[string]string{
				"dump.yaml": dumped(
					"llm", `  managedFields: [{manager: "a\\e[31m\\n::error::x", operation: Update, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:replicatedJobs: {}}, "k:{": {}, "i:99999999999999999999": {}}}]`+"\n")},
			lines: dumpLines, want: "llm"},
		"equal objects of a dump": {
			files: map[string]string{"dump.yaml": times(500, dumped("llm", "")),
				"job.yaml": times(500, "---\n"+trainJob("llm", ""))}, lines: dumpLines,
			want: "llm"},
		"wide object of a dump": {
			files: map[string]string{
				"dump.yaml": dumped("llm", "  labels: {"+times(1<<16, "key%d: a, ")+"}\n")},
			lines: dumpLines, want: "must have at most 32768 items"},
		"aliases of a dump": {
			files: map[string]string{
				"dump.yaml": dumped("llm", "") + "---\na: &a " + long + "\nb: [" +
					strings.Repeat("*a, ", 1<<12) + "]\n"}, lines: dumpLines, want: "TW100"},
		"link in a dump": {
			files: map[string]string{
				"dump.yaml/a.yaml": "fifo", "dump.yaml/b.yaml": "-> /dev/zero"}, lines: dumpLines,
			want: "must be a regular file"},
		"pipe of jobs": {
			files: map[string]string{"jobs/a.yaml": "fifo", "jobs/b.yaml": "-> /dev/zero"},
			lines: []string{"check jobs", "render -f jobs -r rt.yaml", "migrate jobs",
				"diff jobs job.yaml"}, want: "must be a regular file"},
	}
}

// limited returns an attack by some of its lines, which print a text.
func limited(a attack, lines int, want string) attack {
	a.lines, a.want = a.lines[:lines], want
	return a
}

// TestAttacks runs the program in repositories of strangers. No command of theirs runs, and no run
// opens a connection. No run reads or writes outside of the repository. Each run ends soon, with
// little memory and with a message.
func TestAttacks(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if n := connections.Load(); n > 0 {
			t.Errorf("%d connections, want none", n)
		}
	})
	clean := filepath.Join(t.TempDir(), "repository")
	testenv.WriteIn(t, clean, "job.yaml",
		"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm}\nspec: "+
			"{runtimeRef: {name: rt}}\n")
	testenv.WriteIn(t, clean, "rt.yaml", valuesRuntime)
	testenv.WriteIn(t, clean, "S/README", "")
	gitIn(t, clean, "", "init", "-q", "--template=")
	gitIn(t, clean, "", "add", ".")
	gitIn(t, clean, "", "commit", "-qm", "a")
	all := attacks()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		if testenv.Every(2) > 1 { // one line of each
			a.lines = a.lines[i%len(a.lines):][:1]
		}
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			sentinel, programs, dir := filepath.Join(above, "sentinel"),
				filepath.Join(above, "programs"), filepath.Join(above, "repository")
			t.Setenv("SENTINEL", sentinel)
			for _, program := range []string{"ssh", "helm", "git-upload-pack", "git-remote-http",
				"curl", "pager"} {
				testenv.WriteIn(t, programs, program, "#!/bin/sh\ntouch "+sentinel+"\n")
				if err := os.Chmod(filepath.Join(programs, program), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
			testenv.WriteIn(t, above, "outside/secret.yaml", "MARK: MARK\nkind: TrainJob\n")
			if err := os.CopyFS(dir, os.DirFS(clean)); err != nil {
				t.Fatal(err)
			}
			for file, text := range a.files {
				text = strings.NewReplacer("URL", server.URL, "SENTINEL", sentinel).Replace(text)
				special(t, filepath.Join(dir, strings.NewReplacer("SENTINEL", "s").Replace(file)),
					text)
			}
			if a.make != nil {
				a.make(t, dir)
			}
			for _, line := range a.lines {
				a.run(t, dir, line)
				if _, err := os.Stat(sentinel); err == nil {
					t.Fatalf("%s: a command of the attacker ran", line)
				}
			}
			entries, err := os.ReadDir(above)
			if err != nil || len(entries) != 3 {
				t.Errorf("written outside of the repository: %v, %v", entries, err)
			}
		})
	}
}
