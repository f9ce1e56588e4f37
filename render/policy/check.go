package policy

import (
	"fmt"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// mostMissing is the number of missing managers that Check names.
const mostMissing = 10

// Check returns the violations of the policy by the patches of a TrainJob. The list patches holds
// all patches in the order of the merge. The TrainJob's own ones come first.
//
// A finding has the TrainJob as its object, and severity Error. Its path is a field of the JobSet
// that a patch sets, or an entry of spec.runtimePatches. The entries count over all patches.
func (p *Policy) Check(job *trainer.TrainJob, patches []trainer.RuntimePatch) finding.List {
	if p == nil || p.managers == nil {
		return nil
	}
	if job == nil {
		job = &trainer.TrainJob{}
	}
	var found finding.List
	report := func(code finding.Code, at fieldpath.Path, help, message string,
		args ...any) *finding.Finding {
		found = append(found, finding.Finding{
			Code: code, Severity: finding.Error, Path: at,
			Object: fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: job.Namespace,
				Name: job.Name},
			Message: fmt.Sprintf(message, args...), Remedy: finding.Remedy{Text: help},
		})
		return &found[len(found)-1]
	}
	list := fieldpath.Fields("spec", "runtimePatches")
	last, has := -1, map[string]bool{}
	for i := range patches {
		has[patches[i].Manager] = true
	}
	for i := range patches {
		name := patches[i].Manager
		if name == "" {
			continue // the check of patches reports it
		}
		at := list.Append(fieldpath.Index(i), fieldpath.Field("manager"))
		n := p.indexOf(name)
		if n < 0 {
			report(codes.UnlistedManager, at, "", "%s lists no manager %q", p.file,
				name).Remedy = p.unlisted(name, has)
			continue
		}
		if n < last {
			report(codes.PatchOrder, at,
				"move the patch, or change the order of the managers in the policy",
				"the patch of %s must come before the patch of %s", name, p.managers[last].name)
		}
		last = max(last, n)
		p.managers[n].forbidden(patches[i], func(path fieldpath.Path, claim merge.Claim) {
			f := report(codes.ForbiddenField, path, forbiddenHelp, "%s", forbiddenBy(p.managers[n]))
			f.Claims = []merge.Claim{claim}
		})
	}
	missing := 0
	for _, m := range p.managers {
		if !has[m.name] && m.isRequired(job) {
			if missing++; missing <= mostMissing {
				report(codes.MissingManager, list, "add a patch of the manager",
					"Required value: a patch of %s (%s)", m.name, m.position)
			}
		}
	}
	if missing > mostMissing {
		report(codes.MissingManager, list, "add a patch of each manager",
			"Required value: patches of %d more managers", missing-mostMissing)
	}
	return found
}

// CheckField returns the violation of the policy by a manager's patch of a runtime's field, or nil.
// paths govern the fields of the JobSet alone, so a manager with paths may set no other field.
func (p *Policy) CheckField(manager string, path fieldpath.Path) *finding.Finding {
	if p == nil || p.managers == nil {
		return nil
	}
	f := &finding.Finding{Code: codes.ForbiddenField, Severity: finding.Error, Path: path}
	n, template := p.indexOf(manager), fieldpath.Fields("spec", "template")
	switch {
	case n < 0:
		f.Code, f.Message, f.Remedy = codes.UnlistedManager,
			fmt.Sprintf("%s lists no manager %q", p.file, manager), p.unlisted(manager, nil)
		f.Remedy.IsCertain = false
	case p.managers[n].paths == nil:
		return nil
	default:
		if path.HasPrefix(template) {
			if maySet, _ := p.managers[n].patterns.find(path[len(template):]); maySet {
				return nil
			}
		}
		f.Message, f.Remedy.Text = forbiddenBy(p.managers[n]), forbiddenHelp
	}
	return f
}

const forbiddenHelp = "remove the field from the patch, or add it to the paths of the manager"

func forbiddenBy(m manager) string {
	return fmt.Sprintf("the policy does not let %s set this field (%s)", m.name, m.position)
}

// Refused returns the managers whose patch the policy does not let a user add, change or remove.
// before are the patches of the stored TrainJob. The time of a patch does not count.
func (p *Policy) Refused(user string, before, after []trainer.RuntimePatch) (names []string) {
	patchesOf := func(list []trainer.RuntimePatch,
		name string) (specs []*trainer.TrainingRuntimeSpecPatch) {
		for i := range list {
			if list[i].Manager == name {
				specs = append(specs, list[i].TrainingRuntimeSpec)
			}
		}
		return specs
	}
	for _, m := range p.or().managers {
		if m.users != nil && !slices.Contains(m.users, user) &&
			!reflect.DeepEqual(patchesOf(before, m.name), patchesOf(after, m.name)) {
			names = append(names, m.name)
		}
	}
	return names
}

// Requires reports whether a TrainJob must have a patch of the manager.
func (p *Policy) Requires(job *trainer.TrainJob, manager string) bool {
	if p == nil || job == nil {
		return false
	}
	n := p.indexOf(manager)
	return n >= 0 && p.managers[n].isRequired(job)
}

func (m manager) isRequired(job *trainer.TrainJob) bool { return m.required && m.of.matches(job) }

func (p *Policy) indexOf(name string) int {
	if n, ok := p.indexes[name]; ok {
		return n
	}
	return -1
}

// unlisted returns the remedy for a manager that the policy does not list. has tells which managers
// have a patch.
func (p *Policy) unlisted(name string, has map[string]bool) finding.Remedy {
	around := p.names.Around(name)
	r := finding.Remedy{
		Text: suggestionFor(name, around, "remove the patch, or add the manager to the policy")}
	if near := nearest.To(name, around); near != "" {
		r.Do, r.Options, r.IsCertain = finding.SetValue, []string{near},
			!has[near] && !p.names.IsLong() && nearest.IsClear(name, near, around)
	}
	return r
}

// forbidden calls report for each field of a patch that the manager may not set. It skips an item
// if the patch sets a field within it, or if the manager may set one.
func (m manager) forbidden(patch trainer.RuntimePatch, report func(fieldpath.Path, merge.Claim)) {
	if m.paths == nil {
		return
	}
	result, err := runtimepatch.Apply(nil, []trainer.RuntimePatch{patch},
		runtimepatch.Options{})
	if err != nil {
		return // rendering reports it
	}
	var named merge.Claim
	var item fieldpath.Path // an item that the patch has named, until a field within it follows
	for path, claims := range result.History.All() {
		if item != nil && !path.HasPrefix(item) {
			report(item, named)
		}
		item = nil
		claim := claims[len(claims)-1]
		_, isManager := claim.Owner.Manager()
		maySet, goesOn := m.patterns.find(path)
		switch {
		case !isManager || maySet:
		case claim.Value != (merge.Presence{}):
			report(path, claim)
		case !goesOn:
			item, named = path, claim
		}
	}
	if item != nil {
		report(item, named)
	}
}
