package cli

import (
	"fmt"
	"strings"
)

// growingWithin returns commands whose input names things that are looked up, required or allowed,
// and more input that a limit bounds.
func growingWithin() []growth {
	const podPath = ".spec.replicatedJobs[%s].template.spec.template."
	merge := func(name string, n int, base, patch func(n int) string) growth {
		return growth{name: name, n: n, args: []string{"merge", "--patch", "BESIDE"}, file: base,
			beside: patch}
	}
	crd := func(name string, n int, definition, object func(n int) string) growth {
		return growth{name: name, n: n, args: []string{"check", "--crd", "BESIDE"}, file: object,
			beside: definition}
	}
	written := func(name string, n int, text func(n int) string) growth {
		return growth{name: name, n: n, args: []string{"policy", "--policy", "p.yaml"},
			folder: func(n int) map[string]string {
				return map[string]string{"p.yaml": text(n)}
			}}
	}
	listed := func(before, item, after string) func(n int) string {
		return func(n int) string { return before + times(n, item) + after }
	}
	return []growth{
		// Functions.
		{name: "fn one ConfigMap named often", n: 500, args: []string{"fn"},
			folder: stdin(func(n int) string {
				return definedBy(times(n, "definition0, "), 1)
			})},
		{name: "fn ConfigMaps of definitions", n: 50, args: []string{"fn"},
			folder: stdin(func(n int) string {
				return definedBy(times(n, "definition%d, "), n)
			})},
		{name: "fn protected fields", n: 25, args: []string{"fn"},
			folder: stdin(func(n int) string {
				list := mergeList("{manager: m, target: {kind: ConfigMap}, patch: {data: {a: b}}}",
					configMaps)(20)
				return strings.Replace(list, "patches:",
					"protected: ["+times(n, `'.data["k%d"]', `)+
						"], patches:", 1)
			})},
		{name: "fn changed fields", n: 200, args: []string{"fn"},
			folder: stdin(changed("data", "k%d: SIDE, ", "{", "}"))},
		{name: "fn changed items", n: 100, args: []string{"fn"},
			folder: stdin(changed("spec", "{name: c%d, image: SIDE}, ",
				"{template: {spec: {containers: [", "]}}}"))},
		{name: "fn a change below maps", n: 20, args: []string{"fn"},
			folder: stdin(func(n int) string {
				return changed("spec", "SIDE", strings.Repeat("{a: ", n), strings.Repeat("}", n))(1)
			})},
		{name: "fn a change below lists", n: 20, args: []string{"fn"},
			folder: stdin(func(n int) string {
				return changed("spec", "SIDE", "{a: "+strings.Repeat("[[], ", n),
					strings.Repeat("]", n)+"}")(1)
			})},
		{name: "fn changes beside others", n: 200, args: []string{"fn"},
			folder: stdin(func(n int) string {
				return strings.Replace(changed("data", "a: SIDE, ", "{", "}")(1), "{a: old",
					"{"+times(n, "k%d: v, ")+"a: old", 1)
			})},
		{name: "fn winning managers", n: 20, args: []string{"fn"},
			folder: stdin(func(n int) string {
				return itemsOf(fmt.Sprintf("{forceManagers: %q}", times(n, "m.io/a%d\n")),
					managers)(n)
			})},
		// Policies, up to their limits.
		written("policy paths", 100, listed("managers:\n- name: m.io/a\n  paths:\n",
			"  - '"+fmt.Sprintf(podPath, "*")+"metadata.labels[\"k%d\"]'\n", "")),
		written("policy paths of named jobs", 20, listed("managers:\n- name: m.io/a\n  paths:\n",
			"  - '"+fmt.Sprintf(podPath, "j%d")+"spec.nodeSelector'\n", "")),
		written("policy managers", 25, listed("managers:\n", "- {name: m.io/a%d}\n", "")),
		written("policy required managers", 25, listed("managers:\n",
			"- {name: m.io/a%d, required: true, for: {names: [a%[1]d]}}\n", "")),
		written("policy users of a manager", 1000,
			listed("managers:\n- {name: m.io/a, users: [", "u%d, ", "]}\n")),
		written("policy names", 100,
			listed("managers:\n- {name: m.io/a, required: true, for: {names: [", "a%d*, ",
				"]}}\n")),
		written("policy labels", 100,
			listed("managers:\n- {name: m.io/a, required: true, for: {labels: \"", "k%d!=a,",
				"a=b\"}}\n")),
		{name: "policy test", n: 20,
			args: []string{"policy", "test", "jobs.yaml", "--old", "jobs.yaml"},
			folder: policyOf(func(n int) string {
				return times(n, "---\n"+trainJob("a%d", "    image: SIDE\n"))
			},
				func(int) string { return "managers:\n- {name: m.io/a}\n" })},
		{name: "policies of folders", n: 10, args: []string{"check", "-R", "."},
			folder: func(n int) map[string]string {
				files := map[string]string{"runtime.yaml": workRuntime}
				for i := range n {
					files[fmt.Sprintf("d%d/job.yaml", i)] = trainJob(fmt.Sprint("a", i), "")
					files[fmt.Sprintf("d%d/trainweld.yaml", i)] = fmt.Sprintf(
						"managers: [{name: m.io/a%d}]\n", i)
				}
				return files
			}},
		{name: "paths", n: 20, args: []string{"check", "runtime.yaml", "a%d.yaml"},
			folder: func(n int) map[string]string {
				files := map[string]string{"runtime.yaml": workRuntime}
				for i := range n {
					files[fmt.Sprintf("a%d.yaml", i)] = trainJob(fmt.Sprint("a", i), "")
				}
				return files
			}},
		{name: "severities", n: 200, args: []string{"check", "runtime.yaml"},
			again: "--severity=TW541=note", folder: func(int) map[string]string {
				return map[string]string{"runtime.yaml": workRuntime}
			}},
		{name: "quotas", n: 200, args: []string{"check"}, file: func(n int) string {
			return trainJob("a", "") + workRuntime + times(n,
				"---\n{apiVersion: v1, kind: ResourceQuota, metadata: {name: q%d}, spec: {hard: "+
					"{pods: 1, cpu: 1}}}\n")
		}},
		// Objects of definitions.
		crd("missing fields", 100, demanding(""), func(int) string { return widget(0) }),
		crd("more missing fields than are reported", 5000, demanding(""), func(int) string {
			return widget(0)
		}),
		crd("missing fields of allOf", 2000, demanding("allOf"), func(int) string {
			return widget(0)
		}),
		crd("missing fields of a choice", 2000, demanding("anyOf"), func(int) string {
			return widget(0)
		}),
		crd("missing fields of items", 2000, func(int) string {
			return keyed(1)
		}, func(n int) string {
			return widget(0) + "  items:\n" + times(n, "  - {a: b}\n")
		}),
		crd("wrong values of a map", 2000, func(int) string {
			return keyed(1)
		}, func(n int) string {
			return widget(0) + "  numbers:\n" + times(n, "    k%d: x\n")
		}),
		// Directives of strategic merges.
		merge("merge an order", 200, deployment("{name: c%d, image: a}"), func(n int) string {
			order := times(n, "{name: c%d}, ")
			return strings.Replace(deployment("{name: c%d, image: b}")(n), "containers:",
				"$setElementOrder/containers: ["+order+"]\n      containers:", 1)
		}),
		merge("merge deleted elements", 300, finalizers("finalizers"),
			finalizers("$deleteFromPrimitiveList/finalizers")),
		merge("merge retained keys", 200, deployment("{name: c%d, image: a}"), func(n int) string {
			return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  " +
				"strategy: {$retainKeys: [" + times(n, "k%d, ") + "type], type: Recreate}\n"
		}),
		// Patches, variables and jobs of a TrainJob.
		{name: "patches of a file", n: 20,
			args: []string{"check", "jobs.yaml", "--patch", "patch.yaml"},
			folder: func(n int) map[string]string {
				return map[string]string{"jobs.yaml": trainJob("a", "") + workRuntime,
					"patch.yaml": times(
						n, "---\nmanager: m.io/a%d\ntrainingRuntimeSpec: {template: {metadata: "+
							"{labels: {own%[1]d: a}}}}\n")}
			}},
		{name: "references of variables", n: 200, args: []string{"check", "-o", "json"},
			file: trainJobOf(patched(
				"spec: {containers: [{name: node, env: [{name: V, value: a}, %s]}]}",
				"{name: V%d, value: $(V)$(W%[1]d)}"))},
		{name: "references of one variable", n: 200, args: []string{"render", "--to=pods"},
			file: trainJobOf(func(n int) string {
				return env(`{name: V%d, value: a}`)(n) + "    - {name: ALL, value: \"" +
					times(n, "$(V%d)") + "\"}\n    command: [\"" + times(n, "$(V%d)") + "\"]\n"
			})},
		{name: "a chain of jobs", n: 10, args: []string{"check"}, file: func(n int) string {
			chain := times(
				n, "      - {name: extra%d, dependsOn: [{name: extraPREVIOUS%[1]d, status: "+
					"Complete}], template: {spec: {template: {spec: {containers: [{name: a, "+
					"image: a}]}}}}}\n")
			for i := n; i > 0; i-- {
				chain = strings.Replace(chain, fmt.Sprintf("extraPREVIOUS%d,", i),
					fmt.Sprintf("extra%d,", i-1), 1)
			}
			return wide(trainJob("a", ""), 0) +
				strings.Replace(chain, "extraPREVIOUS0,", "node,", 1)
		}},
		{name: "flavors", n: 20, args: []string{"check", "jobs.yaml", "--flavors", "flavors.yaml"},
			folder: func(n int) map[string]string {
				return map[string]string{
					"jobs.yaml": strings.Replace(trainJob("a", ""), "{name: a}",
						"{name: a, labels: {kueue.x-k8s.io/queue-name: q}}", 1) + workRuntime,
					"flavors.yaml": times(
						n, "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: "+
							"ResourceFlavor\nmetadata: {name: f%d}\nspec: {nodeLabels: {pool: "+
							"f%[1]d}}\n"),
				}
			}},
	}
}

