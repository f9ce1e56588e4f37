package fuzz_test

import (
	"maps"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestPairsReachEveryRule counts how many generated pairs exercise each part of a rendering.
func TestPairsReachEveryRule(t *testing.T) {
	if testenv.Race {
		t.Skip("counts generated inputs; nothing here runs concurrently")
	}
	t.Parallel()
	const seeds = 1000
	opts := fuzz.PairOptions{Policies: []fuzz.Policy{
		fuzz.Plain, fuzz.Torch, fuzz.JAX, fuzz.XGBoost, fuzz.MPI, fuzz.Flux, fuzz.Coscheduling,
		fuzz.Volcano,
	}}
	count := map[string]int{}
	for seed := range uint64(seeds) {
		if seed%100 == 99 && !testenv.Long() && everyRule(count) {
			break
		}
		p := fuzz.Render(seed, opts)
		for rule, reached := range pairRules {
			count[rule] += 0
			if reached(p) {
				count[rule]++
			}
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(count)) {
		if count[rule] == 0 {
			t.Errorf("no pair of %d reaches: %s", seeds, rule)
		}
		t.Logf("%5d of %d: %s", count[rule], seeds, rule)
	}
}

var pairRules = map[string]func(*fuzz.Pair) bool{
	"no mlPolicy": func(p *fuzz.Pair) bool { return p.Runtime.Spec.MLPolicy == nil },
	"a plain policy": policy(func(m *trainer.MLPolicy) bool {
		return m.MLPolicySource == trainer.MLPolicySource{}
	}),
	"no numNodes": policy(func(m *trainer.MLPolicy) bool { return m.NumNodes == nil }),
	"torch":       policy(func(m *trainer.MLPolicy) bool { return m.Torch != nil }),
	"envInjection": policy(func(m *trainer.MLPolicy) bool {
		return m.Torch != nil && m.Torch.EnvInjection != nil
	}),
	"JAX":     policy(func(m *trainer.MLPolicy) bool { return m.JAX != nil }),
	"XGBoost": policy(func(m *trainer.MLPolicy) bool { return m.XGBoost != nil }),
	"MPI":     policy(func(m *trainer.MLPolicy) bool { return m.MPI != nil }),
	"MPI's launcher as a node": policy(func(m *trainer.MLPolicy) bool {
		return m.MPI != nil && m.MPI.RunLauncherAsNode != nil && *m.MPI.RunLauncherAsNode
	}),
	"Flux": policy(func(m *trainer.MLPolicy) bool { return m.Flux != nil }),
	"Coscheduling": func(p *fuzz.Pair) bool {
		g := p.Runtime.Spec.PodGroupPolicy
		return g != nil && g.Coscheduling != nil
	},
	"Volcano": func(p *fuzz.Pair) bool {
		g := p.Runtime.Spec.PodGroupPolicy
		return g != nil && g.Volcano != nil
	},
	"no spec.trainer": func(p *fuzz.Pair) bool {
		return p.TrainJob.Spec.Trainer == nil
	},
	"torchtune": section(func(t *trainer.Trainer) bool {
		return slices.Equal(t.Command, []string{"tune", "run"})
	}),
	"an empty command": section(func(t *trainer.Trainer) bool {
		return t.Command != nil && len(t.Command) == 0
	}),
	"args": section(func(t *trainer.Trainer) bool { return len(t.Args) > 0 }),
	"numNodes": section(func(t *trainer.Trainer) bool {
		return t.NumNodes != nil && *t.NumNodes > 1
	}),
	"a negative numNodes": section(func(t *trainer.Trainer) bool {
		return t.NumNodes != nil && *t.NumNodes < 0
	}),
	"numProcPerNode": section(func(t *trainer.Trainer) bool {
		return t.NumProcPerNode != nil
	}),
	"resourcesPerNode": section(func(t *trainer.Trainer) bool {
		return t.ResourcesPerNode != nil
	}),
	"GPUs": section(func(t *trainer.Trainer) bool {
		if t.ResourcesPerNode == nil {
			return false
		}
		_, gpus := t.ResourcesPerNode.Limits["nvidia.com/gpu"]
		return gpus
	}),
	"a value next to a valueFrom": section(func(t *trainer.Trainer) bool {
		return slices.ContainsFunc(t.Env, func(e corev1.EnvVar) bool {
			return e.Value != "" && e.ValueFrom != nil
		})
	}),
	"a variable that torch writes": section(func(t *trainer.Trainer) bool {
		return slices.ContainsFunc(t.Env, func(e corev1.EnvVar) bool {
			return e.Name == "PET_NNODES"
		})
	}),
	"a variable without a name": section(func(t *trainer.Trainer) bool {
		return slices.ContainsFunc(t.Env, func(e corev1.EnvVar) bool { return e.Name == "" })
	}),
	"a dataset initializer": func(p *fuzz.Pair) bool {
		return p.TrainJob.Spec.Initializer != nil && p.TrainJob.Spec.Initializer.Dataset != nil &&
			named(p, "dataset-initializer")
	},
	"a model initializer": func(p *fuzz.Pair) bool {
		return p.TrainJob.Spec.Initializer != nil && p.TrainJob.Spec.Initializer.Model != nil &&
			named(p, "model-initializer")
	},
	"suspend": func(p *fuzz.Pair) bool {
		return p.TrainJob.Spec.Suspend != nil && *p.TrainJob.Spec.Suspend
	},
	"patches": func(p *fuzz.Pair) bool { return len(p.TrainJob.Spec.RuntimePatches) > 1 },
	"no job but node": func(p *fuzz.Pair) bool {
		return len(p.Runtime.Spec.Template.Spec.ReplicatedJobs) == 1 && named(p, "node")
	},
	"no job of node": func(p *fuzz.Pair) bool { return !named(p, "node") },
	"two trainers":   func(p *fuzz.Pair) bool { return len(labelled(p, "trainer")) > 1 },
	"a trainer's label on another job": func(p *fuzz.Pair) bool {
		return slices.ContainsFunc(labelled(p, "trainer"), func(j jobset.ReplicatedJob) bool {
			return j.Name != "node"
		})
	},
	"a patch that moves the trainer's label": func(p *fuzz.Pair) bool {
		return slices.ContainsFunc(p.TrainJob.Spec.RuntimePatches,
			func(patch trainer.RuntimePatch) bool {
				spec := specOf(&patch)
				return spec != nil &&
					slices.ContainsFunc(spec.ReplicatedJobs,
						func(j trainer.ReplicatedJobPatch) bool {
							if j.Template == nil || j.Template.Metadata == nil {
								return false
							}
							_, moved := j.Template.Metadata.Labels["trainer.kubeflow.org/trainjob-ancestor-step"]
							return moved
						})
			})
	},
	"two ports without a name": container(func(c corev1.Container) bool {
		return len(c.Ports) > 1 && c.Ports[0].Name == "" && c.Ports[1].Name == ""
	}),
	"the trainer's port in the runtime": container(func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
			return p.ContainerPort == 29500
		})
	}),
	"parallelism": func(p *fuzz.Pair) bool {
		return slices.ContainsFunc(p.Runtime.Spec.Template.Spec.ReplicatedJobs,
			func(j jobset.ReplicatedJob) bool { return j.Template.Spec.Parallelism != nil })
	},
	"replicas": func(p *fuzz.Pair) bool {
		return slices.ContainsFunc(p.Runtime.Spec.Template.Spec.ReplicatedJobs,
			func(j jobset.ReplicatedJob) bool { return j.Replicas > 1 })
	},
}

