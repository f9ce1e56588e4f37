package podapi

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// checkDisk checks the sources for specific disks and file systems.
func (p *podChecker) checkDisk(v *corev1.Volume, source string, at fieldpath.Path) {
	need := func(field, value string) {
		apirule.Required(p.report, codes.Volume, at.Append(fieldpath.Field(field)), value)
	}
	reject := func(field, message, help string) {
		report := at
		if field != "" {
			report = at.Append(fieldpath.Field(field))
		}
		p.report(codes.Volume, report, message, help)
	}
	switch source {
	case "gitRepo":
		need("repository", v.GitRepo.Repository)
		apirule.RelativePath(p.report, codes.Volume, at.Append(fieldpath.Field("directory")),
			v.GitRepo.Directory)
	case "gcePersistentDisk":
		need("pdName", v.GCEPersistentDisk.PDName)
		apirule.Between(p.report, codes.Volume, at.Append(fieldpath.Field("partition")),
			v.GCEPersistentDisk.Partition, 0, 255)
	case "awsElasticBlockStore":
		need("volumeID", v.AWSElasticBlockStore.VolumeID)
		apirule.Between(p.report, codes.Volume, at.Append(fieldpath.Field("partition")),
			v.AWSElasticBlockStore.Partition, 0, 255)
	case "iscsi":
		p.checkISCSI(v, at)
	case "glusterfs":
		need("endpoints", v.Glusterfs.EndpointsName)
		need("path", v.Glusterfs.Path)
	case "flocker":
		if (v.Flocker.DatasetName == "") == (v.Flocker.DatasetUUID == "") {
			message := apirule.Missing("one of datasetName and datasetUUID is required")
			if v.Flocker.DatasetName != "" {
				message = apirule.Invalid(
					"resource", "datasetName and datasetUUID can not be specified simultaneously")
			}
			reject("", message, "set either datasetName or datasetUUID")
		}
		if strings.Contains(v.Flocker.DatasetName, "/") {
			reject("datasetName", apirule.Invalid(v.Flocker.DatasetName, "must not contain '/'"),
				"remove the slash")
		}
	case "rbd":
		if len(v.RBD.CephMonitors) == 0 {
			reject("monitors", apirule.Missing(""), "set Ceph's monitors")
		}
		need("image", v.RBD.RBDImage)
	case "cinder":
		need("volumeID", v.Cinder.VolumeID)
		if ref := v.Cinder.SecretRef; ref != nil {
			apirule.Required(p.report, codes.Volume,
				at.Append(fieldpath.Fields("secretRef", "name")...), ref.Name)
		}
	case "cephfs":
		if len(v.CephFS.Monitors) == 0 {
			reject("monitors", apirule.Missing(""), "set Ceph's monitors")
		}
	case "quobyte":
		p.checkQuobyte(v.Quobyte, at)
	case "fc":
		p.checkFC(v.FC, at)
	case "flexVolume":
		need("driver", v.FlexVolume.Driver)
		for _, key := range slices.Sorted(maps.Keys(v.FlexVolume.Options)) {
			domain, _, _ := strings.Cut(key, "/")
			domain = "." + strings.ToLower(domain)
			if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
				p.report(codes.Volume, at.Append(fieldpath.Field("options"), fieldpath.Key(key)),
					apirule.Invalid(key, "kubernetes.io and k8s.io namespaces are reserved"),
					"use another name")
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
		p.checkAzureDisk(v.AzureDisk, at)
	case "storageos":
		if apirule.Required(p.report, codes.Volume, at.Append(fieldpath.Field("volumeName")),
			v.StorageOS.VolumeName) {
			apirule.DNSLabel(p.report, codes.Volume, at.Append(fieldpath.Field("volumeName")),
				v.StorageOS.VolumeName)
		}
		if name := v.StorageOS.VolumeNamespace; name != "" {
			apirule.DNSLabel(p.report, codes.Volume, at.Append(fieldpath.Field("volumeNamespace")),
				name)
		}
		if ref := v.StorageOS.SecretRef; ref != nil {
			apirule.Required(p.report, codes.Volume,
				at.Append(fieldpath.Fields("secretRef", "name")...), ref.Name)
		}
	case "scaleIO":
		need("gateway", v.ScaleIO.Gateway)
		need("system", v.ScaleIO.System)
		need("volumeName", v.ScaleIO.VolumeName)
	}
}

func (p *podChecker) checkQuobyte(q *corev1.QuobyteVolumeSource, at fieldpath.Path) {
	const longestTenant = 64
	registry := at.Append(fieldpath.Field("registry"))
	switch {
	case !apirule.Required(p.report, codes.Volume, registry, q.Registry):
	case len(q.Tenant) > longestTenant:
		p.report(codes.Volume, at.Append(fieldpath.Field("tenant")),
			apirule.Missing("must be a UUID and may not exceed a length of 64 characters"),
			"use a UUID")
	default:
		for _, pair := range strings.Split(q.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				p.report(codes.Volume, registry,
					apirule.Invalid(
						q.Registry, "must be a host:port pair or multiple pairs separated by commas"), "use host:port")
			}
		}
	}
	apirule.Required(p.report, codes.Volume, at.Append(fieldpath.Field("volume")), q.Volume)
}