// changed is the input of a function that changes n values of an object from old to new.
func changed(field, item, before, after string) func(n int) string {
	return func(n int) string {
		of := func(value string) string {
			return field + ": " + before + strings.ReplaceAll(times(n, item), "SIDE", value) + after
		}
		kind := "apiVersion: v1, kind: ConfigMap"
		if field == "spec" {
			kind = "apiVersion: apps/v1, kind: Deployment"
			if !strings.Contains(before, "containers") {
				kind = "apiVersion: example.com/v1, kind: Open"
			}
		}
		list := mergeList("{manager: m, target: {name: o}, patch: {"+of("new")+"}}",
			func(int) string {
				return "- {" + kind + ", metadata: {name: o}, " + of("old") + "}\n"
			})(n)
		return strings.Replace(list, "patches:", "definitions: ["+openDefinition+"], patches:", 1)
	}
}

// openDefinition defines a kind whose fields are all known by its objects alone.
const openDefinition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, " +
	"metadata: {name: opens.example.com}, " +
	"spec: {group: example.com, names: {kind: Open, plural: opens}, scope: Namespaced, versions: " +
	"[{name: v1, served: true, storage: true, " +
	"schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, " +
	"x-kubernetes-preserve-unknown-fields: true}}}}}]}}"

// definedBy is a list of a function with n ConfigMaps of definitions, and the names of ConfigMaps.
func definedBy(names string, n int) string {
	list := mergeList("{manager: m, target: {kind: Widget0}, patch: {spec: {modes: [a]}}}",
		func(int) string {
			return "- {apiVersion: example.com/v1, kind: Widget0, metadata: {name: w}}\n"
		})(1)
	for i := range n {
		definition := strings.NewReplacer("Widget", fmt.Sprint("Widget", i), "widgets",
			fmt.Sprint("widget", i, "s")).Replace(keyed(1))
		list += fmt.Sprintf(
			"- {apiVersion: v1, kind: ConfigMap, metadata: {name: definition%d}, data: {a: %q}}\n",
			i, definition)
	}
	return strings.Replace(list, "patches:", "configMaps: ["+names+"], patches:", 1)
}

// keyed is a definition of widgets with n fields, items that require a field, and a map of numbers.
func keyed(n int) string {
	return strings.Replace(strings.Replace(widgetEnum(0), ", enum: []", "", 1), "modes: ",
		"items: {type: array, items: {type: object, required: [k], properties: {k: {type: "+
			"string}, a: {type: string}}}}, "+
			"numbers: {type: object, additionalProperties: {type: integer}}, "+
			times(n, "f%d: {type: string}, ")+"modes: ", 1)
}

// demanding returns a definition of widgets that requires n fields, by a rule such as allOf or by
// itself.
func demanding(rule string) func(n int) string {
	return func(n int) string {
		required := "required: [" + times(n, "f%d, ") + "]"
		if rule != "" {
			required = rule + ": [{" + required + "}]"
		}
		return strings.Replace(keyed(n), "spec: {type: object, properties",
			"spec: {type: object, "+required+", properties", 1)
	}
}

// finalizers is a Deployment with n finalizers in a field of its metadata.
func finalizers(field string) func(n int) string {
	return func(n int) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  " + field + ": [" +
			times(n, "a.io/f%d, ") + "]\n"
	}
}
