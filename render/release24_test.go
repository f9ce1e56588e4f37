package render_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
)

// TestRelease_Unread renders cases of the switches that turn in Trainer 2.4, with 2.3 and with 2.4.
// Back on the position of 2.3, the switch alone gives the rendering of 2.3.
func TestRelease_Unread(t *testing.T) {
	images := func(out *render.Objects) any {
		var all []string
		for i := range out.JobSet.Spec.ReplicatedJobs {
			all = append(
				all, out.JobSet.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec.Containers[0].Image)
		}
		return all
	}
	prte := func(out *render.Objects) any {
		var all []any
		for _, job := range []string{"launcher", "node"} {
			for _, e := range containerOf(out, job).Env {
				all = append(all, job+" "+e.Name+"="+e.Value)
			}
		}
		return all
	}
	old := []string{
		"launcher OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
		"launcher OMPI_MCA_orte_keep_fqdn_hostnames=true",
		"launcher OMPI_MCA_orte_set_default_slots=3",
		"launcher OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10",
	}
	const mpi = "mlPolicy: {mpi: {mpiImplementation: OpenMPI, numProcPerNode: 3}}"
	plain := replicatedJob("launcher", "", "", "", nodeContainer) +
		replicatedJob("node", "", "", "", nodeContainer) +
		replicatedJob("side", "", "", "", nodeContainer)
	const claiming = "containers: [{name: node, image: i, resources: {requests: {cpu: 4}, " +
		"claims: [{name: gpu}, {name: nic}]}}], " +
		"resourceClaims: [{name: gpu, resourceClaimTemplateName: eight}, {name: nic, " +
		"resourceClaimName: one}]"
	claimed := replicatedJob("node", "", trainerLabel, "", claiming)
	const swap = "containers: [{name: node, image: i, resources: {claims: [{name: nic}, {name: " +
		"gpu}]}}], resourceClaims: [{name: gpu, resourceClaimTemplateName: eight}, {name: nic, " +
		"resourceClaimName: one}]"
	claims := func(out *render.Objects) any {
		pod := rjob(out, "node").Template.Spec.Template.Spec
		return []any{pod.ResourceClaims, pod.Containers[0].Resources.Claims}
	}
	object := func(text string) (value any) { return decoded(t, text) }
	for _, c := range []struct {
		of string
		policyCase
		before, after any
	}{
		{"claims-kept",
			policyCase{reason: "beside resourcesPerNode", runtime: "mlPolicy: {torch: {}}",
				jobs: claimed, job: "trainer: {resourcesPerNode: {requests: {memory: 1Gi}}}",
				got: func(out *render.Objects) any {
					return len(containerOf(out, "node").Resources.Claims)
				}}, 0, 2},
		{"claims-per-node",
			policyCase{reason: "in their places, without the claim's name and its request, or " +
				"appended", runtime: "mlPolicy: {torch: {}}", job: "trainer: {}", got: claims,
				jobs: replicatedJob("node", "", trainerLabel, "",
					"containers: [{name: node, image: i, resources: {claims: [{name: gpu, "+
						"request: r}, {name: other}]}}], initContainers: [{name: node, image: i}], "+
						"resourceClaims: [{name: gpu, resourceClaimName: one}, {name: other, "+
						"resourceClaimName: two}]")},
			object(`[[{"name":"gpu","resourceClaimName":"one"},{"name":"other","resourceClaimName":"two"}],[{"name":"gpu","request":"r"},{"name":"other"}]]`),
			object(`[[{"name":"gpu","resourceClaimTemplateName":"mine"},{"name":"other","resourceClaimName":"two"},{"name":"nic","resourceClaimTemplateName":"yours"}],[{"name":"gpu"},{"name":"other"},{"name":"nic"}]]`)},
		{"claims-per-node",
			policyCase{reason: "a Pod without a container node", runtime: "mlPolicy: {torch: {}}",
				job: "trainer: {}", got: claims,
				jobs: replicatedJob("node", "", trainerLabel, "",
					"containers: [{name: other, image: i}], initContainers: [{name: node, image: i}]")},
			object(`[null,null]`),
			object(`[[{"name":"gpu","resourceClaimTemplateName":"mine"},{"name":"nic","resourceClaimTemplateName":"yours"}],null]`)},
		{"claims-per-node",
			policyCase{reason: "init containers stay", runtime: "mlPolicy: {torch: {}}",
				job: "trainer: {}",
				jobs: replicatedJob("node", "", trainerLabel, "",
					"containers: [{name: node, image: i}], initContainers: [{name: node, image: i}]"),
				got: func(out *render.Objects) any {
					pod := rjob(out, "node").Template.Spec.Template.Spec
					return []int{len(pod.Containers[0].Resources.Claims),
						len(pod.InitContainers[0].Resources.Claims)}
				}}, []int{0, 0}, []int{2, 0}},
		{"claims-per-node",
			policyCase{reason: "the launcher as a node",
				runtime: "mlPolicy: {mpi: {mpiImplementation: OpenMPI, runLauncherAsNode: true}}",
				jobs:    mpiJobs, job: "trainer: {}", got: claims},
			object(`[null,null]`),
			object(`[[{"name":"gpu","resourceClaimTemplateName":"mine"},{"name":"nic","resourceClaimTemplateName":"yours"}],[{"name":"gpu"},{"name":"nic"}]]`)},
		{"claims-per-node",
			policyCase{reason: "the launcher is no node",
				runtime: "mlPolicy: {mpi: {mpiImplementation: OpenMPI}}",
				jobs:    mpiJobs, job: "trainer: {}", got: claims},
			object(`[null,null]`), object(`[null,null]`)},
		{"claims-per-node",
			policyCase{reason: "no policy", job: "trainer: {}", got: func(out *render.Objects) any {
				return len(rjob(out, "node").Template.Spec.Template.Spec.ResourceClaims)
			}}, 0, 0},
		{"claims-per-node",
			policyCase{reason: "no spec.trainer", runtime: "mlPolicy: {torch: {}}",
				got: func(out *render.Objects) any {
					return len(rjob(out, "node").Template.Spec.Template.Spec.ResourceClaims)
				}}, 0, 0},
		{"claims-torch",
			policyCase{reason: "without spec of resources", runtime: "mlPolicy: {torch: {}}",
				jobs: claimed, job: "trainer: {}", got: envValue("node", "PET_NPROC_PER_NODE")},
			"4", "8"},
		{"claims-torch",
			policyCase{reason: "a number wins", runtime: "mlPolicy: {torch: {}}", jobs: claimed,
				job: "trainer: {numProcPerNode: 2}", got: envValue("node", "PET_NPROC_PER_NODE")},
			"2", "2"},
		{"claims-torch",
			policyCase{reason: "GPUs win", runtime: "mlPolicy: {torch: {}}", jobs: claimed,
				job: "trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}",
				got: envValue("node", "PET_NPROC_PER_NODE")}, "auto", "auto"},
		{"claims-counted",
			policyCase{reason: "the first claim only", runtime: "mlPolicy: {torch: {}}",
				jobs: replicatedJob("node", "", trainerLabel, "", swap), job: "trainer: {}",
				got:      envValue("node", "PET_NPROC_PER_NODE"),
				findings: []string{"warning TW470 .spec.trainer"}}, "1", "1"},
		{"claims-torchtune",
			policyCase{reason: "one device, whatever the number", runtime: "mlPolicy: {torch: {}}",
				jobs: strings.ReplaceAll(claimed, "eight", "single"),
				job:  "trainer: {command: [tune, run], numProcPerNode: 2}",
				got: func(out *render.Objects) any {
					return slices.Contains(containerOf(out, "node").Command,
						"full_finetune_distributed")
				}}, true, false},
		{"claims-flux",
			policyCase{reason: "GPUs of a node and of a task", runtime: "mlPolicy: {flux: {}}",
				jobs: claimed, job: "trainer: {numNodes: 1}",
				got: func(out *render.Objects) any {
					for _, o := range out.Companions {
						if m, ok := o.(*corev1.ConfigMap); ok {
							return m.Data["entrypoint.sh"]
						}
					}
					return nil
				}}, "--cores=0 tj-node-0-0 -N 1 -n 1", "--cores=0 --gpu=0-7 tj-node-0-0 -N 1 -n 1 -g 8"},
		{"claims-mpi",
			policyCase{reason: "slots",
				runtime: "mlPolicy: {mpi: {mpiImplementation: OpenMPI, runLauncherAsNode: true}}",
				jobs:    replicatedJob("launcher", "", trainerLabel, "", claiming) + claimed,
				got:     envValue("launcher", "OMPI_MCA_orte_set_default_slots")}, "1", "8"},
		{"claims-xgboost",
			policyCase{reason: "workers", runtime: "mlPolicy: {xgboost: {}, numNodes: 2}",
				jobs: claimed, job: "trainer: {}", got: envValue("node", "DMLC_NUM_WORKER")}, "2",
			"16"},
		{"mpi-prte", policyCase{reason: "the old four, then the new ones", runtime: mpi,
			jobs: mpiJobs, got: prte}, old, append(append([]string{}, old...),
			"launcher PRTE_MCA_prte_default_hostfile=/etc/mpi/hostfile",
			"launcher PRTE_MCA_prte_keep_fqdn_hostnames=false",
			"launcher PRTE_MCA_prte_set_default_slots=3",
			"launcher PRTE_MCA_plm_ssh_args=-o ConnectionAttempts=10")},
		{"mpi-prte", policyCase{reason: "a variable of the runtime keeps its place", runtime: mpi,
			jobs: replicatedJob("launcher", "", trainerLabel, "",
				"containers: [{name: node, image: i, env: [{name: PRTE_MCA_plm_ssh_args, value: "+
					"mine}]}]") + replicatedJob("node", "", "", "", nodeContainer),
			got: func(out *render.Objects) any {
				return containerOf(out, "launcher").Env[0].Value
			}}, "mine", "-o ConnectionAttempts=10"},
		{"mpi-image",
			policyCase{reason: "the nodes have no label", runtime: mpi, jobs: mpiJobs,
				job: "trainer: {image: mine}", got: images}, []string{"mine", "i"},
			[]string{"mine", "mine"}},
		{"mpi-image",
			policyCase{reason: "the launcher as a node",
				runtime: "mlPolicy: {mpi: {mpiImplementation: OpenMPI, runLauncherAsNode: true}}",
				jobs:    mpiJobs, job: "trainer: {image: mine}", got: images},
			[]string{"mine", "i"}, []string{"mine", "mine"}},
		{"mpi-image",
			policyCase{reason: "no labels, and another job", runtime: mpi, jobs: plain,
				job: "trainer: {image: mine}", got: images}, []string{"i", "i", "i"},
			[]string{"mine", "mine", "i"}},
		{"mpi-image",
			policyCase{reason: "no command for the nodes", runtime: mpi, jobs: mpiJobs,
				job: "trainer: {image: mine, command: [a], args: [b]}",
				got: func(out *render.Objects) any {
					return len(containerOf(out, "node").Command) +
						len(containerOf(out, "node").Args)
				}}, 0, 0},
		{"mpi-image",
			policyCase{reason: "torch", runtime: "mlPolicy: {torch: {}}",
				jobs: nodeJob + replicatedJob("launcher", "", "", "", nodeContainer),
				job:  "trainer: {image: mine}", got: images},
			[]string{"mine", "i"}, []string{"mine", "i"}},
	} {
		t.Run(c.of+"/"+c.reason, func(t *testing.T) {
			v24, err := release.Parse("2.4")
			if err != nil {
				t.Fatal(err)
			}
			turned := *v24
			for _, s := range release.Switches() {
				if s.ID == c.of {
					s.Set(&turned, release.Latest())
				}
			}
			for _, with := range []struct {
				r    *release.Release
				want any
			}{{release.Latest(), c.before}, {v24, c.after}, {&turned, c.before}} {
				in := c.input(t)
				in.Earlier.Devices = map[fieldpath.Object]int{
					{Kind: "ResourceClaimTemplate", Namespace: in.TrainJob.Namespace,
						Name: "eight"}: 8,
					{Kind: "ResourceClaimTemplate", Namespace: in.TrainJob.Namespace,
						Name: "single"}: 1}
				if c.of == "claims-per-node" {
					in.Earlier.NodeClaims = []legacy.NodeClaim{
						{Name: "gpu", ResourceClaimTemplateName: "mine"},
						{Name: "nic", ResourceClaimTemplateName: "yours"}}
				}
				out, _ := render.JobSet(in, render.Options{Release: with.r,
					FluxTemplates: texts("%s%s%s%s", "%s %s %s", "%s%s%s%s")})
				if got, want := mustJSON(t, c.got(out)), mustJSON(t, with.want); got != want {
					t.Errorf("Trainer %s: got %s, want %s", with.r.Name, got, want)
				}
			}
		})
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestDevices counts the GPUs of claims and templates as Trainer 2.4 does.
func TestDevices(t *testing.T) {
	for text, want := range map[string]int{
		`{"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"count": 3}}]}}}`:                                                                                3,
		`{"spec": {"spec": {"devices": {"requests": [{"name": "gpu-0", "exactly": {}}, {"name": "my-gpu", "exactly": {"allocationMode": "ExactCount", "count": 2}}]}}}}`: 3,
		`{"spec": {"devices": {"requests": [{"name": "nic", "exactly": {"count": 3}}]}}}`:                                                                                0,
		`{"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"allocationMode": "All"}}]}}}`:                                                                   0,
		`{"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"adminAccess": true, "count": 3}}]}}}`:                                                           0,
		`{"spec": {"devices": {"requests": [{"name": "gpu", "firstAvailable": [{"name": "a"}]}]}}}`:                                                                      0,
		`{"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"count": -1}}, 7, {"exactly": {}}]}}}`:                                                           0,
		`{"spec": {"devices": "none"}}`: 0,
		`{}`:                            0,
	} {
		var claim map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &claim); err != nil {
			t.Fatal(err)
		}
		var e legacy.Earlier
		id := fieldpath.Object{Kind: "ResourceClaim", Name: "a"}
		if e.AddDevices(id, claim); e.Devices[id] != want {
			t.Errorf("%s: %d GPUs, want %d", text, e.Devices[id], want)
		}
	}
}
