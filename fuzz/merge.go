package fuzz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/check"
)

// Options select the generated values. The zero value allows every value of the Go types, except
// directives.
type Options struct {
	// Checked allows only patches and templates in which check.Patches finds no error.
	Checked bool
	// Tidy allows only lists in which every item has a unique merge key, and only patches of
	// different managers. Checked implies Tidy.
	Tidy bool
	// Directives puts strategic merge's directives ($patch, $retainKeys, …) into some of the maps
	// of strings. Checked inputs never hold any.
	Directives bool
	// Least and Most bound the number of patches: 0 to 5 when both are zero.
	Least, Most int
}

// Case is the input of one merge.
type Case struct {
	// Seed is the argument of Merge.
	Seed uint64
	// Rejected counts the earlier candidates that check.Patches rejected.
	Rejected int

	Template *trainer.JobSetTemplateSpec
	Patches  []trainer.RuntimePatch
}

// String returns the seed, not the values.
func (c *Case) String() string { return fmt.Sprintf("case %d", c.Seed) }

// Clone returns a copy that shares no memory with c.
func (c *Case) Clone() *Case {
	return &Case{Seed: c.Seed, Rejected: c.Rejected, Template: c.Template.DeepCopy(),
		Patches: clonePatches(c.Patches)}
}

func clonePatches(patches []trainer.RuntimePatch) []trainer.RuntimePatch {
	out := slices.Clone(patches)
	for i := range patches {
		patches[i].DeepCopyInto(&out[i])
	}
	return out
}

// mostAttempts limits the candidates for a checked case, far above any real need. A test watches
// the share of rejected candidates.
const mostAttempts = 1000

// Merge generates the input of one merge. It panics if check.Patches rejects a thousand candidates
// in a row: the generator and the check have then drifted apart.
func Merge(seed uint64, opts Options) *Case {
	for attempt := range uint64(mostAttempts) {
		s := newSource(seed, attempt, opts)
		c := &Case{Seed: seed, Rejected: int(attempt), Template: s.template()}
		c.Patches = s.patches(c.Template)
		if !opts.Checked || check.Patches(c.Template, c.Patches).Err() == nil {
			return c
		}
	}
	panic(fmt.Sprintf("fuzz: check.Patches refused %d candidates of seed %d in a row", mostAttempts,
		seed))
}

// MergeFrom generates the input of one merge from external choices. A fuzzer that looks for new
// paths through the code can make them. MergeFrom ignores Options.Checked, because it cannot retry.
func MergeFrom(choices rand.Source, opts Options) *Case {
	opts.Checked = false
	s := newSource(0, 0, opts)
	s.rng = rand.New(choices)
	c := &Case{Template: s.template()}
	c.Patches = s.patches(c.Template)
	return c
}

func newSource(seed, attempt uint64, opts Options) *source {
	s := &source{
		rng:     rand.New(rand.NewPCG(seed, attempt)),
		checked: opts.Checked,
		tidy:    opts.Tidy || opts.Checked,
		// A case has directives in many maps or in none, so that their absence is tried as well.
		directives: opts.Directives && !opts.Checked && (seed+attempt)%4 == 0,
		least:      opts.Least,
		most:       opts.Most,
		focus:      map[*fieldPlan]bool{},
		hints:      map[string]int{},
	}
	if s.chance(0.75) {
		s.theme = pick(s, themes...)
		s.bare = s.chance(0.5)
	}
	return s
}

// themes are sets of fields in which the managers of a case meet. There are so many fields that
// without a theme two managers rarely reach the same deep field.
var themes = []map[string]bool{
	{"volumes": true},
	{"volumes": true, "ScaleIO": true, "secretRef": true},
	{"volumes": true, "Ephemeral": true, "volumeClaimTemplate": true, "dataSource": true},
	{"env": true, "valueFrom": true},
	{"env": true},
	{"volumeMounts": true, "subPath": true, "subPathExpr": true},
	{"securityContext": true, "seccompProfile": true},
	{"securityContext": true, "appArmorProfile": true},
	{"affinity": true, "nodeAffinity": true, "requiredDuringSchedulingIgnoredDuringExecution": true,
		"tolerations": true},
	{"metadata": true, "finalizers": true, "ownerReferences": true},
	{"imagePullSecrets": true, "schedulingGates": true, "nodeSelector": true},
}

// template generates a runtime's template.
func (s *source) template() *trainer.JobSetTemplateSpec {
	t := &trainer.JobSetTemplateSpec{}
	s.inTemplate = true
	defer func() { s.inTemplate = false }()
	s.value(of(&t.ObjectMeta), site{})
	s.value(of(&t.Spec), site{})
	for i := range t.Spec.ReplicatedJobs {
		s.nameContainers(&t.Spec.ReplicatedJobs[i])
	}
	return t
}

