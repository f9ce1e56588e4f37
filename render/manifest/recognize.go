package manifest

import (
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
	"github.com/trainweld/trainweld/render/nearest"
)

// readables returns the further kinds, then the kinds of this package, grouped by API group.
func readables(further []Kind) []readable {
	var kinds []readable
	for _, k := range further {
		kinds = append(kinds, readable{k.Group, k.Version, k.Kind, k.New})
	}
	return append(kinds, []readable{
		{trainerGroup, "v1alpha1", "TrainJob", func() any { return new(trainer.TrainJob) }},
		{trainerGroup, "v1alpha1", "TrainingRuntime", func() any {
			return new(trainer.TrainingRuntime)
		}},
		{trainerGroup, "v1alpha1", "ClusterTrainingRuntime", func() any {
			return new(trainer.ClusterTrainingRuntime)
		}},
		{jobsetGroup, "v1alpha2", "JobSet", func() any { return new(jobset.JobSet) }},
		{"", "v1", "ConfigMap", func() any { return new(corev1.ConfigMap) }},
	}...)
}

// longestName is the longest key that is compared with field names.
const longestName = 64

// recognize returns the kind of an object, or nil for another kind. It may return a finding without
// a position.
func recognize(id identity, further []Kind) (*readable, *finding.Finding) {
	group, version := id.group()
	var ofGroup []string
	var namesake, meant, miscased *readable
	kinds := readables(further)
	if i := slices.IndexFunc(kinds, func(r readable) bool {
		return r.kind == id.kind && r.group == group && r.version == version
	}); i >= 0 {
		return &kinds[i], nil
	}
	for _, r := range kinds {
		if r.group == group {
			ofGroup = append(ofGroup, r.kind)
		} else if isMeant(id, r) {
			meant = &r
		}
		if r.kind != id.kind {
			switch {
			case !strings.EqualFold(r.kind, id.kind):
			case r.group != group:
				namesake = &r
			case miscased == nil || r.version == version:
				miscased = &r
			}
			continue
		}
		switch {
		case r.group != group:
			namesake = &r
		case group == trainerGroup && version == oldVersion:
			return &r, &finding.Finding{
				Code: codes.OldVersion, Severity: finding.Warning,
				Path: fieldpath.Fields("apiVersion"),
				Message: fmt.Sprintf("%s does not exist: it is read as %s", id.apiVersion,
					r.apiVersion()),
				Remedy: finding.Remedy{Do: finding.SetValue, Options: []string{r.apiVersion()},
					IsCertain: true, Text: "set apiVersion: " + r.apiVersion()},
			}
		case slices.ContainsFunc(further, func(k Kind) bool {
			return k.Group == group && k.Kind == id.kind
		}):
			remedy := fmt.Sprintf(
				"set apiVersion to %s if the object has the fields of that version", r.apiVersion())
			for _, k := range further {
				if other := k.Others[version]; other != "" && k.Group == group &&
					k.Kind == id.kind {
					remedy = other
				}
			}
			return nil, &finding.Finding{
				Code: codes.UnknownVersion, Severity: finding.Warning,
				Path: fieldpath.Fields("apiVersion"),
				Message: fmt.Sprintf("Unsupported value: %s of %s: the object is skipped",
					quote(id.apiVersion), r.kind),
				Remedy: finding.Remedy{Text: remedy},
			}
		default:
			return nil, unknownVersion(id, &r)
		}
	}
	for _, r := range neighbors() {
		switch {
		case r.group != group && isMeant(id, r):
			meant = &r
		case r.group == group && miscased == nil && r.kind != id.kind &&
			strings.EqualFold(r.kind, id.kind):
			miscased = &r
		}
	}
	if group == trainerGroup {
		ofGroup = append(ofGroup, unread...)
	}
	switch {
	case miscased != nil:
		return nil, unknownKind(id, finding.Remedy{Do: finding.SetValue,
			Options: []string{miscased.kind}, IsCertain: true,
			Text: fmt.Sprintf("did you mean %q?", miscased.kind)})
	case meant != nil:
		f := &finding.Finding{
			Code: codes.UnknownKind, Severity: finding.Error, Path: fieldpath.Fields("apiVersion"),
			Message: fmt.Sprintf("no matches for kind %s in version %s", quote(id.kind),
				quote(id.apiVersion)),
			Remedy: finding.Remedy{
				Do: finding.SetValue, Options: []string{meant.apiVersion()},
				IsCertain: id.kind == meant.kind, Text: "set apiVersion: " + meant.apiVersion(),
			},
		}
		if id.kind != meant.kind {
			f.Remedy.Text += " and kind: " + meant.kind
		}
		return nil, f
	case namesake != nil && namesake.group == trainerGroup:
		// Other projects rarely use kinds of these names.
		return nil, &finding.Finding{
			Code: codes.UnknownKind, Severity: finding.Warning,
			Path: fieldpath.Fields("apiVersion"),
			Message: fmt.Sprintf("%s of %s is not a kind of the Trainer: the object is skipped",
				id.kind, quote(id.apiVersion)),
			Remedy: finding.Remedy{
				Text: fmt.Sprintf("set apiVersion: %s",
					namesake.apiVersion())},
		}
	case group == trainerGroup && slices.Contains(unread, id.kind):
		if version != "v1alpha1" {
			r := readable{group: group, version: "v1alpha1", kind: id.kind}
			return nil, unknownVersion(id, &r)
		}
	case group == trainerGroup || group == jobsetGroup:
		remedy := finding.Remedy{Do: finding.SetValue, Options: ofGroup,
			Text: "write one of " + strings.Join(ofGroup, ", ")}
		if len(id.kind) <= longestName {
			if near := nearest.To(id.kind, ofGroup); near != "" {
				remedy = finding.Remedy{Do: finding.SetValue, Options: []string{near},
					IsCertain: nearest.IsClear(id.kind, near, ofGroup),
					Text:      fmt.Sprintf("did you mean %q?", near)}
			}
		}
		return nil, unknownKind(id, remedy)
	}
	return nil, nil
}

