package mlpolicy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// claims writes spec.trainer.resourceClaimsPerNode into the Pods of a job, and counts their GPUs
// (KEP-2782). A claim replaces the whole claim of its name in the Pod and in the first container
// called node, or is added; a request of the container's claim is lost.
func (j *Job) claims(set *PodSet) {
	if j.Runtime.MLPolicy == nil || !j.TakesTrainer(set) {
		return
	}
	node := set.Container(Node)
	if j.Release.Claims.PerNode && j.TrainJob.Spec.Trainer != nil {
		for _, claim := range j.Earlier.NodeClaims {
			j.upsertClaim(
				set, corev1.PodResourceClaim{
					Name: claim.Name, ResourceClaimTemplateName: &claim.ResourceClaimTemplateName})
			if node != nil {
				j.upsertContainerClaim(set.In("containers", node), claim.Name)
			}
		}
	}
	if j.Release.Claims.Counted && node != nil && len(node.Resources.Claims) > 0 {
		j.countClaim(set, set.In("containers", node))
	}
}

// upsertClaim sets a claim of a job's Pods, by name.
func (j *Job) upsertClaim(s *PodSet, claim corev1.PodResourceClaim) {
	by := Copied("spec", "trainer", "resourceClaimsPerNode").item("name", claim.Name)
	before, found := upsert(&s.pod().ResourceClaims, claim,
		func(old *corev1.PodResourceClaim) bool { return old.Name == claim.Name })
	j.Record(by.Layer, by.From,
		append(s.PodPath(), fieldpath.Field("resourceClaims"), fieldpath.Item("name", claim.Name)),
		orNil(before, found), claim)
}

// upsertContainerClaim sets a claim of a container, by name.
func (j *Job) upsertContainerClaim(c Place, name string) {
	by := Computed("spec", "trainer", "resourceClaimsPerNode")
	before := slices.Clone(c.Resources.Claims)
	upsert(&c.Resources.Claims, corev1.ResourceClaim{Name: name},
		func(old *corev1.ResourceClaim) bool { return old.Name == name })
	path := c.Path(fieldpath.Field("resources"), fieldpath.Field("claims"))
	if before == nil {
		j.Record(by.Layer, by.From, path, nil, c.Resources.Claims)
	} else {
		j.Record(by.Layer, by.From, path, before, c.Resources.Claims)
	}
}

// countClaim counts the GPUs of the first claim of a container. Everything that the controller does
// not find counts zero.
func (j *Job) countClaim(set *PodSet, c Place) {
	name := c.Resources.Claims[0].Name
	at := slices.IndexFunc(set.pod().ResourceClaims, func(claim corev1.PodResourceClaim) bool {
		return claim.Name == name
	})
	if at < 0 {
		return // the cluster rejects the claim
	}
	claim := set.pod().ResourceClaims[at]
	id := fieldpath.Object{Kind: "ResourceClaim", Namespace: j.TrainJob.Namespace}
	switch {
	case claim.ResourceClaimTemplateName != nil:
		id.Kind, id.Name = "ResourceClaimTemplate", *claim.ResourceClaimTemplateName
	case claim.ResourceClaimName != nil:
		id.Name = *claim.ResourceClaimName
	}
	gpus, known := j.Earlier.Devices[id]
	switch {
	case id.Name == "": // the definition or the API server rejects the claim
	case !known:
		j.uncounted(c, claim.Name, fmt.Sprintf("%s is not among the inputs", id),
			fmt.Sprintf("add the %s with -r", id.Kind))
	case gpus == 0:
		j.uncounted(c, claim.Name,
			fmt.Sprintf("no request of %s has gpu in its name and an exact count", id),
			"name the request gpu, or set numProcPerNode")
	}
	if j.claimed == 0 {
		j.claimed = gpus
	}
}

// gpus returns the GPUs of a node for a policy: those of its resources or else, if the policy
// counts them, those of its claim.
func (j *Job) gpus(counts bool) int {
	n := GPUs(j.perNode())
	if n == 0 && counts {
		n = j.claimed
	}
	return n
}

// uncounted reports a claim without GPUs to count. It matters if nothing else says how many
// processes a node runs.
func (j *Job) uncounted(c Place, claim, why, help string) {
	if j.numProcPerNode() != nil || GPUs(j.perNode()) > 0 {
		return
	}
	j.reportTrainJob(codes.ClaimUncounted, finding.Warning, fieldpath.Fields("spec", "trainer"),
		fmt.Sprintf("claim %q of container %s counts 0 GPUs: %s", claim, c.Name, why), help)
}
