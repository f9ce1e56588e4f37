package kubeapi

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
)

// checkMounts checks the volume mounts of a container.
func (p *podChecker) checkMounts(c podContainer) {
	paths := map[string]bool{}
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		step := fieldpath.Index(i)
		if m.MountPath != "" && !paths[m.MountPath] {
			step = fieldpath.Item("mountPath", m.MountPath)
		}
		at := c.at.As(codes.Mount).Field("volumeMounts").Step(step)
		p.checkVolumeOf(m.Name, at.Field("name"))
		if path := at.Field("mountPath"); path.Required(m.MountPath) && paths[m.MountPath] {
			path.Invalid(m.MountPath, "must be unique", "mount one of the two elsewhere")
		}
		paths[m.MountPath] = true
		if slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool {
			return d.Name == m.Name || d.DevicePath == m.MountPath
		}) {
			at.Invalid(m.Name, "must not already exist in volumeDevices",
				"remove the mount, or the device")
		}
		at.Field("subPath").Relative(m.SubPath)
		at.Field("subPathExpr").Relative(m.SubPathExpr)
		if m.SubPath != "" && m.SubPathExpr != "" {
			at.As(codes.TwoSources).Field("subPathExpr").Invalid(m.SubPathExpr,
				"subPathExpr and subPath are mutually exclusive", "keep one of the two")
		}
		checkPropagation(c, m, at)
	}
}

// checkVolumeOf requires the mounted volume. The API server reports mounts of an invalid volume as
// well; the error on the volume suffices here.
func (p *podChecker) checkVolumeOf(name string, at *At) {
	if at.Required(name) && p.volumes[name] == nil && !p.invalidVolumes[name] {
		at.Reject(notFound(name), "add the volume to the Pod, or remove the mount")
	}
}

func checkPropagation(c podContainer, m *corev1.VolumeMount, at *At) {
	none := m.MountPropagation == nil || *m.MountPropagation == corev1.MountPropagationNone
	propagation := at.Field("mountPropagation")
	NilOr(propagation, m.MountPropagation, corev1.MountPropagationNone,
		corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)
	if !none && *m.MountPropagation == corev1.MountPropagationBidirectional &&
		!IsPrivileged(c.SecurityContext) {
		propagation.Forbid(
			"Bidirectional mount propagation is available only to privileged containers",
			"make the container privileged, or use HostToContainer")
	}
	if m.RecursiveReadOnly == nil {
		return
	}
	at, asked := at.Field("recursiveReadOnly"), *m.RecursiveReadOnly
	OneOf(at, asked, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible,
		corev1.RecursiveReadOnlyEnabled)
	if asked != corev1.RecursiveReadOnlyEnabled && asked != corev1.RecursiveReadOnlyIfPossible {
		return
	}
	if !m.ReadOnly {
		at.Forbid("may only be specified when readOnly is true", "set readOnly to true")
	}
	if !none {
		at.Both("may only be specified when mountPropagation is None or not specified")
	}
}

// IsPrivileged reports whether a container is privileged on its node.
func IsPrivileged(c *corev1.SecurityContext) bool {
	return c != nil && c.Privileged != nil && *c.Privileged
}

// checkDevices checks the block devices of a container.
func (p *podChecker) checkDevices(c podContainer) {
	for i := range c.VolumeDevices {
		d := &c.VolumeDevices[i]
		at := c.at.As(codes.Mount).Field("volumeDevices").Index(i)
		p.checkVolumeOf(d.Name, at.Field("name"))
		if v := p.volumes[d.Name]; v != nil && v.PersistentVolumeClaim == nil &&
			v.Ephemeral == nil {
			at.Field("name").Invalid(d.Name, "can only use volume source type of "+
				"PersistentVolumeClaim or Ephemeral for block mode", "mount the volume instead")
		}
		if path := at.Field("devicePath"); path.Required(d.DevicePath) {
			path.NoWayUp(d.DevicePath)
		}
		for _, other := range c.VolumeDevices[:i] {
			if other.Name == d.Name || other.DevicePath == d.DevicePath {
				at.Invalid(d.Name, "must be unique", "remove one of the two")
			}
		}
		if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == d.Name || m.MountPath == d.DevicePath
		}) {
			at.Invalid(d.Name, "must not already exist in volumeMounts",
				"remove the mount, or the device")
		}
	}
}
