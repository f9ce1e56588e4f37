package podapi

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// CheckClaim checks a new volume claim (Kubernetes v1.36.3 pkg/apis/core/validation). The API
// server drops some data sources before (pkg/api/persistentvolumeclaim).
func CheckClaim(claim *corev1.PersistentVolumeClaim, report apirule.Reporter) {
	apirule.Metadata(claim.Labels, claim.Annotations, fieldpath.Fields("metadata"), report)
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
	checkClaimSpec(&spec, fieldpath.Fields("spec"), report)
}

func checkClaimSpec(spec *corev1.PersistentVolumeClaimSpec, at fieldpath.Path,
	report apirule.Reporter) {
	modes := at.Append(fieldpath.Field("accessModes"))
	if len(spec.AccessModes) == 0 {
		report(codes.Claim, modes, apirule.Missing("at least 1 access mode is required"),
			"set ReadWriteOnce, or ReadWriteMany if several nodes share the volume")
	}
	once, others := false, false
	for i, mode := range spec.AccessModes {
		known := apirule.OneOf(report, codes.Claim, modes.Append(fieldpath.Index(i)), mode,
			corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany,
			corev1.ReadWriteOncePod)
		once = once || mode == corev1.ReadWriteOncePod
		others = others || known && mode != corev1.ReadWriteOncePod
	}
	if once && others {
		report(codes.Claim, modes,
			apirule.Forbidden("may not use ReadWriteOncePod with other access modes"), "keep one")
	}
	storage := at.Append(fieldpath.Fields("resources", "requests")...).Append(
		fieldpath.Key(string(corev1.ResourceStorage)))
	switch size, set := spec.Resources.Requests[corev1.ResourceStorage]; {
	case !set:
		report(codes.Claim,
			at.Append(fieldpath.Field("resources"), fieldpath.Key(string(corev1.ResourceStorage))),
			apirule.Missing(""), "set resources.requests.storage")
	case size.Sign() <= 0:
		report(codes.Claim, storage, apirule.Invalid(size.String(), notPositive),
			"set a quantity such as 10Gi")
	}
	if name := spec.StorageClassName; name != nil && *name != "" {
		apirule.DNSSubdomain(report, codes.Claim, at.Append(fieldpath.Field("storageClassName")),
			*name)
	}
	if name := spec.VolumeAttributesClassName; name != nil && *name != "" {
		apirule.DNSSubdomain(report, codes.Claim,
			at.Append(fieldpath.Field("volumeAttributesClassName")), *name)
	}
	if mode := spec.VolumeMode; mode != nil {
		apirule.OneOf(report, codes.Claim, at.Append(fieldpath.Field("volumeMode")), *mode,
			corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock)
	}
	if spec.Selector != nil {
		apirule.LabelSelector(spec.Selector, at.Append(fieldpath.Field("selector")), codes.Claim,
			report)
	}
	checkDataSources(spec, at, report)
}

// checkDataSources checks the data sources of the volume.
func checkDataSources(spec *corev1.PersistentVolumeClaimSpec, at fieldpath.Path,
	report apirule.Reporter) {
	check := func(field, name, kind string, group *string) {
		path := at.Append(fieldpath.Field(field))
		apirule.Required(report, codes.Claim, path.Append(fieldpath.Field("name")), name)
		apirule.Required(report, codes.Claim, path.Append(fieldpath.Field("kind")), kind)
		switch {
		case group != nil && *group != "":
			apirule.DNSSubdomain(report, codes.Claim, path.Append(fieldpath.Field("apiGroup")),
				*group)
		case kind != "PersistentVolumeClaim":
			report(codes.Claim, path,
				apirule.Invalid(
					kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"),
				"set its apiGroup")
		}
	}
	source, ref := spec.DataSource, spec.DataSourceRef
	if source != nil {
		check("dataSource", source.Name, source.Kind, source.APIGroup)
	}
	if ref == nil {
		return
	}
	same := source != nil && source.Name == ref.Name && source.Kind == ref.Kind &&
		ptr.Equal(source.APIGroup, ref.APIGroup)
	if !same {
		check("dataSourceRef", ref.Name, ref.Kind, ref.APIGroup)
	}
	if ref.Namespace != nil && *ref.Namespace != "" {
		apirule.DNSLabel(report, codes.Claim,
			at.Append(fieldpath.Fields("dataSourceRef", "namespace")...), *ref.Namespace)
		if source != nil {
			report(codes.Claim, at.Append(fieldpath.Field("dataSource")),
				apirule.InvalidObject(
					"may not be specified when dataSourceRef.namespace is specified"), "remove it")
		}
		return
	}
	if source != nil && !same {
		report(codes.Claim, at.Append(fieldpath.Field("dataSource")),
			apirule.InvalidObject("must match dataSourceRef"), "remove one of the two")
	}
}
