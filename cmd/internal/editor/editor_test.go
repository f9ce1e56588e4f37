package editor_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/editor"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

type object = map[string]any

// names returns the names of a repository with three runtimes, of which two have equal jobs.
func names() editor.Names {
	node := []editor.Job{{Name: "node", Containers: []string{"node", "sidecar"}}}
	return editor.Names{
		Managers: []string{"kueue.x-k8s.io/manager"},
		Runtimes: []editor.Runtime{
			{Kind: "ClusterTrainingRuntime", Name: "torch", Origin: "torch.yaml:3:9", Jobs: node},
			{Kind: "ClusterTrainingRuntime", Name: "jax", Origin: "jax.yaml:3:9", Jobs: node},
			{Kind: "TrainingRuntime", Name: "mpi", Origin: "mpi.yaml:3:9", Jobs: []editor.Job{
				{Name: "launcher", Containers: []string{"node"}, InitContainers: []string{"wait"}}, {Name: "node", Containers: []string{"node"}},
			}},
		},
	}
}

// schemaOf returns a schema as other programs read it.
func schemaOf(t *testing.T, kind string, r release.Release, names editor.Names) object {
	t.Helper()
	s, err := editor.Schema(kind, &r, names)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	read := object{}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// each calls visit for a schema and for all values in it.
func each(value any, visit func(any)) {
	visit(value)
	switch v := value.(type) {
	case object:
		for _, below := range v {
			each(below, visit)
		}
	case []any:
		for _, below := range v {
			each(below, visit)
		}
	}
}

// TestSchema checks the needs of a language server in every schema of every release. References lead to definitions, patterns are
// regular expressions, and an enum has a value. No definition is unused, and no word of OpenAPI is left.
func TestSchema(t *testing.T) {
	for _, r := range release.Known() {
		for _, kind := range append(editor.Kinds(), editor.Manifests) {
			if kind == editor.Patches && r.Overrides != release.RuntimePatches {
				continue
			}
			for _, names := range []editor.Names{names(), {}} {
				t.Run(fmt.Sprintf("%s %s %d", r.Name, kind, len(names.Runtimes)), func(t *testing.T) {
					s := schemaOf(t, kind, r, names)
					definitions, _ := s["definitions"].(object)
					used := map[string]bool{}
					each(s, func(value any) {
						of, _ := value.(object)
						if ref, ok := of["$ref"].(string); ok {
							name := strings.TrimPrefix(ref, "#/definitions/")
							used[name] = true
							if definitions[name] == nil || len(of) != 1 {
								t.Errorf("the reference %v leads nowhere, or is not alone", of)
							}
						}
						if pattern, ok := of["pattern"].(string); ok {
							if _, err := regexp.Compile(pattern); err != nil {
								t.Error(err)
							}
						}
						if list, ok := of["enum"].([]any); ok && len(list) == 0 {
							t.Errorf("an empty enum in %v", of)
						}
						for word := range of {
							if strings.HasPrefix(word, "x-kubernetes-") {
								t.Errorf("%q is left in %v", word, of)
							}
						}
					})
					if cycle := leadsBack(definitions); cycle != "" {
						t.Errorf("the definition %s leads back to itself: a language server validates it for a minute", cycle)
					}
					for name := range definitions {
						if !used[name] {
							t.Errorf("nothing refers to the definition %s", name)
						}
					}
				})
			}
		}
	}
}

// leadsBack returns the name of a definition whose references lead back to it, or "".
func leadsBack(definitions object) string {
	const visiting, done = 1, 2
	state := map[string]int{}
	cycle := ""
	var visit func(name string)
	visit = func(name string) {
		switch state[name] {
		case visiting:
			cycle = name
		case 0:
			state[name] = visiting
			each(definitions[name], func(value any) {
				of, _ := value.(object)
				if ref, ok := of["$ref"].(string); ok {
					visit(strings.TrimPrefix(ref, "#/definitions/"))
				}
			})
			state[name] = done
		}
	}
	for name := range definitions {
		visit(name)
	}
	return cycle
}

// TestSchema_Rejected holds what has no schema.
func TestSchema_Rejected(t *testing.T) {
	for _, tc := range []struct{ kind, release, want string }{
		{"Pod", "2.3", `no kind "Pod"`},
		{editor.Patches, "2.1", "no patches of managers in Trainer 2.1: its TrainJobs have .spec.podTemplateOverrides"},
		{editor.Patches, "2.0", "podSpecOverrides"},
	} {
		r, err := release.Parse(tc.release)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := editor.Schema(tc.kind, r, editor.Names{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Schema(%s) of %s = %v, want %q", tc.kind, tc.release, err, tc.want)
		}
	}
}

// TestSchema_Unpatchable holds that the schema of TrainJobs rejects each unpatchable field with the words of the finding.
func TestSchema_Unpatchable(t *testing.T) {
	for _, r := range release.Known() {
		s := schemaOf(t, "TrainJob", r, names())
		messages := map[string]bool{}
		each(s, func(value any) {
			of, _ := value.(object)
			fields, _ := of["properties"].(object)
			for name, field := range fields {
				if field == false {
					messages[fmt.Sprint(name, ": ", of["errorMessage"])] = true
				}
			}
		})
		fields := manifest.NewAPI(&r, nil).Unpatchable()
		if len(fields) < 50 {
			t.Errorf("Trainer %s: Unpatchable returns %d fields", r.Name, len(fields))
		}
		for _, f := range fields {
			if want := fmt.Sprintf("%s: %s: %s", f.Path[len(f.Path)-1], f.Message, f.Remedy); !messages[want] {
				t.Errorf("Trainer %s: nothing refuses %s with %q", r.Name, strings.Join(f.Path, "."), want)
			}
		}
	}
}

// TestSchema_Names holds that the names in a schema come from the runtimes, and lead to existing fields.
func TestSchema_Names(t *testing.T) {
	for _, r := range release.Known() {
		s := schemaOf(t, "TrainJob", r, names())
		enums := map[string]bool{}
		each(s, func(value any) {
			if of, ok := value.(object); ok && of["enum"] != nil && of["errorMessage"] != nil {
				enums[fmt.Sprintf("%v %s", of["enum"], of["errorMessage"])] = true
			}
		})
		want := []string{
			"[torch jax] no ClusterTrainingRuntime of this name is known: torch, jax", "[mpi] no TrainingRuntime of this name is known: mpi",
			"[node] the runtime has no replicated job of this name; it has node", "[launcher node] the runtime has no replicated job of this name; it has launcher, node",
			"[wait] the runtime has no init container of this name; it has wait", "[node sidecar] the runtime has no container of this name; it has node, sidecar",
			"[node launcher] no runtime has a replicated job of this name; there are node, launcher",
		}
		for _, text := range want {
			if !enums[text] {
				t.Errorf("Trainer %s: no field takes %s", r.Name, text)
			}
		}
	}
}

// TestSchema_ManyNames holds that a message lists some names, and the completion all.
func TestSchema_ManyNames(t *testing.T) {
	var many editor.Names
	for i := range 20 {
		many.Runtimes = append(many.Runtimes, editor.Runtime{Kind: "ClusterTrainingRuntime", Name: fmt.Sprint("r", i)})
	}
	found := false
	each(schemaOf(t, "TrainJob", *release.Latest(), many), func(value any) {
		of, _ := value.(object)
		message, _ := of["errorMessage"].(string)
		if list, _ := of["enum"].([]any); len(list) == 20 && strings.HasSuffix(message, "r10, r11 and 8 more") {
			found = true
		}
	})
	if !found {
		t.Error("no field takes the 20 names of the runtimes")
	}
}

// TestSchema_Policy holds that the schema of a policy has every code.
func TestSchema_Policy(t *testing.T) {
	s := schemaOf(t, editor.Policy, *release.Latest(), editor.Names{})
	codes := s["properties"].(object)["severities"].(object)["properties"].(object)
	if len(codes) < 100 || codes["TW300"] == nil {
		t.Errorf("the severities have %d codes", len(codes))
	}
}

// TestKinds holds that the kinds are distinct.
func TestKinds(t *testing.T) {
	kinds := editor.Kinds()
	slices.Sort(kinds)
	if len(slices.Compact(kinds)) != len(editor.Kinds()) {
		t.Errorf("Kinds() = %q", kinds)
	}
}
