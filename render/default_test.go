package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render"
)

func TestDefaultJobSet(t *testing.T) {
	js := jobSet(t, `
  failurePolicy: {maxRestarts: 2, rules: [{action: FailJobSet}, {name: mine, action: FailJobSet}]}
  volumeClaimPolicies: [{templates: []}, {retentionPolicy: {}}, {retentionPolicy: {whenDeleted: Retain}}]
  replicatedJobs:
  - name: node
    template:
      spec:
        template:
          spec:
            initContainers: [{name: i, ports: [{containerPort: 1}]}]
            containers:
            - name: node
              ports: [{containerPort: 2}, {containerPort: 3, protocol: UDP}]
              env: [{name: E, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]
              readinessProbe: {grpc: {port: 4}}
            volumes:
            - {name: a, azureDisk: {diskName: disk, diskURI: uri}}
            - {name: b, iscsi: {targetPortal: p, iqn: q, lun: 0}}
            - {name: c, rbd: {monitors: [m], image: i}}
            - {name: d, scaleIO: {gateway: g, system: s, secretRef: {name: r}}}
  - {name: side, groupName: g, replicas: 3, template: {spec: {completionMode: NonIndexed, template: {spec: {restartPolicy: Never}}}}}
`)
	want := &jobset.JobSet{}
	if err := yaml.UnmarshalStrict([]byte(`
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: llm, namespace: team}
spec:
  network: {enableDNSHostnames: true, publishNotReadyAddresses: true}
  successPolicy: {operator: All}
  startupPolicy: {startupPolicyOrder: AnyOrder}
  failurePolicy: {maxRestarts: 2, restartStrategy: Recreate, rules: [{name: failurePolicyRule0, action: FailJobSet}, {name: mine, action: FailJobSet}]}
  volumeClaimPolicies:
  - {templates: [], retentionPolicy: {whenDeleted: Delete}}
  - {retentionPolicy: {whenDeleted: Delete}}
  - {retentionPolicy: {whenDeleted: Retain}}
  replicatedJobs:
  - name: node
    groupName: default
    replicas: 1
    template:
      spec:
        completionMode: Indexed
        template:
          spec:
            restartPolicy: OnFailure
            initContainers: [{name: i, ports: [{containerPort: 1, protocol: TCP}]}]
            containers:
            - name: node
              ports: [{containerPort: 2, protocol: TCP}, {containerPort: 3, protocol: UDP}]
              env: [{name: E, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k, optional: false}}}]
              readinessProbe: {grpc: {port: 4, service: ""}}
            volumes:
            - {name: a, azureDisk: {diskName: disk, diskURI: uri, fsType: ext4, readOnly: false}}
            - {name: b, iscsi: {targetPortal: p, iqn: q, lun: 0, iscsiInterface: default}}
            - {name: c, rbd: {monitors: [m], image: i, keyring: /etc/ceph/keyring, pool: rbd, user: admin}}
            - {name: d, scaleIO: {gateway: g, system: s, secretRef: {name: r}, fsType: xfs, storageMode: ThinProvisioned}}
  - {name: side, groupName: g, replicas: 3, template: {spec: {completionMode: NonIndexed, template: {spec: {restartPolicy: Never}}}}}
`), want); err != nil {
		t.Fatal(err)
	}
	before := js.DeepCopy()
	got := render.DefaultJobSet(js)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, js); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	if diff := cmp.Diff(got, render.DefaultJobSet(got)); diff != "" {
		t.Errorf("defaulting twice differs:\n%s", diff)
	}
}

// TestDefaultTrainJob_EmptyStrings holds that a string that the object sets stays empty, as the API
// server keeps it.
func TestDefaultTrainJob_EmptyStrings(t *testing.T) {
	source := func() *corev1.VolumeSource {
		return &corev1.VolumeSource{
			RBD: &corev1.RBDVolumeSource{}, ScaleIO: &corev1.ScaleIOVolumeSource{},
			ISCSI: &corev1.ISCSIVolumeSource{}}
	}
	pod := &trainer.PodSpecPatch{Volumes: []corev1.Volume{{Name: "v", VolumeSource: *source()}}}
	job := &trainer.TrainJob{
		Spec: trainer.TrainJobSpec{
			RuntimePatches: []trainer.RuntimePatch{
				{}, {TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
					Template: &trainer.JobSetTemplatePatch{
						Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: []trainer.ReplicatedJobPatch{
							{Template: &trainer.JobTemplatePatch{
								Spec: &trainer.JobSpecPatch{
									Template: &trainer.PodTemplatePatch{Spec: pod}}}},
						}}},
				}}}}}
	const volume = ".spec.runtimePatches[1].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec.volumes[0]."
	written := map[string]bool{volume + "scaleIO.fsType": true, volume + "rbd.pool": true,
		volume + "iscsi.iscsiInterface": true}
	render.DefaultTrainJob(job, func(at fieldpath.Path) bool { return written[at.String()] })
	want := source()
	want.RBD.Keyring, want.RBD.RadosUser, want.ScaleIO.StorageMode = "/etc/ceph/keyring", "admin",
		"ThinProvisioned"
	if diff := cmp.Diff(*want, pod.Volumes[0].VolumeSource); diff != "" {
		t.Error(diff)
	}
}
