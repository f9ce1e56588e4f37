package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// growth is a command, and input of a size.
type growth struct {
	name string
	args []string // before the files; one with a number stands n times
	file func(n int) string
	n    int // of the smaller input
	// beside is another file, which BESIDE in args names. The input is then all that stands in file, without a runtime.
	beside func(n int) string
}

// growing returns commands with input that grows.
func growing() []growth {
	return []growth{
		{"check variables of a wrong type", []string{"check"}, trainJobOf(env(`{name: V%d, value: %[1]d}`)), 1000, nil},
		{"check variables with bad names", []string{"check"}, trainJobOf(env(`{name: "V=%d", value: a}`)), 500, nil},
		{"check good variables", []string{"check"}, trainJobOf(env(`{name: V%d, value: a}`)), 500, nil},
		{"check variables as JSON", []string{"check", "-o", "json"}, trainJobOf(env(`{name: V%d, value: %[1]d}`)), 500, nil},
		{"check unknown fields", []string{"check", "-o", "json"}, trainJobOf(lines("    unknown%d: 1\n")), 300, nil},
		{"check labels", []string{"check", "-o", "json"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: "-"`)), 300, nil},
		{"check node selectors", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {nodeSelector: {%s}}", `"k %d": a`)), 300, nil},
		{"check one long line", []string{"check", "-o", "junit"}, trainJobOf(patched("spec: {nodeSelector: {%s}}", `"k %d": a`)), 300, nil},
		{"check tolerations", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {tolerations: [%s]}", `{key: "a %d"}`)), 300, nil},
		{"check volumes", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {volumes: [%s]}", `{name: V%d, emptyDir: {}}`)), 300, nil},
		{"check pull secrets", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {imagePullSecrets: [%s]}", `{name: a%d}`)), 300, nil},
		{"check mounts", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {containers: [{name: node, volumeMounts: [%s]}]}", `{name: a%d, mountPath: /a%[1]d}`)), 300, nil},
		{"check containers", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {containers: [%s]}", `{name: a%d}`)), 200, nil},
		{"check files", []string{"check", "-o", "json"}, func(n int) string { return times(n, trainJob("a%d", "")+nextFile) }, 50, nil},
		{"check findings as HTML", []string{"check", "-o", "html"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: "-"`)), 300, nil},
		{"check replicated jobs", []string{"check", "-o", "json"}, replicated, 10, nil},
		{"check managers", []string{"check", "-o", "json"}, managers, 10, nil},
		{"check documents as HTML", []string{"check", "-o", "html", "--all"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }, 50, nil},
		{"repair documents", []string{"check", "--fix"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "    imge: a\n")) }, 50, nil},
		{"repair files", []string{"check", "--fix"}, func(n int) string { return times(n, trainJob("a%d", "    imge: a\n")+nextFile) }, 50, nil},
		{"check documents", []string{"check", "-o", "json"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }, 50, nil},
		{"check documents of one name", []string{"check", "-o", "json"}, func(n int) string { return times(n, "---\n"+trainJob("a", "")) }, 50, nil},
		{"conflicts on variables", []string{"conflicts", "-o", "json"}, trainJobOf(contested("spec: {containers: [{name: node, env: [%s]}]}", `{name: V%d, value: M}`)), 300, nil},
		{"conflicts on labels", []string{"conflicts"}, trainJobOf(contested("metadata: {labels: {%s}}", `k%d: M`)), 300, nil},
		{"conflicts on volumes", []string{"conflicts", "-o", "json"}, trainJobOf(contested("spec: {volumes: [%s]}", `{name: v%d, hostPath: {path: /M}}`)), 300, nil},
		{"conflicts as HTML", []string{"conflicts", "-o", "html"}, trainJobOf(contested("metadata: {labels: {%s}}", `k%d: M`)), 300, nil},
		{"conflicts of managers", []string{"conflicts", "-o", "json"}, managers, 10, nil},
		{"conflicts in other orders", []string{"conflicts", "--permute"}, managers, 20, nil},
		{"no conflicts in other orders", []string{"conflicts", "--permute"}, agreeing, 20, nil},
		{"conflicts of files", []string{"conflicts"}, func(n int) string { return times(n, trainJob("a%d", "")+nextFile) }, 50, nil},
		{"blame labels as HTML", []string{"blame", "-o", "html"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: a`)), 300, nil},
		{"blame replicated jobs", []string{"blame"}, replicated, 10, nil},
		{"blame managers", []string{"blame", "-o", "html"}, managers, 10, nil},
		{"blame documents", []string{"blame", "-o", "html"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }, 50, nil},
		{"blame Pods", []string{"blame", "--to=pods"}, pods, 100, nil},
		{"blame variables", []string{"blame"}, trainJobOf(env(`{name: V%d, value: a}`)), 300, nil},
		{"blame labels", []string{"blame"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: a`)), 300, nil},
		{"blame volumes", []string{"blame"}, trainJobOf(patched("spec: {volumes: [%s]}", `{name: v%d, emptyDir: {}}`)), 300, nil},
		{"diff variables", []string{"diff"}, trainJobOf(env(`{name: V%d, value: SIDE}`)), 300, nil},
		{"diff labels", []string{"diff", "-o", "json"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: SIDE`)), 300, nil},
		{"diff volumes", []string{"diff", "-o", "markdown"}, trainJobOf(patched("spec: {volumes: [%s]}", `{name: v%d, hostPath: {path: /SIDE}}`)), 300, nil},
		{"diff labels as HTML", []string{"diff", "-o", "html"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: SIDE`)), 300, nil},
		{"diff files", []string{"diff", "-o", "html"}, func(n int) string { return times(n, trainJob("a%d", "    image: SIDE\n")+nextFile) }, 50, nil},
		{"diff replicated jobs", []string{"diff"}, replicated, 10, nil},
		{"diff Jobs of replicated jobs", []string{"diff", "--to=jobs"}, replicated, 10, nil},
		{"diff managers", []string{"diff"}, managers, 10, nil},
		{"diff Pods", []string{"diff", "--to=pods"}, pods, 100, nil},
		{"diff documents", []string{"diff"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "    image: SIDE\n")) }, 50, nil},
		{"diff with live variables", []string{"diff", "--live"}, trainJobOf(env(`{name: V%d, value: SIDE}`)), 300, nil},
		{"diff with live labels", []string{"diff", "-o", "json", "--live"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: SIDE`)), 300, nil},
		{"diff with live documents", []string{"diff", "--live"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "    image: SIDE\n")) }, 50, nil},
		{"render variables", []string{"render", "--to=pods"}, trainJobOf(env(`{name: V%d, value: a}`)), 500, nil},
		{"render files", []string{"render"}, func(n int) string { return times(n, trainJob("a%d", "")+nextFile) }, 50, nil},
		{"render replicated jobs", []string{"render", "--to=jobs"}, replicated, 10, nil},
		{"render managers", []string{"render", "--on-conflict=last"}, managers, 10, nil},
		{"render Pods", []string{"render", "--to=pods"}, pods, 100, nil},
		{"render a table of Pods", []string{"render", "--to=pods", "-o", "table"}, pods, 100, nil},
		{"render documents", []string{"render"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }, 50, nil},
		{"render merge keys", []string{"render"}, trainJobOf(func(n int) string {
			return "    env:\n    - &a {name: A, value: a}\n" + times(n, "    - {<<: *a, name: V%d}\n")
		}), 300, nil},
		{"check missing runtimes", []string{"check", "-o", "json"}, missingRuntimes, 100, nil},
		{"check values of an enum", []string{"check", "-o", "json", "--crd", "BESIDE"}, widget, 200, widgetEnum},
		{"merge ports", []string{"merge", "--patch", "BESIDE"}, deployment("{name: c%d, image: a}"), 200, deployment("{name: c%d, ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]}")},
		{"merge unions", []string{"merge", "--patch", "BESIDE"}, deployment("{name: c%d, livenessProbe: {exec: {}}}"), 200, deployment("{name: c%d, livenessProbe: {httpGet: {port: 1}}}")},
		{"merge wrong types", []string{"merge", "--patch", "BESIDE"}, deployment("{name: c%d, image: a}"), 200, deployment("{name: c%d, image: 1}")},
		{"merge duplicates", []string{"merge", "--patch", "BESIDE"}, deployment("{name: c%d, image: a}"), 200, deployment("{name: c%d, image: a}\n      - {name: c%[1]d}")},
		{"merge deletions", []string{"merge", "--patch", "BESIDE"}, deployment("{name: c%d, image: a}"), 300, deployment("{name: c%d, $patch: delete}")},
		{name: "migrate overrides", args: []string{"migrate"}, n: 40, file: overrides("  - targetJobs: [{name: node}]\n    spec: {nodeSelector: {k%d: a}}\n")},
		{name: "migrate overrides of one field", args: []string{"migrate"}, n: 40, file: overrides("  - targetJobs: [{name: node}]\n    spec: {serviceAccountName: k%d}\n")},
		{name: "migrate overrides of a variable", args: []string{"migrate"}, n: 40, file: overrides("  - targetJobs: [{name: node}]\n    spec: {containers: [{name: node, env: [{name: V%d, value: a}]}]}\n")},
		{name: "migrate items of a List", args: []string{"migrate"}, n: 40, file: func(n int) string {
			const item = "\n- apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  metadata: {name: a%d}\n  spec:\n    runtimeRef: {name: torch}\n    # of a\n    labels: {a: b}"
			return overridden("") + "---\napiVersion: v1\nkind: List\nitems:" + times(n, item) + "\n"
		}},
		{name: "migrate volumes", args: []string{"migrate"}, n: 100, file: func(n int) string {
			return overridden("  - targetJobs: [{name: node}]\n    spec:\n      volumes:\n" + times(n, "      - {name: v%d, emptyDir: {}} # of %[1]d\n"))
		}},
		{name: "migrate labels", args: []string{"migrate"}, n: 100, file: func(n int) string {
			return overridden("  - targetJobs: [{name: node}]\n    metadata:\n      labels:\n" + times(n, "        k%d: a\n"))
		}},
		{name: "migrate targets", args: []string{"migrate"}, n: 20, file: func(n int) string {
			return wide(overridden("  - spec: {serviceAccountName: a}\n    targetJobs:\n"+times(n, "    - name: extra%d\n")), n)
		}},
		{name: "force managers", args: []string{"conflicts", "--force-manager=m.io/a%d"}, n: 20, file: managers},
		{name: "unite lists", args: []string{"conflicts", "--fix=union"}, n: 100, file: trainJobOf(contested("spec: {tolerations: [%s]}", "{key: M%d}"))},
		{name: "repair variables", args: []string{"check", "--fix"}, n: 50, file: trainJobOf(env("{name: V%d, value: %[1]d}"))},
		{name: "repair duplicate keys", args: []string{"check", "--fix"}, n: 50, file: trainJobOf(env("{name: V%d, value: a, value: a}"))},
		{name: "repair what other parts share", args: []string{"check", "--fix"}, n: 50, file: trainJobOf(env("{name: V%d, value: &a%[1]d %[1]d}\n    - {name: W%[1]d, value: *a%[1]d}"))},
		{name: "prefer a manager", args: []string{"conflicts", "--fix", "--prefer=m.io/a"}, n: 100, file: trainJobOf(contested("spec: {containers: [{name: node, env: [%s]}]}", "{name: V%d, value: M}"))},
	}
}

// overrides is a TrainJob of Trainer 2.1 with n overrides, and overridden one with the given ones.
func overrides(item string) func(n int) string {
	return func(n int) string { return overridden(times(n, item)) }
}

func overridden(list string) string {
	return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n  runtimeRef: {name: torch}\n  podTemplateOverrides:\n" + list
}

// missingRuntimes are n TrainJobs with runtimes that are not there, and n others.
func missingRuntimes(n int) string {
	return times(n, "---\n"+strings.Replace(trainJob("a%d", ""), "torch", "missing%[1]d", 1)) + times(n, strings.Replace(workRuntime, "name: torch,", "name: other%d,", 1))
}

// widget is an object with n wrong items, and widgetEnum its definition with n supported values.
func widget(n int) string {
	return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  modes:\n" + times(n, "  - x%d\n")
}

func widgetEnum(n int) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      modes: {type: array, items: {type: string, enum: [` + times(n, "e%d, ") + `]}}}}}}}}
`
}

// deployment is a Deployment with n containers, or a patch of it.
func deployment(container string) func(n int) string {
	return func(n int) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers:\n" + times(n, "      - "+container+"\n")
	}
}

