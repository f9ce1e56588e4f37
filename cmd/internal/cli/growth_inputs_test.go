package cli

import (
	"fmt"
	"strings"
)

// The inputs that grow.

// overrides is a TrainJob of Trainer 2.1 with n overrides, and overridden one with the given ones.
func overrides(item string) func(n int) string {
	return func(n int) string { return overridden(times(n, item)) }
}

func overridden(list string) string {
	return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
		"a}\nspec:\n  runtimeRef: {name: torch}\n  podTemplateOverrides:\n" + list
}

// missingRuntimes are n TrainJobs with runtimes that are not there, and n others.
func missingRuntimes(n int) string {
	return times(n, "---\n"+strings.Replace(trainJob("a%d", ""), "torch", "missing%[1]d", 1)) +
		times(n, strings.Replace(workRuntime, "name: torch,", "name: other%d,", 1))
}

// widget is an object with n wrong items, and widgetEnum its definition with n supported values.
func widget(n int) string {
	return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  modes:\n" +
		times(n, "  - x%d\n")
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
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n " +
			"   spec:\n      containers:\n" + times(n, "      - "+container+"\n")
	}
}

// leftovers is a live Deployment with n containers, which one manager no longer applies, and of
// which another one owns a part.
func leftovers(n int) map[string]string {
	owned := func(manager, field string) string {
		return "  - manager: " + manager + "\n    operation: Apply\n    apiVersion: apps/v1\n" +
			"    fieldsType: FieldsV1\n    fieldsV1: {'f:spec': {'f:template': {'f:spec': " +
			"{'f:containers': {" +
			times(n, `'k:{"name":"c%d"}': {'.': {}, 'f:name': {}, '`+field+`': {}}, `) + "}}}}}\n"
	}
	live := deployment("{name: c%d, image: a, tty: true}")(n)
	return map[string]string{"patch.yaml": "spec: {paused: true}\n",
		"live.yaml": strings.Replace(live, "metadata: {name: a}", "metadata:\n  name: a\n"+
			"  managedFields:\n"+owned("m", "f:image")+strings.TrimSuffix(owned("o", "f:tty"), "\n"), 1)}
}

// ports is a Deployment, and two patches that name its n ports differently.
func ports(n int) map[string]string {
	named := func(by string) string {
		return "spec:\n  template:\n    spec:\n      containers:\n      - name: c0\n        ports:\n" +
			times(n, "        - {containerPort: %d, name: "+by+"%[1]d}\n")
	}
	return map[string]string{"base.yaml": deployment("{name: c%d, image: a}")(1),
		"a.yaml": named("a"), "b.yaml": named("b")}
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
	return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " + name +
		"}\nspec:\n  runtimeRef: {name: torch}\n  trainer:\n    numNodes: 2\n" + text
}

func trainJobOf(text func(n int) string) func(n int) string {
	return func(n int) string { return trainJob("a", text(n)) }
}

func lines(format string) func(n int) string {
	return func(n int) string { return times(n, format) }
}

func env(item string) func(n int) string {
	return func(n int) string { return "    env:\n" + times(n, "    - "+item+"\n") }
}

// patched is one manager's patch of a Pod template with n items. The function contested has the
// patches of two managers, with different values.
func patched(template, item string) func(n int) string {
	return func(n int) string {
		pod := fmt.Sprintf(template, times(n, item+", "))
		return "  runtimePatches:\n  - {manager: m.io/a, trainingRuntimeSpec: {template: {spec: " +
			"{replicatedJobs: [{name: node, template: {spec: {template: {" + pod + "}}}}]}}}}\n"
	}
}

func contested(template, item string) func(n int) string {
	one := patched(template, item)
	return func(n int) string {
		header, patch, _ := strings.Cut(one(n), "\n")
		return header + "\n" + strings.ReplaceAll(patch, "M", "a") +
			strings.ReplaceAll(strings.ReplaceAll(patch, "M", "b"), "m.io/a", "m.io/b")
	}
}

