package kubeapi

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// volume returns the place of a volume.
func (p *podChecker) volume(i int) *At {
	volumes := p.Spec.Volumes
	if len(p.volumeSteps) != len(volumes) {
		p.volumeSteps = nameSteps(len(volumes), func(i int) string { return volumes[i].Name })
	}
	return p.at.As(codes.Volume).Field("volumes").Step(p.volumeSteps[i])
}

// checkVolumes checks the Pod's volumes. It stores the valid ones in volumes, and the others in
// invalidVolumes.
func (p *podChecker) checkVolumes() {
	p.volumes, p.invalidVolumes = map[string]*corev1.Volume{}, map[string]bool{}
	for i := range p.Spec.Volumes {
		v, at, faults := &p.Spec.Volumes[i], p.volume(i), 0
		at.report = func(code finding.Code, path fieldpath.Path, message, help string) {
			faults++
			p.at.report(code, path, message, help)
		}
		name := at.As(codes.BadName).Field("name")
		name.NamedBy(v.Name)
		if p.volumes[v.Name] != nil {
			name.Duplicate(v.Name, "rename one of the volumes")
		}
		p.checkSources(v, at)
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

// checkSources checks the first source of a volume, as the API server does. A volume without a
// source becomes an emptyDir.
func (p *podChecker) checkSources(v *corev1.Volume, volume *At) {
	set := sources(v)
	if len(set) == 0 {
		return
	}
	for _, other := range set[1:] {
		volume.As(codes.TwoSources).Field(other).Forbid("may not specify more than 1 volume type",
			fmt.Sprintf("keep %s or %s", set[0], other))
	}
	at := volume.Field(set[0])
	switch set[0] {
	case "emptyDir":
		if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			at.Field("sizeLimit").Forbid("SizeLimit field must be a valid resource quantity",
				"set a quantity such as 1Gi")
		}
	case "hostPath":
		path, kind := at.Field("path"), v.HostPath.Type
		if !path.Required(v.HostPath.Path) {
			break
		}
		path.NoWayUp(v.HostPath.Path)
		NilOr(at.Field("type"), kind, corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate,
			corev1.HostPathDirectory, corev1.HostPathFileOrCreate, corev1.HostPathFile,
			corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev)
	case "secret":
		at.Field("secretName").Required(v.Secret.SecretName)
		at.Field("defaultMode").mode(v.Secret.DefaultMode)
		checkFiles(v.Secret.Items, at, nil)
	case "configMap":
		at.Field("name").Required(v.ConfigMap.Name)
		at.Field("defaultMode").mode(v.ConfigMap.DefaultMode)
		checkFiles(v.ConfigMap.Items, at, nil)
	case "nfs":
		at.Field("server").Required(v.NFS.Server)
		if !strings.HasPrefix(v.NFS.Path, "/") {
			at.Field("path").Invalid(v.NFS.Path, "must be an absolute path",
				"begin it with a slash")
		}
	case "persistentVolumeClaim":
		at.Field("claimName").Required(v.PersistentVolumeClaim.ClaimName)
	case "downwardAPI":
		at.Field("defaultMode").mode(v.DownwardAPI.DefaultMode)
		checkDownwardFiles(v.DownwardAPI.Items, at, nil)
	case "projected":
		at.Field("defaultMode").mode(v.Projected.DefaultMode)
		seen := map[string]bool{}
		for i := range v.Projected.Sources {
			checkProjection(&v.Projected.Sources[i], at.Field("sources").Index(i), seen)
		}
	case "csi":
		checkCSI(v.CSI, at)
	case "ephemeral":
		checkEphemeral(v.Ephemeral, at)
	case "image":
		EmptyOr(at.Field("pullPolicy"), v.Image.PullPolicy, corev1.PullAlways,
			corev1.PullIfNotPresent, corev1.PullNever)
	default:
		checkDisk(v, volume, set[0])
	}
}

func (a *At) mode(mode *int32) {
	const most = 0o777
	if mode != nil && (*mode < 0 || *mode > most) {
		a.Invalid(*mode, "must be a number between 0 and 0777 (octal), both inclusive",
			"set an octal number with the leading zero")
	}
}

// checkFiles and checkDownwardFiles check the items of a volume. With seen, which has the paths of
// other sources, they report paths that repeat.
func checkFiles(items []corev1.KeyToPath, volume *At, seen map[string]bool) {
	for i := range items {
		item, at := &items[i], volume.Field("items").Index(i)
		at.Field("key").Required(item.Key)
		at.Field("path").file(item.Path)
		at.Field("mode").mode(item.Mode)
		at.Field("path").differs(item.Path, seen)
	}
}

func checkDownwardFiles(items []corev1.DownwardAPIVolumeFile, volume *At, seen map[string]bool) {
	for i := range items {
		item, at := &items[i], volume.Field("items").Index(i)
		at.Field("path").file(item.Path)
		at.Field("mode").mode(item.Mode)
		checkDownwardFile(item, at)
		at.Field("path").differs(item.Path, seen)
	}
}

func checkDownwardFile(file *corev1.DownwardAPIVolumeFile, at *At) {
	ref, resource := file.FieldRef, file.ResourceFieldRef
	if ref != nil && resource != nil {
		at.As(codes.TwoSources).Invalid("resource",
			"fieldRef and resourceFieldRef can not be specified simultaneously",
			"keep one of the two")
	}
	switch {
	case ref != nil:
		checkFieldRef(ref, volumeFields, at.Field("fieldRef"))
	case resource == nil:
		at.Missing("one of fieldRef and resourceFieldRef is required",
			"set fieldRef or resourceFieldRef")
	case resource.ContainerName == "":
		at.Field("resourceFieldRef", "containerName").Missing("", "name the container")
		checkDivisor(resource, at.Field("resourceFieldRef"))
	default:
		checkResourceRef(resource, at.Field("resourceFieldRef"))
	}
}

// file checks the path of a file that the kubelet writes into a volume.
func (a *At) file(file string) {
	if !a.Required(file) {
		return
	}
	a.Relative(file)
	if strings.HasPrefix(file, "..") && !strings.HasPrefix(file, "../") && file != ".." {
		a.Invalid(file, "must not start with '..'", "rename the file")
	}
}

func (a *At) differs(file string, seen map[string]bool) {
	if seen == nil || file == "" {
		return
	}
	if seen[file] {
		a.Invalid(file, "conflicting duplicate paths", "set different paths")
	}
	seen[file] = true
}

// checkProjection checks one of the sources of a volume with several.
func checkProjection(source *corev1.VolumeProjection, at *At, seen map[string]bool) {
	set := 0
	if s := source.Secret; s != nil {
		set++
		at.Field("secret", "name").Required(s.Name)
		checkFiles(s.Items, at.Field("secret"), seen)
	}
	if c := source.ConfigMap; c != nil {
		set++
		at.Field("configMap", "name").Required(c.Name)
		checkFiles(c.Items, at.Field("configMap"), seen)
	}
	if d := source.DownwardAPI; d != nil {
		set++
		checkDownwardFiles(d.Items, at.Field("downwardAPI"), seen)
	}
	if t := source.ServiceAccountToken; t != nil {
		const least, longest = 10 * 60, 1 << 32
		set++
		token := at.Field("serviceAccountToken")
		if t.ExpirationSeconds != nil { // the API server fills in an hour
			token.Field("expirationSeconds").Between(*t.ExpirationSeconds, least, longest)
		}
		token.Field("path").file(t.Path)
	}
	if set > 1 {
		at.As(codes.TwoSources).Forbid("may not specify more than 1 volume type per source",
			"make each a source of its own")
	}
}

func checkCSI(csi *corev1.CSIVolumeSource, at *At) {
	const longestDriver = 63
	if driver := at.Field("driver"); driver.Required(csi.Driver) &&
		!driver.TooLong(len(csi.Driver), longestDriver, "use the driver's name") {
		driver.Subdomain(strings.ToLower(csi.Driver))
	}
	if ref := csi.NodePublishSecretRef; ref != nil &&
		at.Field("nodePublishSecretRef", "name").Required(ref.Name) {
		at.Field("name").Subdomain(ref.Name) // where the API server reports it
	}
}

func checkEphemeral(source *corev1.EphemeralVolumeSource, at *At) {
	template, at := source.VolumeClaimTemplate, at.Field("volumeClaimTemplate")
	if template == nil {
		at.Missing("", "set the template of the claim")
		return
	}
	at.Field("metadata").Metadata(template.Labels, template.Annotations)
	// JobSet's definition has no other metadata fields here.
	for _, other := range []struct {
		field string
		set   bool
	}{{"name", template.Name != ""}, {"namespace", template.Namespace != ""},
		{"finalizers", len(template.Finalizers) > 0}} {
		if other.set {
			at.Field("metadata", other.field).Forbid("may not be set in a template",
				"remove the field")
		}
	}
	checkClaimSpec(&template.Spec, at.As(codes.Claim).Field("spec"))
}
