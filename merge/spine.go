package merge

import (
	"reflect"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/schema"
)

// The types on the way from a JobSet to what patches set in it are few, and every patch passes through
// them. So these are walked as Go types: they find lists, maps of strings, and the users and groups of a
// Pod, which merge without the schema's walk, and hand every other field to it. What both do with one
// value is the same, and a property test compares them.

// spine are the schema's fields on this way.
type spine struct {
	jobs                                          *schema.StructField
	jobTemplate, jobSpec, podTemplate, podSpec    *schema.StructField
	jobMetadata, podMetadata, labels, annotations *schema.StructField
	volumes, initContainers, containers           *schema.StructField
	gracePeriod, nodeSelector, serviceAccount     *schema.StructField
	securityContext, pullSecrets, affinity        *schema.StructField
	tolerations, gates                            *schema.StructField
	runAsUser, runAsGroup, runAsNonRoot, fsGroup  *schema.StructField
	env, mounts, containerSecurityContext         *schema.StructField
}

var theSpine = sync.OnceValue(func() *spine {
	s := &spine{}
	s.jobs = schema.JobSetTemplate().Field("spec").Type.Field("replicatedJobs")
	s.jobTemplate = s.jobs.Type.Elem.Field("template")
	s.jobMetadata, s.jobSpec = s.jobTemplate.Type.Field("metadata"), s.jobTemplate.Type.Field("spec")
	s.podTemplate = s.jobSpec.Type.Field("template")
	s.podMetadata, s.podSpec = s.podTemplate.Type.Field("metadata"), s.podTemplate.Type.Field("spec")
	s.labels, s.annotations = s.podMetadata.Type.Field("labels"), s.podMetadata.Type.Field("annotations")
	pod := s.podSpec.Type
	s.volumes, s.initContainers, s.containers = pod.Field("volumes"), pod.Field("initContainers"), pod.Field("containers")
	s.gracePeriod, s.nodeSelector, s.serviceAccount = pod.Field("terminationGracePeriodSeconds"), pod.Field("nodeSelector"), pod.Field("serviceAccountName")
	s.securityContext, s.pullSecrets, s.affinity = pod.Field("securityContext"), pod.Field("imagePullSecrets"), pod.Field("affinity")
	s.tolerations, s.gates = pod.Field("tolerations"), pod.Field("schedulingGates")
	security := s.securityContext.Type
	s.runAsUser, s.runAsGroup, s.runAsNonRoot, s.fsGroup = security.Field("runAsUser"), security.Field("runAsGroup"), security.Field("runAsNonRoot"), security.Field("fsGroup")
	container := s.containers.Type.Elem
	s.env, s.mounts, s.containerSecurityContext = container.Field("env"), container.Field("volumeMounts"), container.Field("securityContext")
	return s
})

// fields merges the fields of a list's item.
func (m *merger) fields(t *schema.Type, dst, src any, at node) error {
	if !m.byField {
		switch from := src.(type) {
		case *trainer.ReplicatedJobPatch:
			return m.job(dst.(*jobset.ReplicatedJob), from, at)
		case *trainer.ContainerPatch:
			return m.container(dst.(*corev1.Container), from, at)
		}
	}
	_, err := m.structure(t.Elem, t.KeyField(), reflect.ValueOf(dst).Elem(), reflect.ValueOf(src).Elem(), at)
	return err
}

// one merges one field of a struct by the schema, if the patch's encoding has it.
func (m *merger) one(f *schema.StructField, dst, src any, at node) error {
	from, encoded := f.Patch.Of(reflect.ValueOf(src).Elem())
	if !encoded {
		return nil
	}
	return m.encoded(f, reflect.ValueOf(dst).Elem(), from, at)
}

func (m *merger) jobSet(f *schema.StructField, dst *jobset.JobSetSpec, src *trainer.JobSetSpecPatch, at node) error {
	if m.byField || len(src.ReplicatedJobs) == 0 {
		_, err := m.structure(f.Type, nil, reflect.ValueOf(dst).Elem(), reflect.ValueOf(src).Elem(), at)
		return err
	}
	jobs := m.spine.jobs
	return in(jobs.Name, mergeList(m, &jobItems, jobs.Type, &dst.ReplicatedJobs, len(dst.ReplicatedJobs) > 0, src.ReplicatedJobs, m.field(at, jobs)))
}