// targets matches valid names of iSCSI initiators and targets.
var targets = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(iqn\.[0-9]{4}-[0-9]{2}\.[a-zA-Z0-9.-]+:\S+|eui\.[a-zA-Z0-9]{16}|naa\.[a-zA-Z0-9]{32})$`)
})

func (p *podChecker) checkISCSI(v *corev1.Volume, at fieldpath.Path) {
	i := v.ISCSI
	apirule.Required(p.report, codes.Volume, at.Append(fieldpath.Field("targetPortal")),
		i.TargetPortal)
	const (
		detail = "must be valid format starting with iqn, eui, or naa"
		help   = "use a name that begins with iqn, eui or naa"
	)
	if apirule.Required(p.report, codes.Volume, at.Append(fieldpath.Field("iqn")), i.IQN) &&
		!targets().MatchString(i.IQN) {
		p.report(codes.Volume, at.Append(fieldpath.Field("iqn")), apirule.Invalid(i.IQN, detail),
			help)
	}
	apirule.Between(p.report, codes.Volume, at.Append(fieldpath.Field("lun")), i.Lun, 0, 255)
	if (i.DiscoveryCHAPAuth || i.SessionCHAPAuth) && i.SecretRef == nil {
		p.report(codes.Volume, at.Append(fieldpath.Field("secretRef")), apirule.Missing(""),
			"set the Secret of the CHAP authentication")
	}
	if i.InitiatorName == nil {
		return
	}
	if !targets().MatchString(*i.InitiatorName) {
		p.report(codes.Volume, at.Append(fieldpath.Field("initiatorName")),
			apirule.Invalid(*i.InitiatorName, detail), help)
	}
	const longest = 64
	if len(v.Name+":"+i.TargetPortal) > longest {
		p.report(codes.Volume, at[:len(at)-1].Append(fieldpath.Field("name")),
			apirule.Invalid(
				v.Name, fmt.Sprintf(
					"Total length of <volume name>:<iscsi.targetPortal> must be under %d "+
						"characters if iscsi.initiatorName is specified.", longest)),
			"shorten the volume's name")
	}
}

func (p *podChecker) checkFC(fc *corev1.FCVolumeSource, at fieldpath.Path) {
	if (len(fc.TargetWWNs) == 0) == (len(fc.WWIDs) == 0) {
		message := apirule.Missing("must specify either targetWWNs or wwids, but not both")
		if len(fc.TargetWWNs) > 0 {
			message = apirule.Invalid(fc.TargetWWNs,
				"targetWWNs and wwids can not be specified simultaneously")
		}
		p.report(codes.Volume, at.Append(fieldpath.Field("targetWWNs")), message,
			"set either of the two")
	}
	if len(fc.TargetWWNs) == 0 {
		return
	}
	if lun := at.Append(fieldpath.Field("lun")); fc.Lun == nil {
		p.report(codes.Volume, lun, apirule.Missing("lun is required if targetWWNs is specified"),
			"set it")
	} else {
		apirule.Between(p.report, codes.Volume, lun, *fc.Lun, 0, 255)
	}
}

func (p *podChecker) checkAzureDisk(d *corev1.AzureDiskVolumeSource, at fieldpath.Path) {
	apirule.Required(p.report, codes.Volume, at.Append(fieldpath.Field("diskName")), d.DiskName)
	uri := at.Append(fieldpath.Field("diskURI"))
	apirule.Required(p.report, codes.Volume, uri, d.DataDiskURI)
	if d.CachingMode != nil {
		apirule.OneOf(p.report, codes.Volume, at.Append(fieldpath.Field("cachingMode")),
			*d.CachingMode, corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly,
			corev1.AzureDataDiskCachingReadWrite)
	}
	kind := corev1.AzureSharedBlobDisk // the API server's default
	if d.Kind != nil {
		kind = *d.Kind
		if !apirule.OneOf(p.report, codes.Volume, at.Append(fieldpath.Field("kind")), kind,
			corev1.AzureSharedBlobDisk, corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk) {
			return // the format of the URI depends on the kind
		}
	}
	begins := "https://"
	if kind == corev1.AzureManagedDisk {
		begins = "/subscriptions/"
	}
	if !strings.HasPrefix(d.DataDiskURI, begins) {
		p.report(codes.Volume, uri,
			fmt.Sprintf("%q is not an address of a disk of kind %s", d.DataDiskURI, kind),
			fmt.Sprintf("write one that begins with %s", begins))
	}
}
