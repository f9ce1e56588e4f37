package podapi

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

func (p *podChecker) volumePath(i int) fieldpath.Path {
	volumes := p.Spec.Volumes
	if len(p.volumeSteps) != len(volumes) {
		p.volumeSteps = nameSteps(len(volumes), func(i int) string { return volumes[i].Name })
	}
	return p.field("volumes").Append(p.volumeSteps[i])
}

// checkVolumes checks the Pod's volumes. It stores the valid ones in volumes, and the others in
// invalidVolumes.
func (p *podChecker) checkVolumes() {
	p.volumes, p.invalidVolumes = map[string]*corev1.Volume{}, map[string]bool{}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		faults := 0
		outer := p.report
		p.report = func(code finding.Code, path fieldpath.Path, message, help string) {
			faults++
			outer(code, p.volumePath(i).Append(path...), message, help)
		}
		name := fieldpath.Fields("name")
		if apirule.Required(p.report, codes.BadName, name, v.Name) {
			apirule.DNSLabel(p.report, codes.BadName, name, v.Name)
		}
		if p.volumes[v.Name] != nil {
			p.report(codes.BadName, name, apirule.Duplicate(v.Name), "rename one of the volumes")
		}
		p.checkSources(v)
		p.report = outer
		if faults > 0 {
			p.invalidVolumes[v.Name] = true
		} else {
			p.volumes[v.Name] = v
		}
	}
}

// sourceOrder is the order in which the API server checks a volume's sources. It accepts the first
// and reports all others.
var sourceOrder = []string{
	"emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs",
	"iscsi", "glusterfs", "flocker",
	"persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
	"flexVolume", "configMap", "azureFile",
	"vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos",
	"projected", "scaleIO", "csi", "ephemeral", "image",
}

// sourceFields returns the fields of the Go type in that order.
var sourceFields = sync.OnceValue(func() []int {
	fields := make([]int, len(sourceOrder))
	for i := range reflect.TypeFor[corev1.VolumeSource]().NumField() {
		name, _, _ := strings.Cut(
			reflect.TypeFor[corev1.VolumeSource]().Field(i).Tag.Get("json"), ",")
		fields[slices.Index(sourceOrder, name)] = i
	}
	return fields
})

// sources returns the names of the volume's sources in that order.
func sources(v *corev1.Volume) (set []string) {
	source := reflect.ValueOf(&v.VolumeSource).Elem()
	for i, field := range sourceFields() {
		if !source.Field(field).IsNil() {
			set = append(set, sourceOrder[i])
		}
	}
	return set
}

// checkSources checks the first source of a volume, as the API server does. Its paths begin at the
// volume. A volume without a source becomes an emptyDir.
func (p *podChecker) checkSources(v *corev1.Volume) {
	set := sources(v)
	if len(set) == 0 {
		return
	}
	for _, other := range set[1:] {
		p.report(codes.TwoSources, fieldpath.Fields(other),
			apirule.Forbidden("may not specify more than 1 volume type"),
			fmt.Sprintf("keep %s or %s", set[0], other))
	}
	first := fieldpath.Fields(set[0])
	switch set[0] {
	case "emptyDir":
		if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			p.report(codes.Volume, first.Append(fieldpath.Field("sizeLimit")),
				apirule.Forbidden("SizeLimit field must be a valid resource quantity"),
				"set a quantity such as 1Gi")
		}
	case "hostPath":
		if apirule.Required(p.report, codes.Volume, first.Append(fieldpath.Field("path")),
			v.HostPath.Path) {
			apirule.NoWayUp(p.report, codes.Volume, first.Append(fieldpath.Field("path")),
				v.HostPath.Path)
		}
		if t := v.HostPath.Type; t != nil && v.HostPath.Path != "" {
			apirule.OneOf(p.report, codes.Volume, first.Append(fieldpath.Field("type")), *t,
				corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory,
				corev1.HostPathFileOrCreate, corev1.HostPathFile, corev1.HostPathSocket,
				corev1.HostPathCharDev, corev1.HostPathBlockDev)
		}
	case "secret":
		apirule.Required(p.report, codes.Volume, first.Append(fieldpath.Field("secretName")),
			v.Secret.SecretName)
		p.checkFiles(v.Secret.DefaultMode, v.Secret.Items, first)
	case "configMap":
		apirule.Required(p.report, codes.Volume, first.Append(fieldpath.Field("name")),
			v.ConfigMap.Name)
		p.checkFiles(v.ConfigMap.DefaultMode, v.ConfigMap.Items, first)
	case "nfs":
		apirule.Required(p.report, codes.Volume, first.Append(fieldpath.Field("server")),
			v.NFS.Server)
		if path := first.Append(fieldpath.Field("path")); !strings.HasPrefix(v.NFS.Path, "/") {
			p.report(codes.Volume, path, apirule.Invalid(v.NFS.Path, "must be an absolute path"),
				"begin it with a slash")
		}
	case "persistentVolumeClaim":
		apirule.Required(p.report, codes.Volume, first.Append(fieldpath.Field("claimName")),
			v.PersistentVolumeClaim.ClaimName)
	case "downwardAPI":
		p.checkMode(v.DownwardAPI.DefaultMode, first.Append(fieldpath.Field("defaultMode")))
		for i := range v.DownwardAPI.Items {
			p.checkDownwardFile(&v.DownwardAPI.Items[i],
				first.Append(fieldpath.Field("items"), fieldpath.Index(i)))
		}
	case "projected":
		p.checkProjected(v.Projected, first)
	case "csi":
		p.checkCSI(v.CSI, first)
	case "ephemeral":
		p.checkEphemeral(v.Ephemeral, first)
	case "image":
		if policy := v.Image.PullPolicy; policy != "" {
			apirule.OneOf(p.report, codes.Volume, first.Append(fieldpath.Field("pullPolicy")),
				policy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
		}
	default:
		p.checkDisk(v, set[0], first)
	}
}