func (m *merger) job(dst *jobset.ReplicatedJob, src *trainer.ReplicatedJobPatch, at node) error {
	t := src.Template
	if t == nil {
		return nil
	}
	if t.Metadata == nil && t.Spec == nil {
		return m.one(m.spine.jobTemplate, dst, src, at)
	}
	return in("template", m.jobTemplate(&dst.Template, t, m.field(at, m.spine.jobTemplate)))
}

func (m *merger) jobTemplate(dst *batchv1.JobTemplateSpec, src *trainer.JobTemplatePatch, at node) error {
	if src.Metadata != nil {
		if err := m.objectMeta(m.spine.jobMetadata, dst, &dst.ObjectMeta, src, src.Metadata, at); err != nil {
			return err
		}
	}
	if src.Spec == nil {
		return nil
	}
	t := src.Spec.Template
	if t == nil {
		return m.one(m.spine.jobSpec, dst, src, at)
	}
	at = m.field(at, m.spine.jobSpec)
	if t.Metadata == nil && t.Spec == nil {
		return in("spec", m.one(m.spine.podTemplate, &dst.Spec, src.Spec, at))
	}
	return in("spec", in("template", m.podTemplate(&dst.Spec.Template, t, m.field(at, m.spine.podTemplate))))
}

func (m *merger) podTemplate(dst *corev1.PodTemplateSpec, src *trainer.PodTemplatePatch, at node) error {
	if src.Metadata != nil {
		if err := m.objectMeta(m.spine.podMetadata, dst, &dst.ObjectMeta, src, src.Metadata, at); err != nil {
			return err
		}
	}
	if src.Spec == nil {
		return nil
	}
	said, err := m.pod(&dst.Spec, src.Spec, m.field(at, m.spine.podSpec))
	if !said {
		return m.one(m.spine.podSpec, dst, src, at)
	}
	return in("spec", err)
}

// objectMeta merges metadata, of which patches set labels and annotations, as a rule. The parents are
// for the others.
func (m *merger) objectMeta(f *schema.StructField, dstParent any, dst *metav1.ObjectMeta, srcParent any, src *metav1.ObjectMeta, at node) error {
	if !hasLabelsOnly(src) {
		return m.one(f, dstParent, srcParent, at)
	}
	at = m.field(at, f)
	err := m.stringsOf(m.spine.labels, dst, &dst.Labels, src, src.Labels, at)
	if err == nil {
		err = m.stringsOf(m.spine.annotations, dst, &dst.Annotations, src, src.Annotations, at)
	}
	return in("metadata", err)
}

// hasLabelsOnly reports whether labels or annotations are set, and nothing else.
func hasLabelsOnly(o *metav1.ObjectMeta) bool {
	return len(o.Labels)+len(o.Annotations) > 0 &&
		//lint:ignore SA1019 SelfLink is a field of the type still, and a patch may hold it.
		o.Name == "" && o.GenerateName == "" && o.Namespace == "" && o.SelfLink == "" && o.UID == "" &&
		o.ResourceVersion == "" && o.Generation == 0 && o.CreationTimestamp.IsZero() && o.DeletionTimestamp == nil &&
		o.DeletionGracePeriodSeconds == nil && len(o.OwnerReferences)+len(o.Finalizers)+len(o.ManagedFields) == 0
}

// stringsOf merges a map of strings.
func (m *merger) stringsOf(f *schema.StructField, dstParent any, dst *map[string]string, srcParent any, src map[string]string, at node) error {
	if len(src) == 0 {
		return nil
	}
	if m.readPairs(src) {
		return m.one(f, dstParent, srcParent, at)
	}
	m.stringMap(dst, m.field(at, f))
	return nil
}

