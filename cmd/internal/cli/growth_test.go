package cli

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// growth is a command, and input of a size.
type growth struct {
	name  string
	args  []string // before the files; one with a number stands n times
	again string   // an argument that stands n times behind the others, or ""
	file  func(n int) string
	n     int // of the smaller input
	// beside is another file, which BESIDE in args names. The input is then all that stands in
	// file, without a runtime.
	beside func(n int) string
	// folder has the files by their names, in place of file and beside. Their names are in args,
	// and stdin is the standard input. With git, the files in which SIDE is old are the revision
	// HEAD.
	folder func(n int) map[string]string
	isGit  bool
}

// run is a command line in a directory.
type run struct {
	dir, stdin string
	args       []string
}

// growing returns commands with input that grows.
func growing() []growth {
	return []growth{
		{name: "check good variables", n: 500, args: []string{"check"},
			file: trainJobOf(env(`{name: V%d, value: a}`))},
		{name: "check variables as JSON", n: 500, args: []string{"check", "-o", "json"},
			file: trainJobOf(env(`{name: V%d, value: %[1]d}`))},
		{name: "check unknown fields", n: 300, args: []string{"check", "-o", "json"},
			file: trainJobOf(lines("    unknown%d: 1\n"))},
		{name: "check node selectors", n: 300, args: []string{"check", "-o", "json"},
			file: trainJobOf(patched("spec: {nodeSelector: {%s}}", `"k %d": a`))},
		{name: "check bare tags of one line", n: 300, args: []string{"check"},
			file: trainJobOf(patched("spec: {nodeSelector: {%s}}", `k%d: ! 1`))},
		{name: "check volumes", n: 300, args: []string{"check", "-o", "json"},
			file: trainJobOf(patched("spec: {volumes: [%s]}", `{name: V%d, emptyDir: {}}`))},
		{name: "check mounts", n: 300, args: []string{"check", "-o", "json"},
			file: trainJobOf(
				patched("spec: {containers: [{name: node, volumeMounts: [%s]}]}",
					`{name: a%d, mountPath: /a%[1]d}`))},
		{name: "check containers", n: 200, args: []string{"check", "-o", "json"},
			file: trainJobOf(patched("spec: {containers: [%s]}", `{name: a%d}`))},
		{name: "check files", n: 50, args: []string{"check", "-o", "json"},
			file: func(n int) string { return times(n, trainJob("a%d", "")+nextFile) }},
		{name: "check replicated jobs", n: 10, args: []string{"check", "-o", "json"},
			file: replicated},
		{name: "check managers", n: 10, args: []string{"check", "-o", "json"}, file: managers},
		{name: "check documents", n: 50, args: []string{"check", "-o", "json"},
			file: func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }},
		{name: "check documents of one name", n: 50, args: []string{"check", "-o", "json"},
			file: func(n int) string { return times(n, "---\n"+trainJob("a", "")) }},
		{name: "conflicts on variables", n: 300, args: []string{"conflicts", "-o", "json"},
			file: trainJobOf(
				contested("spec: {containers: [{name: node, env: [%s]}]}",
					`{name: V%d, value: M}`))},
		{name: "conflicts on volumes", n: 300, args: []string{"conflicts", "-o", "json"},
			file: trainJobOf(
				contested("spec: {volumes: [%s]}", `{name: v%d, hostPath: {path: /M}}`))},
		{name: "conflicts of managers", n: 10, args: []string{"conflicts", "-o", "json"},
			file: managers},
		{name: "conflicts of files", n: 50, args: []string{"conflicts"}, file: func(n int) string {
			return times(n, trainJob("a%d", "")+nextFile)
		}},
		{name: "blame labels as HTML", n: 300, args: []string{"blame", "-o", "html"},
			file: trainJobOf(patched("metadata: {labels: {%s}}", `k%d: a`))},
		{name: "blame replicated jobs", n: 10, args: []string{"blame"}, file: replicated},
		{name: "blame managers", n: 10, args: []string{"blame", "-o", "html"}, file: managers},
		{name: "blame documents", n: 50, args: []string{"blame", "-o", "html"},
			file: func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }},
		{name: "blame Pods", n: 100, args: []string{"blame", "--to=pods"}, file: pods},
		{name: "blame variables", n: 300, args: []string{"blame"},
			file: trainJobOf(env(`{name: V%d, value: a}`))},
		{name: "diff variables", n: 300, args: []string{"diff"},
			file: trainJobOf(env(`{name: V%d, value: SIDE}`))},
		{name: "diff labels", n: 300, args: []string{"diff", "-o", "json"},
			file: trainJobOf(patched("metadata: {labels: {%s}}", `k%d: SIDE`))},
		{name: "diff files", n: 50, args: []string{"diff", "-o", "html"}, file: func(n int) string {
			return times(n, trainJob("a%d", "    image: SIDE\n")+nextFile)
		}},
		{name: "diff replicated jobs", n: 10, args: []string{"diff"}, file: replicated},
		{name: "diff managers", n: 10, args: []string{"diff"}, file: managers},
		{name: "diff Pods", n: 100, args: []string{"diff", "--to=pods"}, file: pods},
		{name: "diff documents", n: 50, args: []string{"diff"}, file: func(n int) string {
			return times(n, "---\n"+trainJob("a%d", "    image: SIDE\n"))
		}},
		{name: "check with observed documents", n: 50,
			args: []string{"check", "new.yaml", "--old", "dump.yaml"}, folder: observed("", "")},
		{name: "check with refused variables", n: 1000,
			args: []string{"check", "new.yaml", "--old", "dump.yaml"},
			folder: func(n int) map[string]string {
				files := observed("", "")(1)
				files["dump.yaml"] = strings.Replace(files["dump.yaml"], "name: a0", "name: a", 1)
				files["new.yaml"] = trainJobOf(env(`{name: V%d, value: a}`))(n) + workRuntime
				return files
			}},
		{name: "check with a dump of Jobs", n: 100,
			args: []string{"check", "new.yaml", "--old", "dump.yaml"},
			folder: func(n int) map[string]string {
				files := observed("", "")(1)
				files["dump.yaml"] += times(
					n, "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a0-node-%d, "+
						"namespace: default, labels: {jobset.sigs.k8s.io/jobset-name: "+
						"a0}}\nspec: {template: {spec: {containers: [{name: node, image: old}]}}}\n")
				return files
			}},
		{name: "check with equal observed documents", n: 20,
			args: []string{"check", "new.yaml", "--old", "dump.yaml"},
			folder: func(n int) map[string]string {
				return map[string]string{
					"new.yaml":  times(n, "---\n"+trainJob("llm", "")) + workRuntime,
					"dump.yaml": times(n, dumped("llm", ""))}
			}},
		{name: "render variables", n: 500, args: []string{"render", "--to=pods"},
			file: trainJobOf(env(`{name: V%d, value: a}`))},
		{name: "render files", n: 50, args: []string{"render"}, file: func(n int) string {
			return times(n, trainJob("a%d", "")+nextFile)
		}},
		{name: "render replicated jobs", n: 10, args: []string{"render", "--to=jobs"},
			file: replicated},
		{name: "render managers", n: 10, args: []string{"render", "--on-conflict=last"},
			file: managers},
		{name: "render Pods", n: 100, args: []string{"render", "--to=pods"}, file: pods},
		{name: "render a table of Pods", n: 100,
			args: []string{"render", "--to=pods", "-o", "table"}, file: pods},
		{name: "render documents", n: 50, args: []string{"render"}, file: func(n int) string {
			return times(n, "---\n"+trainJob("a%d", ""))
		}},
		{name: "render merge keys", n: 300, args: []string{"render"},
			file: trainJobOf(func(n int) string {
				return "    env:\n    - &a {name: A, value: a}\n" +
					times(n, "    - {<<: *a, name: V%d}\n")
			})},
		{name: "check missing runtimes", n: 100, args: []string{"check", "-o", "json"},
			file: missingRuntimes},
		{name: "check values of an enum", n: 200,
			args: []string{"check", "-o", "json", "--crd", "BESIDE"}, file: widget,
			beside: widgetEnum},
		{name: "merge ports", n: 200, args: []string{"merge", "--patch", "BESIDE"},
			file: deployment("{name: c%d, image: a}"),
			beside: deployment(
				"{name: c%d, ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]}")},
		{name: "merge unions", n: 200, args: []string{"merge", "--patch", "BESIDE"},
			file:   deployment("{name: c%d, livenessProbe: {exec: {}}}"),
			beside: deployment("{name: c%d, livenessProbe: {httpGet: {port: 1}}}")},
		{name: "merge duplicates", n: 200, args: []string{"merge", "--patch", "BESIDE"},
			file:   deployment("{name: c%d, image: a}"),
			beside: deployment("{name: c%d, image: a}\n      - {name: c%[1]d}")},
		{name: "merge deletions", n: 300, args: []string{"merge", "--patch", "BESIDE"},
			file:   deployment("{name: c%d, image: a}"),
			beside: deployment("{name: c%d, $patch: delete}")},
		{name: "migrate overrides", n: 40, args: []string{"migrate"},
			file: overrides(
				"  - targetJobs: [{name: node}]\n    spec: {nodeSelector: {k%d: a}}\n")},
		{name: "migrate items of a List", n: 40, args: []string{"migrate"},
			file: func(n int) string {
				const item = "\n- apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  " +
					"metadata: {name: a%d}\n  spec:\n    runtimeRef: {name: torch}\n    # of a\n " +
					"   labels: {a: b}"
				return overridden("") + "---\napiVersion: v1\nkind: List\nitems:" +
					times(n, item) + "\n"
			}},
		{name: "migrate volumes", n: 100, args: []string{"migrate"}, file: func(n int) string {
			return overridden("  - targetJobs: [{name: node}]\n    spec:\n      volumes:\n" +
				times(n, "      - {name: v%d, emptyDir: {}} # of %[1]d\n"))
		}},
		{name: "migrate targets", n: 20, args: []string{"migrate"}, file: func(n int) string {
			return wide(overridden("  - spec: {serviceAccountName: a}\n    targetJobs:\n"+
				times(n, "    - name: extra%d\n")), n)
		}},
		{name: "force managers", n: 20, args: []string{"conflicts", "--force-manager=m.io/a%d"},
			file: managers},
		// Other commands.
		{name: "fn", n: 50, args: []string{"fn"},
			folder: stdin(itemsOf("{}", func(n int) string {
				return times(n, trainJob("a%d", "")+nextFile)
			}))},
		{name: "fn replicated jobs", n: 10, args: []string{"fn"},
			folder: stdin(itemsOf("{to: jobs}", replicated))},
		{name: "fn merge", n: 50, args: []string{"fn"},
			folder: stdin(
				mergeList("{manager: a, target: {kind: Deployment}, patch: {spec: {template: "+
					"{spec: {containers: [{name: c1, image: b}]}}}}}", func(n int) string {
					return times(
						n, "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d%d}, spec: "+
							"{template: {spec: {containers: [{name: c1, image: a}]}}}}\n")
				}))},
		{name: "fn merge patches", n: 20, args: []string{"fn"},
			folder: func(n int) map[string]string {
				patches := strings.TrimSuffix(
					times(n, "{manager: m%d, target: {kind: Deployment}, patch: {spec: "+
						"{template: {spec: {containers: [{name: c%[1]d, image: b}]}}}}}, "), ", ")
				return stdin(mergeList(patches, func(n int) string {
					return "- " + strings.ReplaceAll(deployment("{name: c%d, image: a}")(n), "\n",
						"\n  ") + "\n"
				}))(n)
			}},
		{name: "fn conflicts of managers", n: 40, args: []string{"fn"},
			folder: func(n int) map[string]string {
				patches := times(
					n, "{manager: m%d, target: {kind: ConfigMap}, patch: {data: {k%[1]d: a}}}, "+
						"{manager: o%[1]d, target: {kind: ConfigMap}, patch: {data: {k%[1]d: b}}}, ")
				return stdin(mergeList(patches, func(int) string { return configMaps(1) }))(n)
			}},
		{name: "cases", n: 20, args: []string{"test", "cases"}, folder: cases},
		{name: "update cases", n: 20, args: []string{"test", "cases", "--update"}, folder: cases},
		{name: "migrate training jobs", n: 50, args: []string{"migrate"}, file: func(n int) string {
			return times(n, pyTorchJob)
		}},
		{name: "migrate replicas", n: 100, args: []string{"migrate"}, file: func(n int) string {
			return pyTorchJob + "            env:\n" +
				times(n, "            - {name: V%d, value: a}\n")
		}},
		{name: "migrate files", n: 50, args: []string{"migrate", "--list"},
			file: func(n int) string { return times(n, pyTorchJob+nextFile) }},
		{name: "blame the origins of labels", n: 300, args: []string{"blame", "--show-origin"},
			file: trainJobOf(patched("metadata: {labels: {%s}}", `k%d: a`))},
		{name: "blame another object", n: 200, args: []string{"blame", "--patch", "BESIDE"},
			file: deployment("{name: c%d, image: a}"), beside: deployment("{name: c%d, image: b}")},
		{name: "compare another object", n: 200,
			args: []string{"conflicts", "--patch", "old.yaml", "--patch", "BESIDE"},
			file: deployment("{name: c%d, image: a}"), beside: deployment("{name: c%d, image: b}")},
		{name: "merge deleted elements", n: 300,
			args: []string{"merge", "base.yaml", "--patch", "a=a.yaml", "--patch", "b=b.yaml"},
			folder: func(n int) map[string]string {
				const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a"
				elements := "finalizers: [" + times(n, "a.io/f%d, ") + "]}\n"
				return map[string]string{"base.yaml": head + "}\n", "a.yaml": head + ", " + elements,
					"b.yaml": head + ", $deleteFromPrimitiveList/" + elements}
			}},
		// Files that flags and settings name.
		{name: "patch files", n: 20,
			args:   []string{"check", "--patch=m.io/a%d=patch.yaml", "jobs.yaml"},
			folder: patchFiles},
		{name: "rejected extended patches", n: 50,
			args: []string{"check", "--patch=patches.yaml", "jobs.yaml"}, folder: extendedPatches},
		{name: "extended patches", n: 20,
			args:   []string{"render", "--patch=patches.yaml", "-f", "jobs.yaml", "--for=runtime"},
			folder: func(n int) map[string]string { return extendedPatchesOf(n, 1, "a") }},
		{name: "derived runtimes", n: 20,
			args: []string{"check", "--patch=patches.yaml", "jobs.yaml"}, folder: derivedRuntimes},
		{name: "check derived runtimes", n: 20, args: []string{"check", "jobs.yaml"},
			folder: func(n int) map[string]string {
				derived := strings.NewReplacer("ClusterTrainingRuntime", "TrainingRuntime",
					"name: torch,",
					"name: torch-a%d, namespace: default, annotations: "+
						"{trainweld.github.io/derived-from: ClusterTrainingRuntime/torch, "+
						"trainweld.github.io/base-hash: a},").Replace(workRuntime)
				return map[string]string{
					"jobs.yaml": workRuntime + times(n, derived) +
						times(n, strings.Replace("---\n"+trainJob("a%d", ""), "{name: torch}",
							"{kind: TrainingRuntime, name: torch-a%[1]d}", 1))}
			}},
		{name: "selected extended patches", n: 20, args: []string{"check", "jobs.yaml"},
			folder: func(n int) map[string]string {
				files := map[string]string{
					"jobs.yaml": times(n, "---\n"+trainJob("a%d", "")) + workRuntime,
					"trainweld.yaml": "patches:\n" +
						times(n, "- {file: patches/p%d.yaml, for: {names: [a%[1]d]}}\n")}
				for i := range n {
					files[fmt.Sprintf("patches/p%d.yaml", i)] = fmt.Sprintf(extendedPatch, i, "a")
				}
				return files
			}},
		{name: "patches of another object", n: 20,
			args: []string{"merge", "-f", "base.yaml", "--patch=m%d=patch.yaml"},
			folder: func(n int) map[string]string {
				return map[string]string{"base.yaml": deployment("{name: c%d, image: a}")(1),
					"patch.yaml": deployment("{name: c%d, image: b}")(1)}
			}},
		{name: "apply another object", n: 200,
			args: []string{"merge", "-f", "object.yaml", "--type=apply", "--crd", "crd.yaml",
				"--patch", "m=object.yaml"}, folder: manyFields},
		{name: "leftovers of an apply", n: 200,
			args:   []string{"merge", "-f", "live.yaml", "--type=apply", "--patch", "m=patch.yaml"},
			folder: leftovers},
		{name: "conflicts on items of several keys", n: 200,
			args: []string{"conflicts", "-f", "base.yaml", "--type=apply", "--patch", "a.yaml",
				"--patch", "b.yaml"}, folder: ports},
		{name: "definitions", n: 20, args: []string{"check", "--crd", "crds", "objects"},
			folder: definitions},
		{name: "definition of fields", n: 200,
			args: []string{"check", "--crd", "crd.yaml", "object.yaml"}, folder: manyFields},
		{name: "runtimes", n: 50, args: []string{"check", "-r", "runtimes.yaml", "jobs.yaml"},
			folder: runtimes},
		{name: "objects before", n: 50, args: []string{"check", "--old", "old.yaml"},
			file: func(n int) string {
				return times(n, "---\n"+trainJob("a%d", "    image: SIDE\n"))
			}},
		{name: "terms of a selector", n: 100,
			args: []string{"check", "-l", strings.TrimSuffix(strings.Repeat("a!=b,", 1000), ",")},
			file: trainJobOf(env(`{name: V%d, value: a}`))},
		{name: "output files", n: 50, args: []string{"render", "--output-dir=out", "--prune"},
			file: func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }},
		{name: "Secrets", n: 50,
			args: []string{"render", "--generate-secrets", "--owner-references", "--for=apply"},
			file: func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }},
		{name: "releases", n: 30,
			args: []string{"diff", "--from-version=2.1", "--to-version=2.3", "jobs.yaml"},
			folder: func(n int) map[string]string {
				return map[string]string{
					"jobs.yaml": times(n, "---\n"+trainJob("a%d", "")) + workRuntime}
			}},
		{name: "managers of a policy", n: 20, args: []string{"check", "jobs.yaml"},
			folder: policyOf(managers, func(n int) string {
				return "managers:\n" + times(n, "- {name: m.io/a%d}\n")
			})},
		{name: "managers of two policies", n: 20, args: []string{"policy", "a.yaml", "b.yaml"},
			folder: func(n int) map[string]string {
				list := func(name, managers string) string {
					return "cluster: {name: " + name + "}\nmanagers:\n" + times(n, managers)
				}
				return map[string]string{"a.yaml": list("a", "- {name: m.io/a%d, users: [a]}\n"),
					"b.yaml": list("b", "- {name: m.io/a%d, users: [b]}\n")}
			}},
		{name: "mistakes of a policy", n: 300, args: []string{"check", "jobs.yaml"},
			folder: policyOf(trainJobOf(lines("")), func(n int) string {
				return "patches:\n" + times(n, "- {file: /%d}\n")
			})},
		{name: "paths of a manager", n: 100, args: []string{"check", "jobs.yaml"},
			folder: policyOf(trainJobOf(patched("metadata: {labels: {%s}}", `k%d: a`)),
				func(n int) string {
					return "managers:\n- name: m.io/a\n  paths:\n" +
						times(n, "  - '.spec.replicatedJobs[*].template.spec.template.metadata.labels[\"k%d\"]'\n")
				})},
		{name: "patches of a policy", n: 20, args: []string{"conflicts", "jobs.yaml"},
			folder: patchFiles},
		{name: "jobs of a policy", n: 50, args: []string{"check", "jobs.yaml"},
			folder: policyOf(func(n int) string {
				return times(n, "---\n"+trainJob("a%d", ""))
			}, func(n int) string {
				return "managers:\n- {name: m.io/a, required: true, for: {names: [a1]}}\n"
			})},
		// Trees: of git, of kustomize, and of commands.
		{name: "check a change of files", n: 20,
			args: []string{"check", "--git", "HEAD", "jobs", "-r", "rt.yaml"}, folder: jobFiles,
			isGit: true},
		{name: "diff a change of files", n: 20,
			args: []string{"diff", "--git", "HEAD", "jobs", "-r", "rt.yaml"}, folder: jobFiles,
			isGit: true},
		{name: "kustomizations", n: 20, args: []string{"check", "-k", "top"},
			folder: kustomizations},
		{name: "files of a kustomization", n: 30, args: []string{"render", "-k", "top"},
			folder: kustomized},
		{name: "broken files of a kustomization", n: 30, args: []string{"check", "-k", "top"},
			folder: func(n int) map[string]string {
				return map[string]string{
					"top/kustomization.yaml": "resources:\n" + times(n, "- a%d.yaml\n") +
						"patches:\n" + times(n, "- path: b%d.yaml\n")}
			}},
		{name: "a change of kustomizations", n: 10,
			args: []string{"diff", "-k", "top", "--git", "HEAD"}, folder: kustomizations,
			isGit: true},
		{name: "check unknown containers", n: 100, args: []string{"check"},
			file: func(n int) string {
				containers := times(n, "{name: c%d, image: a}, ")
				return strings.Replace(
					trainJobOf(patched("spec: {containers: [%s]}", `{name: d%d}`))(n), "torch",
					"many", 1) +
					strings.Replace(strings.Replace(workRuntime, "name: torch", "name: many", 1),
						"containers: [", "containers: ["+containers, 1)
			}},
		{name: "check overrides", n: 30, args: []string{"check", "--trainer-version=2.1"},
			file: overrides(
				"  - targetJobs: [{name: node}]\n    spec: {nodeSelector: {\"k %d\": a}}\n")},
		{name: "check managers' patches", n: 30, args: []string{"check"}, file: func(n int) string {
			return trainJob(
				"a", "  runtimePatches:\n"+
					times(n, "  - {manager: m.io/a%d, trainingRuntimeSpec: {template: {spec: "+
						"{replicatedJobs: [{name: node, template: {spec: {template: {spec: "+
						"{nodeSelector: {\"k %[1]d\": a}}}}}}]}}}}\n"))
		}},
	}
}