func policy(is func(*trainer.MLPolicy) bool) func(*fuzz.Pair) bool {
	return func(p *fuzz.Pair) bool {
		return p.Runtime.Spec.MLPolicy != nil && is(p.Runtime.Spec.MLPolicy)
	}
}

func section(is func(*trainer.Trainer) bool) func(*fuzz.Pair) bool {
	return func(p *fuzz.Pair) bool {
		return p.TrainJob.Spec.Trainer != nil && is(p.TrainJob.Spec.Trainer)
	}
}

func container(is func(corev1.Container) bool) func(*fuzz.Pair) bool {
	return func(p *fuzz.Pair) bool {
		return slices.ContainsFunc(p.Runtime.Spec.Template.Spec.ReplicatedJobs,
			func(j jobset.ReplicatedJob) bool {
				return slices.ContainsFunc(j.Template.Spec.Template.Spec.Containers, is)
			})
	}
}

func named(p *fuzz.Pair, job string) bool {
	return slices.ContainsFunc(p.Runtime.Spec.Template.Spec.ReplicatedJobs,
		func(j jobset.ReplicatedJob) bool { return j.Name == job })
}

func labelled(p *fuzz.Pair, step string) (jobs []jobset.ReplicatedJob) {
	for _, j := range p.Runtime.Spec.Template.Spec.ReplicatedJobs {
		if j.Template.Labels["trainer.kubeflow.org/trainjob-ancestor-step"] == step {
			jobs = append(jobs, j)
		}
	}
	return jobs
}
