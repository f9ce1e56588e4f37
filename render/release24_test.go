package render_test

import (
	"testing"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/release"
)

// TestRelease_Unread renders cases of the switches that turn in Trainer 2.4, with 2.3 and with 2.4. Back on the position of 2.3, the
// switch alone gives the rendering of 2.3.
func TestRelease_Unread(t *testing.T) {
	images := func(out *render.Output) any {
		var all []string
		for i := range out.JobSet.Spec.ReplicatedJobs {
			all = append(all, out.JobSet.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec.Containers[0].Image)
		}
		return all
	}
	prte := func(out *render.Output) any {
		var all []any
		for _, job := range []string{"launcher", "node"} {
			for _, e := range containerOf(out, job).Env {
				all = append(all, job+" "+e.Name+"="+e.Value)
			}
		}
		return all
	}
	old := []string{
		"launcher OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile", "launcher OMPI_MCA_orte_keep_fqdn_hostnames=true",
		"launcher OMPI_MCA_orte_set_default_slots=3", "launcher OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10",
	}
	const mpi = "mlPolicy: {mpi: {mpiImplementation: OpenMPI, numProcPerNode: 3}}"
	plain := replicatedJob("launcher", "", "", "", nodeContainer) + replicatedJob("node", "", "", "", nodeContainer) + replicatedJob("side", "", "", "", nodeContainer)
	for _, c := range []struct {
		of string
		policyCase
		before, after any
	}{
		{"mpi-prte", policyCase{reason: "the old four, then the new ones", runtime: mpi, jobs: mpiJobs, got: prte}, old, append(append([]string{}, old...),
			"launcher PRTE_MCA_prte_default_hostfile=/etc/mpi/hostfile", "launcher PRTE_MCA_prte_keep_fqdn_hostnames=false",
			"launcher PRTE_MCA_prte_set_default_slots=3", "launcher PRTE_MCA_plm_ssh_args=-o ConnectionAttempts=10")},
		{"mpi-prte", policyCase{reason: "a variable of the runtime keeps its place", runtime: mpi,
			jobs: replicatedJob("launcher", "", trainerLabel, "", "containers: [{name: node, image: i, env: [{name: PRTE_MCA_plm_ssh_args, value: mine}]}]") + replicatedJob("node", "", "", "", nodeContainer),
			got:  func(out *render.Output) any { return containerOf(out, "launcher").Env[0].Value }}, "mine", "-o ConnectionAttempts=10"},
		{"mpi-image", policyCase{reason: "the nodes have no label", runtime: mpi, jobs: mpiJobs, job: "trainer: {image: mine}", got: images}, []string{"mine", "i"}, []string{"mine", "mine"}},
		{"mpi-image", policyCase{reason: "the launcher as a node", runtime: "mlPolicy: {mpi: {mpiImplementation: OpenMPI, runLauncherAsNode: true}}", jobs: mpiJobs, job: "trainer: {image: mine}", got: images},
			[]string{"mine", "i"}, []string{"mine", "mine"}},
		{"mpi-image", policyCase{reason: "no labels, and another job", runtime: mpi, jobs: plain, job: "trainer: {image: mine}", got: images}, []string{"i", "i", "i"}, []string{"mine", "mine", "i"}},
		{"mpi-image", policyCase{reason: "no command for the nodes", runtime: mpi, jobs: mpiJobs, job: "trainer: {image: mine, command: [a], args: [b]}",
			got: func(out *render.Output) any {
				return len(containerOf(out, "node").Command) + len(containerOf(out, "node").Args)
			}}, 0, 0},
		{"mpi-image", policyCase{reason: "torch", runtime: "mlPolicy: {torch: {}}", jobs: nodeJob + replicatedJob("launcher", "", "", "", nodeContainer), job: "trainer: {image: mine}", got: images},
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
				out, _ := render.JobSet(c.input(t), render.Options{Release: with.r, Owners: true})
				if got, want := mustJSON(t, c.got(out)), mustJSON(t, with.want); got != want {
					t.Errorf("Trainer %s: got %s, want %s", with.r.Name, got, want)
				}
			}
		})
	}
}