// command writes the files of an input, and returns the command line. A diff compares files in
// which SIDE has two values.
func (g growth) command(t *testing.T, n int) run {
	t.Helper()
	r := run{dir: t.TempDir(), args: []string{}}
	for _, arg := range g.args {
		if strings.Contains(arg, "%d") {
			r.args = append(r.args, strings.Fields(times(n, arg+" "))...)
		} else {
			r.args = append(r.args, arg)
		}
	}
	r.args = append(r.args, strings.Fields(times(n, g.again+" "))...)
	if g.folder != nil {
		for _, side := range []string{"old", "new"} {
			for name, text := range g.folder(n) {
				testenv.WriteIn(t, r.dir, name, strings.ReplaceAll(text, "SIDE", side))
			}
			if g.isGit && side == "old" {
				gitIn(t, r.dir, "", "init", "-q")
				gitIn(t, r.dir, "", "add", ".")
				gitIn(t, r.dir, "", "commit", "-qm", "a")
			}
		}
		r.stdin = g.folder(n)["stdin"]
		return r
	}
	text := g.file(n)
	if g.beside == nil {
		text += workRuntime
	}
	for _, side := range []string{"old", "new"} {
		files := strings.Split(strings.ReplaceAll(text, "SIDE", side), nextFile)
		for i, file := range files {
			name := side + ".yaml"
			if len(files) > 1 {
				name = fmt.Sprintf("%s.yaml/%d.yaml", side, i)
			}
			testenv.WriteIn(t, r.dir, name, file)
		}
	}
	files := []string{"-f", "new.yaml"}
	if g.args[0] == "diff" {
		files = []string{"old.yaml", "new.yaml"}
	}
	r.args = append(r.args, files...)
	if i := slices.Index(r.args, "BESIDE"); i >= 0 {
		r.args[i] = "beside.yaml"
		testenv.WriteIn(t, r.dir, "beside.yaml", g.beside(n))
	}
	return r
}

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
