package manifest

import (
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/jsonfields"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/release"
)

// isForeign reports whether none of these keys belongs to a Kubernetes object, as in a workflow or a chart's values. Keys in the
// wrong case still belong to an object.
func isForeign(keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		switch strings.ToLower(key) {
		case "apiversion", "kind", "metadata", "spec", "manager", "trainingruntimespec":
			return true
		default:
			return false
		}
	})
}

// fieldless returns a finding if an object has no field of its assumed kind, not even at a wrong place. The file may be any, such as one
// of passwords, so the finding repeats no key.
func (d *diagnosis) fieldless(kind string, object any, keys []string) *finding.Finding {
	t := jsonfields.Concrete(reflect.TypeOf(object))
	if d.isAny = t.Kind() != reflect.Struct; d.isAny || len(keys) == 0 {
		return nil
	}
	fields := d.structs.Names(t)
	isMisplaced := func(key string) bool {
		under, _, _, _ := d.under(key, t)
		return under != "" || key == string(release.RuntimePatches)
	}
	if nearest.Any(keys, fields) || slices.ContainsFunc(keys, isMisplaced) {
		return nil
	}
	f := notAnObject("has no field of a " + kind)
	if f.Remedy.Text = "name another file"; len(fields) <= mostFields {
		f.Remedy.Text = "set one of its fields, which are " + strings.Join(fields, ", ") + ", or name another file"
	}
	return f
}

// isKustomize reports whether an object with these keys is a part of a file for kustomize. Such a part is an operation of a JSON
// 6902 patch, a replacement, or the configuration of a transformer.
func isKustomize(keys []string) bool {
	has := func(key string) bool { return slices.Contains(keys, key) }
	return has("op") && has("path") || has("source") && has("targets") ||
		slices.ContainsFunc([]string{"nameReference", "namePrefix", "nameSuffix", "varReference", "commonLabels", "commonAnnotations", "templateLabels"}, has)
}

// nodeKeys returns the keys of a mapping.
func nodeKeys(n *yaml.Node) []string {
	var keys []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys
}

// isToolFile reports whether a file's name belongs to another tool: kustomize, Helm, GitHub, or one with a hidden file.
func isToolFile(file string) bool {
	if file == Stdin {
		return false
	}
	file = path.Clean(filepath.ToSlash(file))
	name, extension := path.Base(file), path.Ext(file)
	if strings.HasPrefix(name, ".") || slices.Contains(strings.Split(file, "/"), ".github") {
		return true
	}
	if extension == ".yaml" || extension == ".yml" {
		name = strings.TrimSuffix(name, extension)
	}
	switch name {
	case "kustomization", "Kustomization", "Chart", "values":
		return true
	default:
		return strings.HasPrefix(name, "values.") || strings.HasPrefix(name, "values-")
	}
}