const workRuntime = `
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: a}]}}}
`

// trainJob is a TrainJob whose spec.trainer, the last of its fields, goes on with the text.
func trainJob(name, text string) string {
	return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " + name + "}\nspec:\n  runtimeRef: {name: torch}\n  trainer:\n    numNodes: 2\n" + text
}

func trainJobOf(text func(n int) string) func(n int) string {
	return func(n int) string { return trainJob("a", text(n)) }
}

func lines(format string) func(n int) string { return func(n int) string { return times(n, format) } }

func env(item string) func(n int) string {
	return func(n int) string { return "    env:\n" + times(n, "    - "+item+"\n") }
}

// patched is one manager's patch of a Pod template that holds n items, and contested those of two with other values.
func patched(template, item string) func(n int) string {
	return func(n int) string {
		pod := fmt.Sprintf(template, times(n, item+", "))
		return "  runtimePatches:\n  - {manager: m.io/a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {" + pod + "}}}}]}}}}\n"
	}
}

func contested(template, item string) func(n int) string {
	one := patched(template, item)
	return func(n int) string {
		header, patch, _ := strings.Cut(one(n), "\n")
		return header + "\n" + strings.ReplaceAll(patch, "M", "a") + strings.ReplaceAll(strings.ReplaceAll(patch, "M", "b"), "m.io/a", "m.io/b")
	}
}