const anyMode = 0o777

func (p *podChecker) checkMode(mode *int32, path fieldpath.Path) {
	if mode != nil && (*mode < 0 || *mode > anyMode) {
		p.report(codes.Volume, path,
			apirule.Invalid(*mode, "must be a number between 0 and 0777 (octal), both inclusive"),
			"set an octal number with the leading zero")
	}
}

func (p *podChecker) checkFiles(mode *int32, items []corev1.KeyToPath, at fieldpath.Path) {
	p.checkMode(mode, at.Append(fieldpath.Field("defaultMode")))
	for i := range items {
		p.checkFile(&items[i], at.Append(fieldpath.Field("items"), fieldpath.Index(i)))
	}
}

func (p *podChecker) checkFile(item *corev1.KeyToPath, at fieldpath.Path) {
	apirule.Required(p.report, codes.Volume, at.Append(fieldpath.Field("key")), item.Key)
	p.checkFilePath(item.Path, at.Append(fieldpath.Field("path")))
	p.checkMode(item.Mode, at.Append(fieldpath.Field("mode")))
}

// checkFilePath checks the path of a file that the kubelet writes into a volume.
func (p *podChecker) checkFilePath(file string, path fieldpath.Path) {
	if !apirule.Required(p.report, codes.Volume, path, file) {
		return
	}
	apirule.RelativePath(p.report, codes.Volume, path, file)
	if strings.HasPrefix(file, "..") && !strings.HasPrefix(file, "../") && file != ".." {
		p.report(codes.Volume, path, apirule.Invalid(file, "must not start with '..'"),
			"rename the file")
	}
}

func (p *podChecker) checkDownwardFile(file *corev1.DownwardAPIVolumeFile, at fieldpath.Path) {
	p.checkFilePath(file.Path, at.Append(fieldpath.Field("path")))
	p.checkMode(file.Mode, at.Append(fieldpath.Field("mode")))
	switch {
	case file.FieldRef != nil && file.ResourceFieldRef != nil:
		p.report(codes.TwoSources, at,
			apirule.Invalid(
				"resource", "fieldRef and resourceFieldRef can not be specified simultaneously"),
			"keep one of the two")
		p.checkFieldRef(file.FieldRef, volumeFields, codes.Volume,
			at.Append(fieldpath.Field("fieldRef")))
	case file.FieldRef != nil:
		p.checkFieldRef(file.FieldRef, volumeFields, codes.Volume,
			at.Append(fieldpath.Field("fieldRef")))
	case file.ResourceFieldRef != nil:
		p.checkResourceRef(file.ResourceFieldRef, true, codes.Volume,
			at.Append(fieldpath.Field("resourceFieldRef")))
	default:
		p.report(codes.Volume, at,
			apirule.Missing("one of fieldRef and resourceFieldRef is required"),
			"set fieldRef or resourceFieldRef")
	}
}

func (p *podChecker) checkCSI(csi *corev1.CSIVolumeSource, at fieldpath.Path) {
	p.checkDriver(csi.Driver, at.Append(fieldpath.Field("driver")))
	if ref := csi.NodePublishSecretRef; ref != nil {
		path := at.Append(fieldpath.Fields("nodePublishSecretRef", "name")...)
		if apirule.Required(p.report, codes.Volume, path, ref.Name) {
			// The API server reports an invalid name at this field.
			apirule.DNSSubdomain(p.report, codes.Volume, at.Append(fieldpath.Field("name")),
				ref.Name)
		}
	}
}

const longestDriver = 63

func (p *podChecker) checkDriver(driver string, path fieldpath.Path) {
	if !apirule.Required(p.report, codes.Volume, path, driver) {
		return
	}
	if len(driver) > longestDriver {
		p.report(codes.Volume, path, apirule.TooLong(longestDriver), "use the driver's name")
		return
	}
	apirule.DNSSubdomain(p.report, codes.Volume, path, strings.ToLower(driver))
}

func (p *podChecker) checkEphemeral(source *corev1.EphemeralVolumeSource, at fieldpath.Path) {
	path := at.Append(fieldpath.Field("volumeClaimTemplate"))
	if source.VolumeClaimTemplate == nil {
		p.report(codes.Volume, path, apirule.Missing(""), "set the template of the claim")
		return
	}
	template := source.VolumeClaimTemplate
	metadata := path.Append(fieldpath.Field("metadata"))
	apirule.Metadata(template.Labels, template.Annotations, metadata, p.report)
	// JobSet's definition has no other metadata fields here.
	for _, other := range []struct {
		field string
		set   bool
	}{{"name", template.Name != ""}, {"namespace", template.Namespace != ""},
		{"finalizers", len(template.Finalizers) > 0}} {
		if other.set {
			p.report(codes.Volume, metadata.Append(fieldpath.Field(other.field)),
				apirule.Forbidden("may not be set in a template"), "remove the field")
		}
	}
	checkClaimSpec(&template.Spec, path.Append(fieldpath.Field("spec")), p.report)
}