// nameContainers gives init containers and containers distinct names, as the API server requires.
// Without the check it sometimes lets them clash.
func (s *source) nameContainers(job *jobset.ReplicatedJob) {
	spec := &job.Template.Spec.Template.Spec
	if !s.checked && s.chance(0.1) {
		return
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.Name != "" && !strings.HasPrefix(c.Name, "init-") {
			c.Name = "init-" + c.Name
		}
	}
}

// patches generates the patches of some managers for the template.
func (s *source) patches(t *trainer.JobSetTemplateSpec) []trainer.RuntimePatch {
	most := len(managerNames)
	if s.most > 0 {
		most = min(s.most, most)
	}
	n := min(most, max(s.least, s.weighted(2, 20, 46, 26, 6, 1)))
	if n == 0 && s.chance(0.5) {
		return nil
	}
	patches := make([]trainer.RuntimePatch, 0, n)
	for i := range n {
		var p trainer.RuntimePatch
		s.value(of(&p), site{})
		p.Manager = managerNames[i]
		if !s.tidy && s.chance(0.03) {
			p.Manager = pick(s, "", managerNames[0], "no-domain")
		}
		s.aim(&p, t)
		patches = append(patches, p)
	}
	s.rng.Shuffle(len(patches), func(i, j int) { patches[i], patches[j] = patches[j], patches[i] })
	return patches
}

var managerNames = [...]string{"b.example/sdk", "a.example/queue", "d.example/webhook",
	"c.example/platform", "e.example/late"}

// aim replaces most names in the patch by names in the template, since a patch without a target
// tests little. It removes the fields that the check always rejects.
func (s *source) aim(p *trainer.RuntimePatch, t *trainer.JobSetTemplateSpec) {
	miss := 0.08
	if s.checked {
		miss = 0
	}
	if p.TrainingRuntimeSpec == nil || p.TrainingRuntimeSpec.Template == nil ||
		p.TrainingRuntimeSpec.Template.Spec == nil {
		return
	}
	spec := p.TrainingRuntimeSpec.Template.Spec
	if len(t.Spec.ReplicatedJobs) == 0 && s.checked {
		spec.ReplicatedJobs = nil
	}
	for i := range spec.ReplicatedJobs {
		job := &spec.ReplicatedJobs[i]
		var target *corev1.PodSpec
		if len(t.Spec.ReplicatedJobs) > 0 && !s.chance(miss) {
			at := &t.Spec.ReplicatedJobs[s.early(len(t.Spec.ReplicatedJobs))]
			job.Name, target = at.Name, &at.Template.Spec.Template.Spec
		}
		if job.Template == nil || job.Template.Spec == nil || job.Template.Spec.Template == nil ||
			job.Template.Spec.Template.Spec == nil || target == nil {
			continue
		}
		pod := job.Template.Spec.Template.Spec
		pod.Containers = s.aimContainers(pod.Containers, target.Containers, miss, true)
		pod.InitContainers = s.aimContainers(pod.InitContainers, target.InitContainers, miss, false)
	}
	spec.ReplicatedJobs = unique(s, spec.ReplicatedJobs, func(j trainer.ReplicatedJobPatch) string {
		return j.Name
	})
}

// early returns an index below n, mostly a small one: managers meet there.
func (s *source) early(n int) int {
	if s.theme != nil && s.chance(0.8) {
		return 0
	}
	return min(s.rng.IntN(n), s.rng.IntN(n))
}

func (s *source) aimContainers(patches []trainer.ContainerPatch, targets []corev1.Container,
	miss float64, main bool) []trainer.ContainerPatch {
	if len(targets) == 0 && s.checked {
		return nil
	}
	for i := range patches {
		if len(targets) > 0 && !s.chance(miss) {
			patches[i].Name = targets[s.early(len(targets))].Name
		}
		if s.checked && main && reserved(patches[i].Name) {
			patches[i].Env = nil
		}
	}
	return unique(s, patches, func(c trainer.ContainerPatch) string { return c.Name })
}

// reserved reports whether the webhook rejects an env patch for a container of this name.
func reserved(container string) bool {
	return container == "node" || container == "dataset-initializer" ||
		container == "model-initializer"
}

// unique removes the later of two items with one key. Without tidiness it keeps a few.
func unique[T any](s *source, items []T, key func(T) string) []T {
	if !s.tidy && s.chance(0.05) {
		return items
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(items, func(item T) bool {
		k := key(item)
		again := seen[k]
		seen[k] = true
		return again
	})
}
