package admission

import (
	"fmt"
	"path"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/patched"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// warn reports patches that are probably mistakes.
func (c *checker) warn(idle finding.List) {
	if c.merged == nil {
		return
	}
	c.movedAncestors()
	c.relativeDirs()
	c.Add(idle...)
	for i := range c.typed.Spec.RuntimePatches {
		c.powers(&c.typed.Spec.RuntimePatches[i])
	}
}

// movedAncestors warns of patches that move the label of the trainer or an initializer to another
// job. The TrainJob's section then applies to another job, or to none.
func (c *checker) movedAncestors() {
	before := c.in.Runtime.spec.Template.Spec.ReplicatedJobs
	for i := range c.merged.Template.Spec.ReplicatedJobs {
		job := &c.merged.Template.Spec.ReplicatedJobs[i]
		old := replicatedJob(before, job.Name)
		if old == nil {
			continue
		}
		was, is := old.Template.Labels[mlpolicy.Ancestor], job.Template.Labels[mlpolicy.Ancestor]
		if was == is {
			continue
		}
		path := jobPath(job.Name).Append(
			fieldpath.Fields("template", "metadata", "labels")...).Append(
			fieldpath.Key(mlpolicy.Ancestor))
		claim := c.origin(path)
		c.Add(finding.Finding{
			Code: codes.AncestorMoved, Severity: finding.Warning, Object: c.job.id, Path: claim.At,
			Claims: []merge.Claim{claim},
			Message: fmt.Sprintf(
				"the patch changes the label of job %q from %s to %s: another section of the "+
					"TrainJob applies to the job", job.Name, orNone(was), orNone(is)),
			Remedy: finding.Remedy{Text: "remove the label from the patch"},
		})
	}
}

func orNone(ancestor string) string {
	if ancestor == "" {
		return "none"
	}
	return fmt.Sprintf("%q", ancestor)
}

// relativeDirs warns of working directories that are relative paths. The API server takes any text,
// and runc refuses it, since the OCI runtime specification demands an absolute path. A path of
// Windows begins with a drive.
func (c *checker) relativeDirs() {
	for in := range patched.Containers(c.merged.Template.Spec.ReplicatedJobs) {
		os, dir := in.Job.Template.Spec.Template.Spec.OS, in.WorkingDir
		if dir == "" || path.IsAbs(dir) || os != nil && os.Name == corev1.Windows {
			continue
		}
		claim := c.origin(in.Path().Append(fieldpath.Field("workingDir")))
		f := finding.Finding{
			Code: codes.RelativeDir, Severity: finding.Warning, Object: c.job.id, Path: claim.At,
			Message: fmt.Sprintf("the working directory %q of container %q is no absolute path: "+
				"the container does not start", dir, in.Name),
			Remedy: finding.Remedy{Text: fmt.Sprintf(
				"set an absolute path, such as %q", path.Join("/", dir))},
		}
		if runtimepatch.FromRuntime(claim) {
			f.Object = c.in.Runtime.id
		}
		c.Add(f)
	}
}

// powers warns of patches that give containers power over their node. Defaults of a queue or a team
// rarely intend that.
func (c *checker) powers(patch *trainer.RuntimePatch) {
	jobs := patched.Jobs(patch)
	for i := range jobs {
		job, pod := &jobs[i], patched.Pod(&jobs[i])
		if pod == nil {
			continue
		}
		at := func(steps ...fieldpath.Step) fieldpath.Path {
			return runtimepatch.PatchPath(patch.Manager).Append(jobPath(job.Name)...).Append(
				fieldpath.Fields("template", "spec", "template", "spec")...).Append(steps...)
		}
		before := podOf(c.in.Runtime.spec.Template.Spec.ReplicatedJobs, job.Name)
		c.containerPowers(pod.InitContainers, before.InitContainers, "initContainers", at)
		c.containerPowers(pod.Containers, before.Containers, "containers", at)
		for j := range pod.Volumes {
			v := &pod.Volumes[j]
			had := slices.ContainsFunc(before.Volumes, func(b corev1.Volume) bool {
				return b.Name == v.Name && b.HostPath != nil
			})
			if v.HostPath != nil && !had {
				c.report(codes.PrivilegedPatch, finding.Warning,
					at(fieldpath.Field("volumes"), fieldpath.Item("name", v.Name),
						fieldpath.Field("hostPath")),
					fmt.Sprintf("the patch mounts %s of the node", v.HostPath.Path),
					"mount a claim, or set the volume in the runtime")
			}
		}
	}
}

func podOf(jobs []jobset.ReplicatedJob, name string) *corev1.PodSpec {
	if job := replicatedJob(jobs, name); job != nil {
		return &job.Template.Spec.Template.Spec
	}
	return &corev1.PodSpec{}
}

func (c *checker) containerPowers(patches []trainer.ContainerPatch, before []corev1.Container,
	list string, pathTo func(...fieldpath.Step) fieldpath.Path) {
	for i := range patches {
		s := patches[i].SecurityContext
		if s == nil {
			continue
		}
		var had *corev1.SecurityContext
		if at := slices.IndexFunc(before, func(b corev1.Container) bool {
			return b.Name == patches[i].Name
		}); at >= 0 {
			had = before[at].SecurityContext
		}
		path := pathTo(fieldpath.Field(list), fieldpath.Item("name", patches[i].Name),
			fieldpath.Field("securityContext"))
		const help = "set the field in the runtime"
		if kubeapi.IsPrivileged(s) && !kubeapi.IsPrivileged(had) {
			c.report(codes.PrivilegedPatch, finding.Warning,
				path.Append(fieldpath.Field("privileged")),
				fmt.Sprintf("the patch makes container %q privileged: it has full access to its "+
					"node", patches[i].Name), help)
		}
		if s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "SYS_ADMIN") {
			c.report(codes.PrivilegedPatch, finding.Warning,
				path.Append(fieldpath.Fields("capabilities", "add")...),
				fmt.Sprintf("the patch adds the capability SYS_ADMIN to container %q, which "+
					"includes most others", patches[i].Name), help)
		}
	}
}
