package render_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest"
)

const legacyFolder = "../testdata/legacy"

func decodeFile(t *testing.T, file string) *manifest.Document {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents, findings := manifest.Decode(file, data)
	if err := findings.Err(); err != nil || len(documents) != 1 {
		t.Fatalf("%s: %v, %d documents", file, err, len(documents))
	}
	return documents[0]
}

// TestGuides renders each wish of testdata/legacy in both APIs. The JobSets are the same, and
// migrating the old form gives the new one.
func TestGuides(t *testing.T) {
	runtime := decodeFile(t, filepath.Join(legacyFolder, "runtime.yaml")).Object.(*trainer.ClusterTrainingRuntime)
	render.DefaultRuntime(&runtime.Spec, nil)
	folders, err := filepath.Glob(filepath.Join(casefile.Unpack(t, legacyFolder), "*", "old.yaml"))
	if err != nil || len(folders) < 10 {
		t.Fatalf("%d cases: %v", len(folders), err)
	}
	for _, file := range folders {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			old, today := decodeFile(t, file),
				decodeFile(t, filepath.Join(filepath.Dir(file), "new.yaml"))
			if old.Overrides == nil || today.Overrides != nil {
				t.Fatal("the two forms are not of the two APIs")
			}
			in := render.Input{TrainJob: old.Object.(*trainer.TrainJob), Runtime: &runtime.Spec,
				Layers: old.Overrides}
			render.DefaultTrainJob(in.TrainJob, nil)
			want := today.Object.(*trainer.TrainJob)
			render.DefaultTrainJob(want, nil)
			before, err := render.JobSet(in, render.Options{})
			if err != nil {
				t.Fatal(err)
			}
			after, err := render.JobSet(render.Input{TrainJob: want, Runtime: &runtime.Spec},
				render.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before.JobSet, after.JobSet); diff != "" {
				t.Errorf("the two forms render otherwise (-old +new):\n%s", diff)
			}
			plain, err := render.JobSet(render.Input{TrainJob: in.TrainJob, Runtime: &runtime.Spec},
				render.Options{})
			if err != nil || cmp.Equal(plain.JobSet, before.JobSet) {
				t.Errorf("the wish changes nothing: %v", err)
			}
			m := render.Migrate(in, old.Overrides, "trainer.kubeflow.org/kubeflow-sdk")
			if !m.Proved || m.Findings != nil {
				t.Fatalf("not proved: %v", m.Findings)
			}
			if diff := cmp.Diff(want.Spec.RuntimePatches,
				m.TrainJob.Spec.RuntimePatches); diff != "" {
				t.Errorf("it migrates to something else (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMigrate is what migrating does beyond the guides.
func TestMigrate(t *testing.T) {
	volume := func(name string) corev1.Volume {
		return corev1.Volume{
			Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	}
	runtime := &trainer.TrainingRuntimeSpec{}
	runtime.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}, {Name: "eval"}}
	for i := range runtime.Template.Spec.ReplicatedJobs {
		pod := &runtime.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		pod.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		pod.Volumes = []corev1.Volume{volume("r1"), volume("r2")}
		pod.ServiceAccountName = "runtime"
	}
	render.DefaultRuntime(runtime, nil)
	target := func(names ...string) (targets []legacy.TargetJob) {
		for _, name := range names {
			targets = append(targets, legacy.TargetJob{Name: name})
		}
		return targets
	}
	mount := func(path string) []legacy.ContainerOverride {
		return []legacy.ContainerOverride{
			{Name: "c", VolumeMounts: []corev1.VolumeMount{{Name: "r1", MountPath: path}}}}
	}
	empty := ""
	tests := []struct {
		name      string
		overrides legacy.Overrides
		unknown   bool // the runtime is
		want      func(patch *trainer.JobSetTemplatePatch) bool
		findings  []finding.Code
		rejected  bool
		reason    string
	}{
		{
			name: "nothing", want: func(p *trainer.JobSetTemplatePatch) bool { return p == nil },
			reason: "what said nothing needs no patch",
		},
		{
			name: "no targets",
			overrides: legacy.Overrides{
				PodTemplateOverrides: []legacy.PodTemplateOverride{
					{TargetJobs: []legacy.TargetJob{},
						Spec: &legacy.PodTemplateSpecOverride{ServiceAccountName: &empty}}}},
			want: func(p *trainer.JobSetTemplatePatch) bool {
				return p == nil
			}, findings: []finding.Code{codes.SaidNothing},
			reason: "an override for no job never did anything, and the author is told",
		},
		{
			name: "metadata that was never read",
			overrides: legacy.Overrides{PodTemplateOverrides: []legacy.PodTemplateOverride{{
				TargetJobs: target("node"),
				Metadata: &metav1.ObjectMeta{Finalizers: []string{"a.example/b"},
					Labels: map[string]string{"a": "b"}},
			}}},
			want: func(p *trainer.JobSetTemplatePatch) bool {
				return p.Spec.ReplicatedJobs[0].Template.Spec.Template.Metadata.Finalizers == nil
			},
			findings: []finding.Code{codes.IgnoredMetadata},
			reason:   "a patch's finalizers reach the Pods, and an override's never did",
		},
		{
			name: "an empty service account",
			overrides: legacy.Overrides{PodTemplateOverrides: []legacy.PodTemplateOverride{{
				TargetJobs: target("node"),
				Spec:       &legacy.PodTemplateSpecOverride{ServiceAccountName: &empty},
			}}},
			want: func(p *trainer.JobSetTemplatePatch) bool {
				name := p.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.ServiceAccountName
				return name != nil && *name == ""
			},
			reason: "an empty name takes the runtime's away",
		},
		{
			name: "an order that needs the runtime's items",
			overrides: legacy.Overrides{PodTemplateOverrides: []legacy.PodTemplateOverride{
				{TargetJobs: target("node"),
					Spec: &legacy.PodTemplateSpecOverride{
						Volumes: []corev1.Volume{volume("r2"), volume("n")}}},
				{TargetJobs: target("node"),
					Spec: &legacy.PodTemplateSpecOverride{
						Volumes: []corev1.Volume{volume("n"), volume("r2")}}},
			}},
			want: func(p *trainer.JobSetTemplatePatch) bool {
				var names []string
				for _, v := range p.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Volumes {
					names = append(names, v.Name)
				}
				return slices.Equal(names, []string{"r1", "n", "r2"})
			},
			reason: "the second override puts its new item behind an item of the runtime; one " +
				"patch puts it in front unless it also names that",
		},
		{
			name: "jobs in the order of the file",
			overrides: legacy.Overrides{PodTemplateOverrides: []legacy.PodTemplateOverride{
				{TargetJobs: target("eval"),
					Spec: &legacy.PodTemplateSpecOverride{
						NodeSelector: map[string]string{"a": "b"}}},
				{TargetJobs: target("node", "eval", "node"),
					Spec: &legacy.PodTemplateSpecOverride{
						NodeSelector: map[string]string{"c": "d"}}},
			}},
			want: func(p *trainer.JobSetTemplatePatch) bool {
				jobs := p.Spec.ReplicatedJobs
				return len(jobs) == 2 && jobs[0].Name == "eval" &&
					len(jobs[0].Template.Spec.Template.Spec.NodeSelector) == 2 &&
					jobs[1].Name == "node"
			},
			reason: "one entry a job, and an override that names a job twice is laid over it once",
		},
		{
			name: "two mounts of one volume",
			overrides: legacy.Overrides{PodTemplateOverrides: []legacy.PodTemplateOverride{
				{TargetJobs: target("node"),
					Spec: &legacy.PodTemplateSpecOverride{Containers: mount("/a")}},
				{TargetJobs: target("node"),
					Spec: &legacy.PodTemplateSpecOverride{Containers: mount("/b")}},
			}},
			rejected: true, findings: []finding.Code{codes.NotMigrated},
			reason: "two overrides can mount a volume at two paths, and one patch cannot",
		},
		{
			name: "two mounts of one volume, without a runtime", unknown: true,
			overrides: legacy.Overrides{PodTemplateOverrides: []legacy.PodTemplateOverride{
				{TargetJobs: target("node"),
					Spec: &legacy.PodTemplateSpecOverride{Containers: mount("/a")}},
				{TargetJobs: target("node"),
					Spec: &legacy.PodTemplateSpecOverride{Containers: mount("/b")}},
			}},
			rejected: true, findings: []finding.Code{codes.NotMigrated},
			reason: "what no runtime would help is refused without one",
		},
		{
			name: "a directive, without a runtime", unknown: true,
			overrides: legacy.Overrides{PodTemplateOverrides: []legacy.PodTemplateOverride{
				{TargetJobs: target("node"),
					Spec: &legacy.PodTemplateSpecOverride{
						NodeSelector: map[string]string{"$patch": "replace"}}},
			}},
			rejected: true, findings: []finding.Code{codes.Directive},
			reason: "a directive acts on the runtime, and would be lost",
		},
		{
			name: "an unknown job",
			overrides: legacy.Overrides{
				PodTemplateOverrides: []legacy.PodTemplateOverride{{TargetJobs: target("nod")}}},
			rejected: true, findings: []finding.Code{codes.UnknownJob},
			reason: "Trainer 2.1 refused it, and a patch would add the job",
		},
		{
			name:      "without targetJobs",
			overrides: legacy.Overrides{PodTemplateOverrides: []legacy.PodTemplateOverride{{}}},
			rejected:  true, findings: []finding.Code{codes.MissingField},
			reason: "nobody can say which jobs are meant",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := render.Input{
				TrainJob: &trainer.TrainJob{
					ObjectMeta: metav1.ObjectMeta{Name: "tj", Namespace: "ns"}}, Runtime: runtime}
			if tt.unknown {
				in.Runtime = nil
			}
			render.DefaultTrainJob(in.TrainJob, nil)
			written := tt.overrides.DeepCopy()
			m := render.Migrate(in, &tt.overrides, "example.com/m")
			if diff := cmp.Diff(written, &tt.overrides); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
			var codes []finding.Code
			for _, f := range m.Findings {
				codes = append(codes, f.Code)
			}
			if !slices.Equal(codes, tt.findings) {
				t.Errorf("%s: findings\n%v\nwant %v", tt.reason, m.Findings, tt.findings)
			}
			if (m.TrainJob == nil) != tt.rejected || m.Proved != (!tt.rejected && !tt.unknown) {
				t.Fatalf("%s: TrainJob %v, proved %t: %v", tt.reason, m.TrainJob, m.Proved,
					m.Findings)
			}
			if tt.rejected {
				return
			}
			var patch *trainer.JobSetTemplatePatch
			if patches := m.TrainJob.Spec.RuntimePatches; len(patches) > 0 {
				patch = patches[0].TrainingRuntimeSpec.Template
			}
			if !tt.want(patch) {
				t.Errorf("%s: the patch is %s", tt.reason, strings.TrimSpace(cmp.Diff(nil, patch)))
			}
		})
	}
}

// TestMigrate_Patches does not make a second author's patch of overrides.
func TestMigrate_Patches(t *testing.T) {
	job := &trainer.TrainJob{
		Spec: trainer.TrainJobSpec{
			RuntimePatches: []trainer.RuntimePatch{{Manager: "example.com/m"}}}}
	m := render.Migrate(render.Input{TrainJob: job},
		&legacy.Overrides{Labels: map[string]string{"a": "b"}}, "example.com/m")
	if m.TrainJob != nil || len(m.Findings) != 1 || m.Findings[0].Code != codes.TwoAPIs {
		t.Errorf("%v", m.Findings)
	}
}