// pod merges the fields in the order of the schema.
func (m *merger) pod(dst *corev1.PodSpec, src *trainer.PodSpecPatch, at node) (said bool, err error) {
	s := m.spine
	step := func(set bool, f *schema.StructField, merge func(at node) error) {
		if !set || err != nil {
			return
		}
		said = true
		if merge == nil {
			err = m.one(f, dst, src, at)
		} else {
			err = in(f.Name, merge(m.field(at, f)))
		}
	}
	step(len(src.Volumes) > 0, s.volumes, func(at node) error {
		return mergeList(m, &volumeItems, s.volumes.Type, &dst.Volumes, len(dst.Volumes) > 0, src.Volumes, at)
	})
	step(len(src.InitContainers) > 0, s.initContainers, func(at node) error {
		return mergeList(m, &containerItems, s.initContainers.Type, &dst.InitContainers, len(dst.InitContainers) > 0, src.InitContainers, at)
	})
	step(len(src.Containers) > 0, s.containers, func(at node) error {
		return mergeList(m, &containerItems, s.containers.Type, &dst.Containers, true, src.Containers, at)
	})
	step(src.TerminationGracePeriodSeconds != nil, s.gracePeriod, nil)
	if len(src.NodeSelector) > 0 && err == nil {
		said, err = true, m.stringsOf(s.nodeSelector, dst, &dst.NodeSelector, src, src.NodeSelector, at)
	}
	step(src.ServiceAccountName != nil, s.serviceAccount, nil)
	if err == nil && hasUsersAndGroupsOnly(src.SecurityContext) {
		said = true
		m.usersAndGroups(&dst.SecurityContext, src.SecurityContext, m.field(at, s.securityContext))
	} else {
		step(src.SecurityContext != nil, s.securityContext, nil)
	}
	step(len(src.ImagePullSecrets) > 0, s.pullSecrets, func(at node) error {
		return mergeList(m, &referenceItems, s.pullSecrets.Type, &dst.ImagePullSecrets, len(dst.ImagePullSecrets) > 0, src.ImagePullSecrets, at)
	})
	step(src.Affinity != nil, s.affinity, nil)
	step(len(src.Tolerations) > 0, s.tolerations, nil)
	step(len(src.SchedulingGates) > 0, s.gates, func(at node) error {
		return mergeList(m, &gateItems, s.gates.Type, &dst.SchedulingGates, len(dst.SchedulingGates) > 0, src.SchedulingGates, at)
	})
	return said, err
}

// hasUsersAndGroupsOnly reports whether users and groups are set, as mostly, and nothing else.
func hasUsersAndGroupsOnly(s *corev1.PodSecurityContext) bool {
	return s != nil && (s.RunAsUser != nil || s.RunAsGroup != nil || s.RunAsNonRoot != nil || s.FSGroup != nil) &&
		s.SELinuxOptions == nil && s.WindowsOptions == nil && len(s.SupplementalGroups) == 0 && s.SupplementalGroupsPolicy == nil &&
		len(s.Sysctls) == 0 && s.FSGroupChangePolicy == nil && s.SeccompProfile == nil && s.AppArmorProfile == nil && s.SELinuxChangePolicy == nil
}

// usersAndGroups merges a security context that holds nothing else.
func (m *merger) usersAndGroups(dst **corev1.PodSecurityContext, src *corev1.PodSecurityContext, at node) {
	fresh := m.fresh
	if *dst == nil {
		*dst = new(corev1.PodSecurityContext)
		m.fresh = true
		m.make(at)
	}
	scalar(m, m.spine.runAsUser, &(*dst).RunAsUser, src.RunAsUser, at)
	scalar(m, m.spine.runAsGroup, &(*dst).RunAsGroup, src.RunAsGroup, at)
	scalar(m, m.spine.runAsNonRoot, &(*dst).RunAsNonRoot, src.RunAsNonRoot, at)
	scalar(m, m.spine.fsGroup, &(*dst).FSGroup, src.FSGroup, at)
	m.fresh = fresh
}

// scalar merges a field that points to a plain value.
func scalar[T comparable](m *merger, f *schema.StructField, dst **T, src *T, at node) {
	if src == nil {
		return
	}
	at = m.field(at, f)
	if m.owners {
		m.keepOld(at, f.Type, reflect.ValueOf(*dst), *dst != nil)
	}
	if *dst == nil || **dst != *src {
		value := *src // claims hold on to the old one
		*dst = &value
	}
	if m.owners {
		m.claim(at, reflect.ValueOf(*dst))
	}
}

func (m *merger) container(dst *corev1.Container, src *trainer.ContainerPatch, at node) error {
	s := m.spine
	if len(src.Env) > 0 {
		if err := mergeList(m, &variableItems, s.env.Type, &dst.Env, len(dst.Env) > 0, src.Env, m.field(at, s.env)); err != nil {
			return in("env", err)
		}
	}
	if len(src.VolumeMounts) > 0 {
		if err := mergeList(m, &mountItems, s.mounts.Type, &dst.VolumeMounts, len(dst.VolumeMounts) > 0, src.VolumeMounts, m.field(at, s.mounts)); err != nil {
			return in("volumeMounts", err)
		}
	}
	if src.SecurityContext != nil {
		return m.one(s.containerSecurityContext, dst, src, at)
	}
	return nil
}

// in is an error within a field.
func in(field string, err error) error {
	if err == nil {
		return nil
	}
	return within(schema.Field(field), err)
}
