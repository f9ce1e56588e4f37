package kubeapi

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// checkDisk checks the sources for specific disks and file systems.
func checkDisk(v *corev1.Volume, volume *At, source string) {
	at := volume.Field(source)
	need := func(field, value string) { at.Field(field).Required(value) }
	monitors := func(names []string) {
		if len(names) == 0 {
			at.Field("monitors").Missing("", "set Ceph's monitors")
		}
	}
	secret := func(ref *corev1.LocalObjectReference) {
		if ref != nil {
			at.Field("secretRef", "name").Required(ref.Name)
		}
	}
	switch source {
	case "gitRepo":
		need("repository", v.GitRepo.Repository)
		at.Field("directory").Relative(v.GitRepo.Directory)
	case "gcePersistentDisk":
		need("pdName", v.GCEPersistentDisk.PDName)
		at.Field("partition").Between(int64(v.GCEPersistentDisk.Partition), 0, 255)
	case "awsElasticBlockStore":
		need("volumeID", v.AWSElasticBlockStore.VolumeID)
		at.Field("partition").Between(int64(v.AWSElasticBlockStore.Partition), 0, 255)
	case "iscsi":
		checkISCSI(v, volume)
	case "glusterfs":
		need("endpoints", v.Glusterfs.EndpointsName)
		need("path", v.Glusterfs.Path)
	case "flocker":
		checkFlocker(v.Flocker, at)
	case "rbd":
		monitors(v.RBD.CephMonitors)
		need("image", v.RBD.RBDImage)
	case "cinder":
		need("volumeID", v.Cinder.VolumeID)
		secret(v.Cinder.SecretRef)
	case "cephfs":
		monitors(v.CephFS.Monitors)
	case "quobyte":
		checkQuobyte(v.Quobyte, at)
	case "fc":
		checkFC(v.FC, at)
	case "flexVolume":
		need("driver", v.FlexVolume.Driver)
		for _, key := range slices.Sorted(maps.Keys(v.FlexVolume.Options)) {
			domain, _, _ := strings.Cut(key, "/")
			domain = "." + strings.ToLower(domain)
			if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
				at.Field("options").Key(key).Invalid(key,
					"kubernetes.io and k8s.io namespaces are reserved", "use another name")
			}
		}
	case "azureFile":
		need("secretName", v.AzureFile.SecretName)
		need("shareName", v.AzureFile.ShareName)
	case "vsphereVolume":
		need("volumePath", v.VsphereVolume.VolumePath)
	case "photonPersistentDisk":
		need("pdID", v.PhotonPersistentDisk.PdID)
	case "portworxVolume":
		need("volumeID", v.PortworxVolume.VolumeID)
	case "azureDisk":
		checkAzureDisk(v.AzureDisk, at)
	case "storageos":
		at.Field("volumeName").NamedBy(v.StorageOS.VolumeName)
		if name := v.StorageOS.VolumeNamespace; name != "" {
			at.Field("volumeNamespace").Label(name)
		}
		secret(v.StorageOS.SecretRef)
	case "scaleIO":
		need("gateway", v.ScaleIO.Gateway)
		need("system", v.ScaleIO.System)
		need("volumeName", v.ScaleIO.VolumeName)
	}
}

func checkFlocker(f *corev1.FlockerVolumeSource, at *At) {
	const help = "set either datasetName or datasetUUID"
	switch hasName := f.DatasetName != ""; {
	case hasName && f.DatasetUUID != "":
		at.Invalid("resource", "datasetName and datasetUUID can not be specified simultaneously",
			help)
	case !hasName && f.DatasetUUID == "":
		at.Missing("one of datasetName and datasetUUID is required", help)
	}
	if strings.Contains(f.DatasetName, "/") {
		at.Field("datasetName").Invalid(f.DatasetName, "must not contain '/'", "remove the slash")
	}
}

