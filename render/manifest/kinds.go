package manifest

import (
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/nearest"
)

// identity identifies an object by the strings in its file.
type identity struct {
	apiVersion, kind, namespace, name string
}

func (id identity) object() fieldpath.Object {
	return fieldpath.Object{Kind: id.kind, Namespace: id.namespace, Name: id.name}
}

// group returns the parts of the apiVersion. The core group is empty.
func (id identity) group() (group, version string) {
	if group, version, ok := strings.Cut(id.apiVersion, "/"); ok {
		return group, version
	}
	return "", id.apiVersion
}

// inList completes the identity of an item from its typed List.
func (id identity) inList(of identity) identity {
	if id.apiVersion == "" && id.kind == "" {
		id.apiVersion, id.kind = of.apiVersion, of.kind
	}
	return id
}

// item returns the default identity of a List's items. It is empty for the general v1 List.
func (id identity) item() identity {
	kind := strings.TrimSuffix(id.kind, "List")
	if kind == "" {
		return identity{}
	}
	return identity{apiVersion: id.apiVersion, kind: kind}
}

const (
	trainerGroup = "trainer.kubeflow.org"
	jobsetGroup  = "jobset.x-k8s.io"
	// oldVersion was never released, but published guides contain it by mistake.
	oldVersion = "v2alpha1"
)

// readable is a kind that this package decodes.
type readable struct {
	group, version, kind string
	make                 func() any
}

func (r *readable) apiVersion() string { return strings.TrimPrefix(r.group+"/"+r.version, "/") }

// name sets apiVersion and kind. They differ in an object of another version, and are missing in items of a typed List.
func (r *readable) name(object any) {
	if o, ok := object.(runtime.Object); ok {
		o.GetObjectKind().SetGroupVersionKind(gvk.GroupVersionKind{Group: r.group, Version: r.version, Kind: r.kind})
	}
}

// Kind is a further kind for DecodeKinds.
type Kind struct {
	Group, Version, Kind string
	// New returns an empty object, a pointer to a struct.
	New func() any
	// Others maps the versions of this kind that another project defines to the remedy for their objects.
	Others map[string]string
}

// unread are the kinds of the Trainer's group that this package skips. No released controller reads them.
var unread = []string{"OptimizationJob"}

// IsNext reports whether the object is of a kind of the Trainer's group that no released controller reads.
func (d *Document) IsNext() bool {
	if d == nil {
		return false
	}
	group, _, _ := strings.Cut(d.APIVersion, "/")
	return group == trainerGroup && d.Object == nil && !d.Broken && slices.Contains(unread, d.ID.Kind)
}

// readables returns the further kinds, then the kinds of this package, grouped by API group.
func readables(further []Kind) []readable {
	var kinds []readable
	for _, k := range further {
		kinds = append(kinds, readable{k.Group, k.Version, k.Kind, k.New})
	}
	return append(kinds, []readable{
		{trainerGroup, "v1alpha1", "TrainJob", func() any { return new(trainer.TrainJob) }},
		{trainerGroup, "v1alpha1", "TrainingRuntime", func() any { return new(trainer.TrainingRuntime) }},
		{trainerGroup, "v1alpha1", "ClusterTrainingRuntime", func() any { return new(trainer.ClusterTrainingRuntime) }},
		{jobsetGroup, "v1alpha2", "JobSet", func() any { return new(jobset.JobSet) }},
		{"", "v1", "ConfigMap", func() any { return new(corev1.ConfigMap) }},
	}...)
}

