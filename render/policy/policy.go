// Package policy answers whose patch goes where. A policy lists the managers of TrainJobs and the
// fields that each may set. It names files of patches for TrainJobs. It also sets the severities of
// findings.
//
//	p, findings := policy.Parse("trainweld.yaml", data)
//	if err := findings.Err(); err != nil {
//		return err
//	}
//	for _, f := range p.Check(job, job.Spec.RuntimePatches) {
//		fmt.Println(p.Severity(f), f)
//	}
//
// The package opens no file. docs/policy.md describes the file.
//
// Its first file to read is policy.go.
package policy

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/release"
)

// Policy is the content of a policy file. A nil Policy is empty: it allows everything.
type Policy struct {
	file       string
	release    *release.Release
	kubernetes string
	stock      *bool
	managers   []manager
	indexes    map[string]int // the first of each name in managers
	names      nearest.Names  // of the managers
	patches    []Patch
	severities map[finding.Code]finding.Severity
	scope      Scope
	scopeAt    fieldpath.Position // of the field cluster
}

// manager is a known manager. The managers have the order of their patches.
type manager struct {
	name     string
	required bool
	of       selector         // the TrainJobs that require it
	paths    []fieldpath.Path // the fields that it may set; nil for all
	patterns *patterns        // those of paths
	users    []string         // who may change its patch in the cluster; nil for all
	position fieldpath.Position
}

// Patch is a file of patches, and the TrainJobs that get them.
type Patch struct {
	// File is the path of the file. It starts at the directory that the policy's own path starts
	// at.
	File string
	// Manager owns the patches of the file that name no manager. It may be empty.
	Manager string
	// Path and Position locate the entry in the policy.
	Path     fieldpath.Path
	Position fieldpath.Position

	of selector
}

// Applies reports whether a TrainJob gets the patches. The namespace of the TrainJob must be set.
func (p Patch) Applies(job *trainer.TrainJob) bool { return p.of.matches(job) }

// selector selects TrainJobs. A TrainJob must match each list that is not empty. The zero selector
// selects all.
type selector struct {
	namespaces, names, runtimes []string
	labels                      labels.Selector // nil selects all
}

// or returns the policy, or an empty one for nil.
func (p *Policy) or() *Policy {
	if p == nil {
		return &Policy{}
	}
	return p
}

// Release returns the release that the policy names, or nil.
func (p *Policy) Release() *release.Release { return p.or().release }

// Kubernetes returns the minor version of Kubernetes that the policy names, or "".
func (p *Policy) Kubernetes() string { return p.or().kubernetes }

// Stock returns whether a release's runtimes may replace runtimes that the inputs lack, without a
// note. It is nil if the policy does not say.
func (p *Policy) Stock() *bool { return p.or().stock }

// HasRules reports whether the policy has fields other than the versions and stock.
func (p *Policy) HasRules() bool {
	p = p.or()
	return p.managers != nil || p.patches != nil || p.severities != nil
}

// Patches returns the files of patches in the order of the policy.
func (p *Policy) Patches() []Patch { return p.or().patches }

// Managers returns the names of the known managers in the order of their patches.
func (p *Policy) Managers() []string {
	var names []string
	for _, m := range p.or().managers {
		names = append(names, m.name)
	}
	return names
}

// Severity returns the severity of a finding under the policy, or 0 if the policy removes the
// finding. An error stays one, unless the policy may lower its code: see [Parse].
func (p *Policy) Severity(f finding.Finding) finding.Severity {
	s, decided := p.or().severities[f.Code]
	if !decided || s < f.Severity && f.Severity >= finding.Error && !isLowered(f.Code) {
		return f.Severity
	}
	return s
}

// rejects reports whether errors with the code stay errors.
func (p *Policy) rejects(code finding.Code) bool {
	return p.Severity(finding.Finding{Code: code, Severity: finding.Error}) == finding.Error
}

// isLowered reports whether a policy may lower errors of a code. The cluster takes a TrainJob with
// such an error, and this program can render it. Other errors leave nothing to render, or an object
// that the cluster rejects.
func isLowered(code finding.Code) bool {
	switch code {
	case codes.Overlap, codes.OldAPI,
		codes.UnlistedManager, codes.PatchOrder, codes.ForbiddenField, codes.MissingManager:
		return true
	}
	return false
}
