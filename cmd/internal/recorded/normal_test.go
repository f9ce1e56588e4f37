package recorded

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// normal returns objects in one form, sorted by kind and name. It omits the values that only a
// cluster knows (status, uids, owner references), and the scripts of Flux. It also omits the empty
// values that Go types write for missing fields.
func normal(items []any) []any {
	var out []any
	for _, item := range items {
		object, _ := clean(item, "").(map[string]any)
		if object == nil {
			continue
		}
		delete(object, "status")
		if metadata, ok := object["metadata"].(map[string]any); ok {
			delete(metadata, "ownerReferences")
			delete(metadata, "uid")
		}
		if object["kind"] == "Pod" {
			object = jobSetLabels(object)
		}
		if object["kind"] == "Secret" {
			maskSecret(object)
		}
		if object["kind"] == "ConfigMap" && strings.Contains(objectIdentity(object), "flux") {
			continue // it holds the Trainer's own scripts
		}
		out = append(out, object)
	}
	slices.SortFunc(out, func(a, b any) int {
		return strings.Compare(objectIdentity(a), objectIdentity(b))
	})
	return out
}

// jobSetLabels returns a Pod with its labels of JobSet alone, which JobSet's webhook completes.
func jobSetLabels(pod map[string]any) map[string]any {
	metadata, _ := pod["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	maps.DeleteFunc(labels, func(key string, _ any) bool {
		return !strings.HasPrefix(key, "jobset.sigs.k8s.io/")
	})
	return map[string]any{
		"apiVersion": pod["apiVersion"], "kind": pod["kind"],
		"metadata": map[string]any{"name": metadata["name"], "namespace": metadata["namespace"],
			"labels": labels},
	}
}

func objectIdentity(item any) string {
	object, _ := item.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	return fmt.Sprint(object["kind"], " ", object["apiVersion"], " ", metadata["namespace"], " ",
		metadata["name"])
}

// maskSecret hides values that are random, and keeps their names.
func maskSecret(object map[string]any) {
	data, _ := object["data"].(map[string]any)
	for name := range data {
		data[name] = "random"
	}
}

// written are the fields that Go types write although they are empty.
var written = []string{"resources", "metadata", "status", "strategy", "minResources"}

// clean returns a copy of a value without nulls, empty objects of these fields, and the label of
// JobSet uids. It copies because releases share the values of a case.
func clean(value any, name string) any {
	switch v := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for key, entry := range v {
			if entry = clean(entry, key); entry != nil && key != "jobset.sigs.k8s.io/jobset-uid" {
				kept[key] = entry
			}
		}
		if len(kept) == 0 && slices.Contains(written, name) {
			return nil
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = clean(v[i], "")
		}
		return kept
	}
	return value
}

// byIdentity returns objects by their identity, and quantities and numbers as JSON has them.
func byIdentity(items []any) map[string]any {
	out := map[string]any{}
	text, err := json.Marshal(items)
	if err != nil {
		return out
	}
	var plain []any
	if json.Unmarshal(text, &plain) != nil {
		return out
	}
	for _, item := range plain {
		out[objectIdentity(item)] = item
	}
	return out
}