// managers is a TrainJob with the patches of n managers, which agree about a label and disagree
// about another one.
func managers(n int) string {
	return trainJob(
		"a", "  runtimePatches:\n"+
			times(n, "  - {manager: m.io/a%d, trainingRuntimeSpec: {template: {metadata: "+
				"{labels: {same: SIDE, other: v%[1]d, own%[1]d: a}}}}}\n"))
}

// pods is a TrainJob with n Pods.
func pods(n int) string {
	return strings.Replace(trainJob("a", "    image: SIDE\n"), "numNodes: 2",
		fmt.Sprint("numNodes: ", n), 1)
}

// replicated is a TrainJob whose runtime has n more replicated jobs. wide is a given TrainJob of
// such a runtime.
func replicated(n int) string { return wide(trainJob("a", "    image: SIDE\n"), n) }

func wide(job string, n int) string {
	return strings.Replace(job, "torch", "wide", 1) +
		strings.Replace(workRuntime, "name: torch", "name: wide", 1) +
		times(n, "      - {name: extra%d, template: {spec: {template: {spec: {containers: "+
			"[{name: a, image: a}]}}}}}\n")
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

// stdin is a folder whose only file is the standard input, and nothing is an empty one.
func stdin(text func(n int) string) func(n int) map[string]string {
	return func(n int) map[string]string { return map[string]string{"stdin": text(n)} }
}

// mergeList is the input of a function that merges patches into items.
func mergeList(patches string, items func(n int) string) func(n int) string {
	return func(n int) string {
		return "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: " +
			"{apiVersion: trainweld.github.io/v1alpha1, kind: MergePatches, patches: [" + patches +
			"]}\nitems:\n" + items(n)
	}
}

// configMaps are n items of a list.
func configMaps(n int) string {
	return times(n, "- {apiVersion: v1, kind: ConfigMap, metadata: {name: d%d}, data: {}}\n")
}

// itemsOf is the input of a function with the documents of a text.
func itemsOf(data string, text func(n int) string) func(n int) string {
	return func(n int) string {
		list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: " +
			"{apiVersion: v1, kind: ConfigMap, data: " + data + "}\nitems:\n"
		all := strings.ReplaceAll(text(n)+workRuntime, nextFile, "---\n")
		for document := range strings.SplitSeq(all, "---\n") {
			if document = strings.TrimSpace(document); document != "" {
				list += "- " + strings.ReplaceAll(document, "\n", "\n  ") + "\n"
			}
		}
		return list
	}
}

// pyTorchJob is a job of the training operator, whose container goes on.
const pyTorchJob = `---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: p}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          containers:
          - name: pytorch
            image: i
`

// runtimes are n runtimes, and a TrainJob of each.
func runtimes(n int) map[string]string {
	return map[string]string{
		"runtimes.yaml": times(
			n, strings.Replace(workRuntime, "name: torch,", "name: torch%d,", 1)),
		"jobs.yaml": times(
			n, strings.Replace("---\n"+trainJob("a%d", ""), "torch", "torch%[1]d", 1))}
}

// cases are n golden cases, which fail.
func cases(n int) map[string]string {
	files := map[string]string{"cases/rt.yaml": workRuntime}
	for i := range n {
		files[fmt.Sprintf("cases/c%d/job.yaml", i)] = trainJob(fmt.Sprint("a", i), "")
		files[fmt.Sprintf("cases/c%d/want/README", i)] = ""
	}
	return files
}

// jobFiles are n files, and kustomizations n folders of one file each, and kustomized one folder of
// n files.
func jobFiles(n int) map[string]string {
	files := map[string]string{"rt.yaml": workRuntime}
	for i := range n {
		files[fmt.Sprintf("jobs/a%d.yaml", i)] = trainJob(fmt.Sprint("a", i), "    image: SIDE\n")
	}
	return files
}

func kustomizations(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("top/k%d/kustomization.yaml", i)] = "resources: [a.yaml]\n"
		files[fmt.Sprintf("top/k%d/a.yaml", i)] = trainJob(fmt.Sprint("a", i),
			"    image: SIDE\n") + workRuntime
	}
	return files
}

