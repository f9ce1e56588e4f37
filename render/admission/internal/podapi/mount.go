package podapi

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// checkMounts checks the volume mounts of a container.
func (p *podChecker) checkMounts(c podContainer) {
	paths := map[string]bool{}
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		at := c.at.Append(fieldpath.Field("volumeMounts"), fieldpath.Index(i))
		if m.MountPath != "" && !paths[m.MountPath] {
			at = c.at.Append(fieldpath.Field("volumeMounts"),
				fieldpath.Item("mountPath", m.MountPath))
		}
		p.checkVolumeOf(m.Name, at.Append(fieldpath.Field("name")))
		if apirule.Required(p.report, codes.Mount, at.Append(fieldpath.Field("mountPath")),
			m.MountPath) && paths[m.MountPath] {
			p.report(codes.Mount, at.Append(fieldpath.Field("mountPath")),
				apirule.Invalid(m.MountPath, "must be unique"), "mount one of the two elsewhere")
		}
		paths[m.MountPath] = true
		if slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool {
			return d.Name == m.Name || d.DevicePath == m.MountPath
		}) {
			p.report(codes.Mount, at,
				apirule.Invalid(m.Name, "must not already exist in volumeDevices"),
				"remove the mount, or the device")
		}
		apirule.RelativePath(p.report, codes.Mount, at.Append(fieldpath.Field("subPath")),
			m.SubPath)
		apirule.RelativePath(p.report, codes.Mount, at.Append(fieldpath.Field("subPathExpr")),
			m.SubPathExpr)
		if m.SubPath != "" && m.SubPathExpr != "" {
			p.report(codes.TwoSources, at.Append(fieldpath.Field("subPathExpr")),
				apirule.Invalid(m.SubPathExpr, "subPathExpr and subPath are mutually exclusive"),
				"keep one of the two")
		}
		p.checkPropagation(c, m, at)
	}
}

// checkVolumeOf requires the mounted volume. The API server reports mounts of an invalid volume as
// well; the error on the volume suffices here.
func (p *podChecker) checkVolumeOf(name string, path fieldpath.Path) {
	if !apirule.Required(p.report, codes.Mount, path, name) || p.volumes[name] != nil ||
		p.invalidVolumes[name] {
		return
	}
	p.report(codes.Mount, path, apirule.NotFound(name),
		"add the volume to the Pod, or remove the mount")
}

func (p *podChecker) checkPropagation(c podContainer, m *corev1.VolumeMount, at fieldpath.Path) {
	none := m.MountPropagation == nil || *m.MountPropagation == corev1.MountPropagationNone
	if m.MountPropagation != nil {
		path := at.Append(fieldpath.Field("mountPropagation"))
		apirule.OneOf(p.report, codes.Mount, path, *m.MountPropagation, corev1.MountPropagationNone,
			corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)
		if *m.MountPropagation == corev1.MountPropagationBidirectional &&
			!IsPrivileged(c.SecurityContext) {
			p.report(codes.Mount, path,
				apirule.Forbidden(
					"Bidirectional mount propagation is available only to privileged containers"),
				"make the container privileged, or use HostToContainer")
		}
	}
	if m.RecursiveReadOnly == nil {
		return
	}
	path := at.Append(fieldpath.Field("recursiveReadOnly"))
	apirule.OneOf(p.report, codes.Mount, path, *m.RecursiveReadOnly,
		corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible,
		corev1.RecursiveReadOnlyEnabled)
	if asked := *m.RecursiveReadOnly; asked == corev1.RecursiveReadOnlyEnabled ||
		asked == corev1.RecursiveReadOnlyIfPossible {
		if !m.ReadOnly {
			p.report(codes.Mount, path,
				apirule.Forbidden("may only be specified when readOnly is true"),
				"set readOnly to true")
		}
		if !none {
			p.report(codes.Mount, path,
				apirule.Forbidden(
					"may only be specified when mountPropagation is None or not specified"),
				"remove one of the two")
		}
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
		at := c.at.Append(fieldpath.Field("volumeDevices"), fieldpath.Index(i))
		p.checkVolumeOf(d.Name, at.Append(fieldpath.Field("name")))
		if v := p.volumes[d.Name]; v != nil && v.PersistentVolumeClaim == nil &&
			v.Ephemeral == nil {
			p.report(codes.Mount, at.Append(fieldpath.Field("name")),
				apirule.Invalid(
					d.Name, "can only use volume source type of PersistentVolumeClaim or "+
						"Ephemeral for block mode"), "mount the volume instead")
		}
		path := at.Append(fieldpath.Field("devicePath"))
		if apirule.Required(p.report, codes.Mount, path, d.DevicePath) {
			apirule.NoWayUp(p.report, codes.Mount, path, d.DevicePath)
		}
		for _, other := range c.VolumeDevices[:i] {
			if other.Name == d.Name || other.DevicePath == d.DevicePath {
				p.report(codes.Mount, at, apirule.Invalid(d.Name, "must be unique"),
					"remove one of the two")
			}
		}
		if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == d.Name || m.MountPath == d.DevicePath
		}) {
			p.report(codes.Mount, at,
				apirule.Invalid(d.Name, "must not already exist in volumeMounts"),
				"remove the mount, or the device")
		}
	}
}