// unknownKind reports an object of a kind that its group does not have.
func unknownKind(id identity, remedy finding.Remedy) *finding.Finding {
	group, _ := id.group()
	if group == "" {
		group = "the core group"
	}
	return &finding.Finding{
		Code: codes.UnknownKind, Severity: finding.Error, Path: fieldpath.Fields("kind"),
		Message: fmt.Sprintf("%s has no kind %s", group, quote(id.kind)), Remedy: remedy,
	}
}

// unknownVersion reports an object of a version that its kind does not have.
func unknownVersion(id identity, r *readable) *finding.Finding {
	return &finding.Finding{
		Code: codes.UnknownVersion, Severity: finding.Error, Path: fieldpath.Fields("apiVersion"),
		Message: fmt.Sprintf("Unsupported value: %s of %s", quote(id.apiVersion), r.kind),
		Remedy: finding.Remedy{Do: finding.SetValue, Options: []string{r.apiVersion()},
			IsCertain: true, Text: "set apiVersion: " + r.apiVersion()},
	}
}

// mostMistyped is the number of letters of a group that a person mistypes. With more, the group is
// another project's.
const mostMistyped = 3

// isMeant reports whether an object is a kind of the Trainer, of JobSet or of a neighbor with a
// mistyped group. Other projects use the names of some kinds too, so the group must be near.
// Neither the letters' case nor a missing version counts.
func isMeant(id identity, r readable) bool {
	if !slices.Contains([]string{trainerGroup, jobsetGroup, claimGroup, queueGroup}, r.group) ||
		!strings.EqualFold(r.kind, id.kind) {
		return false
	}
	group, _, _ := strings.Cut(id.apiVersion, "/")
	return nearest.Within(strings.ToLower(group), r.group, mostMistyped)
}

// isForeign reports whether none of these keys belongs to a Kubernetes object, as in a workflow or
// a chart's values. Keys in the wrong case still belong to an object.
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

// isKustomize reports whether an object with these keys is a part of a file for kustomize. Such a
// part is an operation of a JSON 6902 patch, a replacement, or the configuration of a transformer.
func isKustomize(keys []string) bool {
	has := func(key string) bool { return slices.Contains(keys, key) }
	return has("op") && has("path") || has("source") && has("targets") ||
		slices.ContainsFunc(
			[]string{"nameReference", "namePrefix", "nameSuffix", "varReference", "commonLabels",
				"commonAnnotations", "templateLabels"}, has)
}

// isToolFile reports whether a file's name belongs to another tool: kustomize, Helm, GitHub, or one
// with a hidden file.
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

// listItems classifies the content of the items field.
type listItems int

const (
	noItems     listItems = iota // no such field, null, or an empty list
	objectItems                  // objects only
	otherItems
)

// isList reports whether the object is a List with objects as items. It is a v1 List, or its kind
// ends in List. The result known reports whether it has the fields of every List.
func isList(id identity, items listItems, further []Kind) (is, known bool) {
	if !strings.HasSuffix(id.kind, "List") {
		return false, false
	}
	group, _ := id.group()
	sure := id.kind == "List" && group == ""
	for _, r := range readables(further) {
		sure = sure || r.group == group && r.kind+"List" == id.kind
	}
	sure = sure ||
		group == trainerGroup && slices.Contains(unread, strings.TrimSuffix(id.kind, "List"))
	known = sure || id.kind == "List"
	return sure || known && items != otherItems || items == objectItems, known
}

// itemsOf classifies the items of a JSON List.
func itemsOf(items iter.Seq[*source.Source]) listItems {
	kind := noItems
	for item := range items {
		if kind = objectItems; item.JSON && item.Text[0] != '{' {
			return otherItems
		}
	}
	return kind
}

// identityOf returns the identity of an object from its nodes.
func identityOf(r *source.Reading, n *yaml.Node) identity {
	field := func(n *yaml.Node, name string) string {
		_, v := r.Lookup(n, name)
		return r.Word(v)
	}
	id := identity{apiVersion: field(n, "apiVersion"), kind: field(n, "kind")}
	if _, meta := r.Lookup(n, "metadata"); meta != nil {
		id.name, id.namespace = field(source.Target(meta), "name"),
			field(source.Target(meta), "namespace")
	}
	return id
}

func nodeItems(items *yaml.Node) listItems {
	if items == nil {
		return noItems
	}
	items = source.Target(items)
	switch {
	case items.Kind == yaml.ScalarNode && items.Tag == "!!null":
		return noItems
	case items.Kind != yaml.SequenceNode:
		return otherItems
	case len(items.Content) == 0:
		return noItems
	}
	for _, item := range items.Content {
		if source.Target(item).Kind != yaml.MappingNode {
			return otherItems
		}
	}
	return objectItems
}

// nodeKeys returns the keys of a mapping.
func nodeKeys(n *yaml.Node) []string {
	var keys []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys
}