func kustomized(n int) map[string]string {
	files := map[string]string{"top/rt.yaml": workRuntime}
	text := "resources: [rt.yaml"
	for i := range n {
		files[fmt.Sprintf("top/a%d.yaml", i)] = trainJob(fmt.Sprint("a", i), "")
		text += fmt.Sprintf(", a%d.yaml", i)
	}
	files["top/kustomization.yaml"] = text + "]\n"
	return files
}

// policyOf is a file of TrainJobs with a policy, and patchFiles one with n files of patches.
func policyOf(jobs, policy func(n int) string) func(n int) map[string]string {
	return func(n int) map[string]string {
		return map[string]string{"jobs.yaml": jobs(n) + workRuntime, "trainweld.yaml": policy(n)}
	}
}

func patchFiles(n int) map[string]string {
	const patch = "trainingRuntimeSpec: {template: {metadata: {labels: {own%d: a}}}}\n"
	files := policyOf(trainJobOf(lines("")), func(n int) string {
		return "patches:\n" + times(n, "- {file: patches/p%d.yaml}\n")
	})(n)
	for i := range n {
		files[fmt.Sprintf("patches/p%d.yaml", i)] = fmt.Sprintf("manager: p.io/a%d\n"+patch, i, i)
	}
	files["patch.yaml"] = fmt.Sprintf(patch, 0)
	return files
}

// extendedPatch is an extended patch of a manager with a number, which sets a label.
const extendedPatch = `---
apiVersion: trainweld.github.io/v1alpha1
kind: ExtendedPatch
manager: m.io/a%[1]d
trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: {k%[1]d: %[2]q}}}}]}}}
`

// extendedPatches are n extended patches, each with a label that the cluster rejects, and
// derivedRuntimes n TrainJobs with one patch.
func extendedPatches(n int) map[string]string { return extendedPatchesOf(n, 1, "!") }

func derivedRuntimes(n int) map[string]string { return extendedPatchesOf(1, n, "a") }

func extendedPatchesOf(patches, jobs int, value string) map[string]string {
	files := map[string]string{"jobs.yaml": times(jobs, "---\n"+trainJob("a%d", "")) + workRuntime}
	for i := range patches {
		files["patches.yaml"] += fmt.Sprintf(extendedPatch, i, value)
	}
	return files
}

// definitions are n definitions with an object of each. The function manyFields has one definition
// with n fields, and an object with twice as many.
func definitions(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		kind := fmt.Sprint("Widget", i)
		files[fmt.Sprintf("crds/%d.yaml", i)] = strings.NewReplacer("Widget", kind, "widgets",
			strings.ToLower(kind)+"s").Replace(widgetEnum(1))
		files[fmt.Sprintf("objects/%d.yaml", i)] = strings.Replace(widget(1), "Widget", kind, 1)
	}
	return files
}

func manyFields(n int) map[string]string {
	return map[string]string{
		"crd.yaml": strings.Replace(widgetEnum(1), "modes: ",
			times(n, "a%d: {type: string}, ")+"modes: ", 1),
		"object.yaml": widget(1) + times(2*n, "  a%d: 1\n"),
	}
}

// observed returns TrainJobs and a dump with their suspended JobSets, or one whose JobSet has more
// metadata of n entries.
func observed(metadata, entry string) func(n int) map[string]string {
	const jobSet = "---\napiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata:\n  name: " +
		"a%d\n  namespace: default\nMORE" +
		"spec: {suspend: true, replicatedJobs: [{name: node, template: {spec: {template: {spec: " +
		"{containers: [{name: node, image: old}]}}}}}]}\n"
	return func(n int) map[string]string {
		jobs, more := n, ""
		if entry != "" {
			jobs, more = 1, fmt.Sprintf(metadata, times(n, entry))
		}
		return map[string]string{
			"new.yaml":  times(jobs, "---\n"+trainJob("a%d", "    image: new\n")) + workRuntime,
			"dump.yaml": strings.ReplaceAll(times(jobs, jobSet), "MORE", more),
		}
	}
}
