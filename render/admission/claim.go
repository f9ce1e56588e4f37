package admission

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/schema"
)

// checkClaim checks a volume claim that the JobSet controller creates (Kubernetes v1.36.3
// pkg/apis/core/validation).
func checkClaim(template *corev1.PersistentVolumeClaim, report reporter) {
	checkMetadata(template.Labels, template.Annotations, schema.Fields("metadata"), report)
	checkClaimSpec(&template.Spec, schema.Fields("spec"), report)
}

func checkClaimSpec(spec *corev1.PersistentVolumeClaimSpec, at schema.Path, report reporter) {
	modes := at.Append(schema.Field("accessModes"))
	if len(spec.AccessModes) == 0 {
		report(schema.CodeClaim, modes, "is required, and empty", "write ReadWriteOnce, or ReadWriteMany where several nodes share the volume")
	}
	once := false
	for i, mode := range spec.AccessModes {
		oneOf(report, schema.CodeClaim, modes.Append(schema.Index(i)), mode, corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod)
		once = once || mode == corev1.ReadWriteOncePod
	}
	if once && len(spec.AccessModes) > 1 {
		report(schema.CodeClaim, modes, "ReadWriteOncePod goes with no other mode", "keep the one that is meant")
	}
	storage := at.Append(schema.Fields("resources", "requests")...).Append(schema.Key(string(corev1.ResourceStorage)))
	switch size, set := spec.Resources.Requests[corev1.ResourceStorage]; {
	case !set:
		report(schema.CodeClaim, at.Append(schema.Field("resources"), schema.Key(string(corev1.ResourceStorage))), "is required, and missing", "set resources.requests.storage")
	case !positive(size):
		report(schema.CodeClaim, storage, fmt.Sprintf("is %s, and must be more than 0", size.String()), "write a quantity such as 10Gi")
	}
	if name := spec.StorageClassName; name != nil && *name != "" {
		dnsSubdomain(report, schema.CodeClaim, at.Append(schema.Field("storageClassName")), "a StorageClass", *name)
	}
	if name := spec.VolumeAttributesClassName; name != nil && *name != "" {
		dnsSubdomain(report, schema.CodeClaim, at.Append(schema.Field("volumeAttributesClassName")), "a VolumeAttributesClass", *name)
	}
	if mode := spec.VolumeMode; mode != nil {
		oneOf(report, schema.CodeClaim, at.Append(schema.Field("volumeMode")), *mode, corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock)
	}
	if spec.Selector != nil {
		checkLabelSelector(spec.Selector, at.Append(schema.Field("selector")), schema.CodeClaim, report)
	}
	checkDataSources(spec, at, report)
}

// checkDataSources checks what the volume is to be filled with.
func checkDataSources(spec *corev1.PersistentVolumeClaimSpec, at schema.Path, report reporter) {
	check := func(field, name, kind string, group *string) {
		path := at.Append(schema.Field(field))
		required(report, schema.CodeClaim, path.Append(schema.Field("name")), name)
		required(report, schema.CodeClaim, path.Append(schema.Field("kind")), kind)
		switch {
		case group != nil && *group != "":
			dnsSubdomain(report, schema.CodeClaim, path.Append(schema.Field("apiGroup")), "an API group", *group)
		case kind != "PersistentVolumeClaim":
			report(schema.CodeClaim, path, fmt.Sprintf("a %s is no kind of the core group that a volume can be filled from", kind), "name its apiGroup")
		}
	}
	source, ref := spec.DataSource, spec.DataSourceRef
	if source != nil {
		check("dataSource", source.Name, source.Kind, source.APIGroup)
	}
	if ref == nil {
		return
	}
	same := source != nil && source.Name == ref.Name && source.Kind == ref.Kind && ptr.Equal(source.APIGroup, ref.APIGroup)
	if !same {
		check("dataSourceRef", ref.Name, ref.Kind, ref.APIGroup)
	}
	if ref.Namespace != nil && *ref.Namespace != "" {
		dnsLabel(report, schema.CodeClaim, at.Append(schema.Fields("dataSourceRef", "namespace")...), "a namespace", *ref.Namespace)
		if source != nil {
			report(schema.CodeClaim, at.Append(schema.Field("dataSource")), "cannot be beside dataSourceRef.namespace", "drop it")
		}
		return
	}
	if source != nil && !same {
		report(schema.CodeClaim, at.Append(schema.Field("dataSource")), "is another object than dataSourceRef", "drop one of the two")
	}
}

// positive says whether a quantity is more than nothing.
func positive(q resource.Quantity) bool { return q.Sign() > 0 }