// managers is a TrainJob with the patches of n managers, which agree about a label and disagree about another one.
func managers(n int) string {
	return trainJob("a", "  runtimePatches:\n"+times(n, "  - {manager: m.io/a%d, trainingRuntimeSpec: {template: {metadata: {labels: {same: SIDE, other: v%[1]d, own%[1]d: a}}}}}\n"))
}

// agreeing is a TrainJob with the patches of n managers, which set a label of their own each.
func agreeing(n int) string {
	return trainJob("a", "  runtimePatches:\n"+times(n, "  - {manager: m.io/a%d, trainingRuntimeSpec: {template: {metadata: {labels: {own%[1]d: a}}}}}\n"))
}

// pods is a TrainJob with n Pods.
func pods(n int) string {
	return strings.Replace(trainJob("a", "    image: SIDE\n"), "numNodes: 2", fmt.Sprint("numNodes: ", n), 1)
}

// replicated is a TrainJob whose runtime has n more replicated jobs, and wide is a given TrainJob of such a runtime.
func replicated(n int) string { return wide(trainJob("a", "    image: SIDE\n"), n) }

func wide(job string, n int) string {
	return strings.Replace(job, "torch", "wide", 1) + strings.Replace(workRuntime, "name: torch", "name: wide", 1) +
		times(n, "      - {name: extra%d, template: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}}\n")
}

func times(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if strings.Contains(format, "%") {
			fmt.Fprintf(&b, format, i)
		} else {
			b.WriteString(format)
		}
	}
	return b.String()
}

// nextFile ends a file of an input with several.
const nextFile = "# next file\n"

// command writes the files of an input, and returns the arguments. A diff compares files in which SIDE has two values.
func (g growth) command(t *testing.T, n int) []string {
	t.Helper()
	dir := t.TempDir()
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
			testenv.WriteIn(t, dir, name, file)
		}
	}
	files := []string{"-f", filepath.Join(dir, "new.yaml")}
	if g.args[0] == "diff" {
		files = []string{filepath.Join(dir, "old.yaml"), filepath.Join(dir, "new.yaml")}
	}
	var args []string
	for _, arg := range g.args {
		if strings.Contains(arg, "%d") {
			args = append(args, strings.Fields(times(n, arg+" "))...)
		} else {
			args = append(args, arg)
		}
	}
	args = append(args, files...)
	if i := slices.Index(args, "BESIDE"); i >= 0 {
		args[i] = filepath.Join(dir, "beside.yaml")
		testenv.WriteIn(t, dir, "beside.yaml", g.beside(n))
	}
	return args
}
