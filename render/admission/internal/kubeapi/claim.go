package kubeapi

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/render/codes"
)

// CheckClaim checks a new volume claim. The API server drops some data sources before
// (pkg/api/persistentvolumeclaim).
func CheckClaim(claim *corev1.PersistentVolumeClaim, report Reporter) {
	root := Root(report, codes.Claim)
	root.Field("metadata").Metadata(claim.Labels, claim.Annotations)
	spec := claim.Spec
	if ref := spec.DataSourceRef; ref != nil && ptr.Deref(ref.Namespace, "") != "" {
		spec.DataSourceRef = nil
	}
	if source := spec.DataSource; source != nil && spec.DataSourceRef == nil {
		switch source.Kind + "." + ptr.Deref(source.APIGroup, "") {
		case "PersistentVolumeClaim.", "VolumeSnapshot.snapshot.storage.k8s.io":
		default:
			spec.DataSource = nil
		}
	}
	checkClaimSpec(&spec, root.Field("spec"))
}

func checkClaimSpec(spec *corev1.PersistentVolumeClaimSpec, at *At) {
	modes := at.Field("accessModes")
	if len(spec.AccessModes) == 0 {
		modes.Missing("at least 1 access mode is required",
			"set ReadWriteOnce, or ReadWriteMany if several nodes share the volume")
	}
	once, others := false, false
	for i, mode := range spec.AccessModes {
		known := OneOf(modes.Index(i), mode, corev1.ReadWriteOnce, corev1.ReadOnlyMany,
			corev1.ReadWriteMany, corev1.ReadWriteOncePod)
		once = once || mode == corev1.ReadWriteOncePod
		others = others || known && mode != corev1.ReadWriteOncePod
	}
	if once && others {
		modes.Forbid("may not use ReadWriteOncePod with other access modes", "keep one")
	}
	const storage = corev1.ResourceStorage
	switch size, set := spec.Resources.Requests[storage]; {
	case !set:
		at.Field("resources").Key(string(storage)).Missing("", "set resources.requests.storage")
	case size.Sign() <= 0:
		at.Field("resources", "requests").Key(string(storage)).Invalid(size.String(), notPositive,
			"set a quantity such as 10Gi")
	}
	if name := spec.StorageClassName; name != nil && *name != "" {
		at.Field("storageClassName").Subdomain(*name)
	}
	if name := spec.VolumeAttributesClassName; name != nil && *name != "" {
		at.Field("volumeAttributesClassName").Subdomain(*name)
	}
	NilOr(at.Field("volumeMode"), spec.VolumeMode, corev1.PersistentVolumeFilesystem,
		corev1.PersistentVolumeBlock)
	if spec.Selector != nil {
		at.Field("selector").Selector(spec.Selector)
	}
	checkDataSources(spec, at)
}

// checkDataSources checks the data sources of the volume.
func checkDataSources(spec *corev1.PersistentVolumeClaimSpec, at *At) {
	check := func(at *At, name, kind string, group *string) {
		at.Field("name").Required(name)
		at.Field("kind").Required(kind)
		switch {
		case group != nil && *group != "":
			at.Field("apiGroup").Subdomain(*group)
		case kind != "PersistentVolumeClaim":
			at.Invalid(kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
				"set its apiGroup")
		}
	}
	source, ref := spec.DataSource, spec.DataSourceRef
	if source != nil {
		check(at.Field("dataSource"), source.Name, source.Kind, source.APIGroup)
	}
	if ref == nil {
		return
	}
	same := source != nil && source.Name == ref.Name && source.Kind == ref.Kind &&
		ptr.Equal(source.APIGroup, ref.APIGroup)
	if !same {
		check(at.Field("dataSourceRef"), ref.Name, ref.Kind, ref.APIGroup)
	}
	switch {
	case ref.Namespace != nil && *ref.Namespace != "":
		at.Field("dataSourceRef", "namespace").Label(*ref.Namespace)
		if source != nil {
			at.Field("dataSource").InvalidObject(
				"may not be specified when dataSourceRef.namespace is specified", "remove it")
		}
	case source != nil && !same:
		at.Field("dataSource").InvalidObject("must match dataSourceRef", "remove one of the two")
	}
}