// recognize returns the kind of an object, or nil for another kind. It may return a finding without a position.
func recognize(id identity, further []Kind) (*readable, *finding.Finding) {
	group, version := id.group()
	var ofGroup []string
	var namesake *readable
	for _, r := range readables(further) {
		if r.group == group {
			ofGroup = append(ofGroup, r.kind)
		}
		if r.kind != id.kind {
			continue
		}
		switch {
		case r.group != group:
			namesake = &r
		case r.version == version:
			return &r, nil
		case group == trainerGroup && version == oldVersion:
			return &r, &finding.Finding{
				Code: codes.OldVersion, Severity: finding.Warning, Path: fieldpath.Fields("apiVersion"),
				Message: fmt.Sprintf("%s does not exist: it is read as %s", id.apiVersion, r.apiVersion()),
				Remedy:  finding.Remedy{Do: finding.SetValue, Options: []string{r.apiVersion()}, IsCertain: true, Text: "set apiVersion: " + r.apiVersion()},
			}
		case slices.ContainsFunc(further, func(k Kind) bool { return k.Group == group && k.Kind == id.kind }):
			remedy := fmt.Sprintf("set apiVersion to %s if the object has the fields of that version", r.apiVersion())
			for _, k := range further {
				if other := k.Others[version]; other != "" && k.Group == group && k.Kind == id.kind {
					remedy = other
				}
			}
			return nil, &finding.Finding{
				Code: codes.UnknownVersion, Severity: finding.Warning, Path: fieldpath.Fields("apiVersion"),
				Message: fmt.Sprintf("Unsupported value: %s of %s: the object is skipped", quote(id.apiVersion), r.kind),
				Remedy:  finding.Remedy{Text: remedy},
			}
		default:
			return nil, &finding.Finding{
				Code: codes.UnknownVersion, Severity: finding.Error, Path: fieldpath.Fields("apiVersion"),
				Message: fmt.Sprintf("Unsupported value: %s of %s", quote(id.apiVersion), r.kind),
				Remedy:  finding.Remedy{Do: finding.SetValue, Options: []string{r.apiVersion()}, IsCertain: true, Text: "set apiVersion: " + r.apiVersion()},
			}
		}
	}
	if group == trainerGroup {
		ofGroup = append(ofGroup, unread...)
	}
	switch {
	case namesake != nil && namesake.group == trainerGroup:
		// Other projects rarely use kinds of these names.
		return nil, &finding.Finding{
			Code: codes.UnknownKind, Severity: finding.Warning, Path: fieldpath.Fields("apiVersion"),
			Message: fmt.Sprintf("%s of %s is not a kind of the Trainer: the object is skipped", id.kind, quote(id.apiVersion)),
			Remedy:  finding.Remedy{Text: fmt.Sprintf("set apiVersion: %s, or ignore this warning", namesake.apiVersion())},
		}
	case group == trainerGroup && slices.Contains(unread, id.kind):
	case group == trainerGroup || group == jobsetGroup:
		f := &finding.Finding{
			Code: codes.UnknownKind, Severity: finding.Error, Path: fieldpath.Fields("kind"),
			Message: fmt.Sprintf("%s has no kind %s", group, quote(id.kind)),
			Remedy:  finding.Remedy{Do: finding.SetValue, Options: ofGroup, Text: "write one of " + strings.Join(ofGroup, ", ")},
		}
		if len(id.kind) <= longestName {
			if near := nearest.To(id.kind, ofGroup); near != "" {
				f.Remedy = finding.Remedy{Do: finding.SetValue, Options: []string{near}, IsCertain: nearest.IsClear(id.kind, near, ofGroup), Text: fmt.Sprintf("did you mean %q?", near)}
			}
		}
		return nil, f
	}
	return nil, nil
}

// isList reports whether the object is a List with objects as items. It is a v1 List, or its kind ends in List. The
// result known reports whether it has the fields of every List.
func isList(id identity, items listItems, further []Kind) (is, known bool) {
	if !strings.HasSuffix(id.kind, "List") {
		return false, false
	}
	group, _ := id.group()
	sure := id.kind == "List" && group == ""
	for _, r := range readables(further) {
		sure = sure || r.group == group && r.kind+"List" == id.kind
	}
	sure = sure || group == trainerGroup && slices.Contains(unread, strings.TrimSuffix(id.kind, "List"))
	known = sure || id.kind == "List"
	return sure || known && items != otherItems || items == objectItems, known
}

// listItems classifies the content of the items field.
type listItems int

const (
	noItems     listItems = iota // no such field, null, or an empty list
	objectItems                  // objects only
	otherItems
)