func checkQuobyte(q *corev1.QuobyteVolumeSource, at *At) {
	const longestTenant = 64
	registry := at.Field("registry")
	switch {
	case !registry.Required(q.Registry):
	case len(q.Tenant) > longestTenant:
		at.Field("tenant").Missing("must be a UUID and may not exceed a length of 64 characters",
			"use a UUID")
	default:
		for _, pair := range strings.Split(q.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				registry.Invalid(q.Registry,
					"must be a host:port pair or multiple pairs separated by commas",
					"use host:port")
			}
		}
	}
	at.Field("volume").Required(q.Volume)
}

// targets matches valid names of iSCSI initiators and targets.
var targets = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(iqn\.[0-9]{4}-[0-9]{2}\.[a-zA-Z0-9.-]+:\S+|eui\.[a-zA-Z0-9]{16}|naa\.[a-zA-Z0-9]{32})$`)
})

func checkISCSI(v *corev1.Volume, volume *At) {
	i, at := v.ISCSI, volume.Field("iscsi")
	target := func(at *At, name string) {
		if !targets().MatchString(name) {
			at.Invalid(name, "must be valid format starting with iqn, eui, or naa",
				"use a name that begins with iqn, eui or naa")
		}
	}
	at.Field("targetPortal").Required(i.TargetPortal)
	if iqn := at.Field("iqn"); iqn.Required(i.IQN) {
		target(iqn, i.IQN)
	}
	at.Field("lun").Between(int64(i.Lun), 0, 255)
	if (i.DiscoveryCHAPAuth || i.SessionCHAPAuth) && i.SecretRef == nil {
		at.Field("secretRef").Missing("", "set the Secret of the CHAP authentication")
	}
	if i.InitiatorName == nil {
		return
	}
	target(at.Field("initiatorName"), *i.InitiatorName)
	const longest = 64
	if len(v.Name+":"+i.TargetPortal) > longest {
		volume.Field("name").Invalid(v.Name, fmt.Sprintf("Total length of "+
			"<volume name>:<iscsi.targetPortal> must be under %d characters if "+
			"iscsi.initiatorName is specified.", longest), "shorten the volume's name")
	}
}

func checkFC(fc *corev1.FCVolumeSource, at *At) {
	names, lun := at.Field("targetWWNs"), at.Field("lun")
	const help = "set either of the two"
	switch isTarget := len(fc.TargetWWNs) > 0; {
	case isTarget && len(fc.WWIDs) > 0:
		names.Invalid(fc.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously",
			help)
	case !isTarget && len(fc.WWIDs) == 0:
		names.Missing("must specify either targetWWNs or wwids, but not both", help)
	}
	switch {
	case len(fc.TargetWWNs) == 0:
	case fc.Lun == nil:
		lun.Missing("lun is required if targetWWNs is specified", "set it")
	default:
		lun.Between(int64(*fc.Lun), 0, 255)
	}
}

func checkAzureDisk(d *corev1.AzureDiskVolumeSource, at *At) {
	at.Field("diskName").Required(d.DiskName)
	at.Field("diskURI").Required(d.DataDiskURI)
	NilOr(at.Field("cachingMode"), d.CachingMode, corev1.AzureDataDiskCachingNone,
		corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)
	kind := ptr.Deref(d.Kind, corev1.AzureSharedBlobDisk) // the API server's default
	if !OneOf(at.Field("kind"), kind, corev1.AzureSharedBlobDisk, corev1.AzureDedicatedBlobDisk,
		corev1.AzureManagedDisk) {
		return // the format of the URI depends on the kind
	}
	begins := "https://"
	if kind == corev1.AzureManagedDisk {
		begins = "/subscriptions/"
	}
	if !strings.HasPrefix(d.DataDiskURI, begins) {
		at.Field("diskURI").Reject(
			fmt.Sprintf("%q is not an address of a disk of kind %s", d.DataDiskURI, kind),
			fmt.Sprintf("write one that begins with %s", begins))
	}
}
