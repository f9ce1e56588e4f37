// This file derives runtimes from runtimes and extended patches.

package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// derive returns the runtime that a TrainJob's extended patches make of a base, or the base. A
// snapshot is the runtime of the cluster. If it is derived, it has the patches already.
func (c *Catalog) derive(j Job, base *RuntimeSource) *RuntimeSource {
	patches := c.settings.extendedFor(j)
	if base == nil || base.Snapshot != nil || len(patches) == 0 {
		return base
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	known := derivedBy{j.Document, base}
	if c.derived[known] == nil {
		var key strings.Builder
		fmt.Fprintf(&key, "%p", base)
		for _, p := range patches {
			fmt.Fprintf(&key, " %p", p.Document)
		}
		if c.shared[key.String()] == nil {
			c.shared[key.String()] = c.derivedOf(base, patches)
		}
		c.derived[known] = c.shared[key.String()]
	}
	return c.derived[known]
}

// derivedOf implements derive. The caller holds the lock.
func (c *Catalog) derivedOf(base *RuntimeSource, patches []manifest.Patch) *RuntimeSource {
	fields, err := base.Document.Fields()
	if base.from != "" || err != nil {
		return base
	}
	out := *base
	d := &derivation{base: base, fields: fields, places: map[string]int{}}
	out.derivation = d
	of := c.flags.idOf(base.Document)
	report := func(f finding.Finding) {
		f.Severity, f.Object = finding.Error, of
		out.Findings = append(out.Findings, f)
	}
	for i, p := range patches {
		at := fieldpath.Fields("manager")
		found := check.Patches(nil, []trainer.RuntimePatch{{Manager: p.Patch.Manager}})
		if _, isDuplicate := d.places[p.Patch.Manager]; isDuplicate {
			found = append(
				found, finding.Finding{
					Code:    codes.DuplicateManager,
					Message: fmt.Sprintf("Duplicate value: %q", p.Patch.Manager),
					Remedy:  finding.Remedy{Text: "combine the two patches"}})
		}
		for _, f := range found {
			f.Path, f.Position = nil, p.Document.Position(at)
			report(f)
		}
		d.places[p.Patch.Manager] = i
		d.patches = append(d.patches, extend(p, fields, report))
	}
	if len(out.Findings) > 0 {
		return &out
	}
	for _, p := range d.patches {
		written, _ := p.Document.Content() // the decoding drops nulls
		eachNull(written["trainingRuntimeSpec"], fieldpath.Fields("spec"),
			func(path fieldpath.Path) {
				out.Findings = append(out.Findings, finding.Finding{
					Code: codes.IdlePatch, Severity: finding.Warning, Object: of, Path: path,
					Position: p.position(path),
					Message:  "a patch cannot clear a field: null has no effect",
					Remedy: finding.Remedy{
						Text: "remove the field from the patch"},
				})
			})
	}
	merged, err := c.merged(base, fields, d.layers())
	var rejected *merge.PatchError
	switch {
	case errors.As(err, &rejected):
		f := finding.Finding{Code: codes.NoMerge, Path: rejected.Path,
			Position: d.base.Position(rejected.Path), Message: rejected.Err.Error(),
			Remedy: finding.Remedy{Text: "correct the value"}}
		if rejected.Index >= 0 {
			f.Position = d.patches[rejected.Index].position(rejected.Path)
		}
		if t := c.schemas[versionOf(base.Document)]; t != nil && t.Lookup(rejected.Path) == nil {
			f.Code, f.Message, f.Remedy.Text = codes.UnknownField,
				fmt.Sprintf("unknown field %q", strings.TrimPrefix(rejected.Path.String(), ".")),
				"remove the field"
		}
		report(f)
		return &out
	case err != nil:
		report(finding.Finding{Code: codes.NoMerge, Position: patches[0].Document.Position(nil),
			Message: err.Error()})
		return &out
	}
	for _, disagreement := range conflict.Find(merged.History) {
		f := disagreement.Finding(of)
		for i := range f.Claims {
			name, _ := f.Claims[i].Owner.Manager()
			f.Claims[i].Position = d.patches[d.places[name]].position(f.Claims[i].At)
		}
		f.Position = LastPlace(f.Claims)
		out.Findings = append(out.Findings, resolvable(f, disagreement))
	}
	var spec trainer.TrainingRuntimeSpec
	text, err := json.Marshal(merged.Value["spec"])
	if err == nil {
		err = json.Unmarshal(text, &spec)
	}
	if err != nil {
		report(finding.Finding{Code: codes.WrongType, Position: patches[0].Document.Position(nil),
			Message: err.Error()})
		return &out
	}
	d.fields, d.owners, d.typ, out.spec = merged.Value, merged.History,
		c.schemas[versionOf(base.Document)], &spec
	d.index()
	c.setDefaults(out.spec, func(path fieldpath.Path) bool {
		return d.patchOf(path) != nil || base.Document.Sets(path)
	})
	return &out
}

// eachNull calls do with the path of each null within a value, in order.
func eachNull(value any, path fieldpath.Path, do func(fieldpath.Path)) {
	switch value := value.(type) {
	case nil:
		do(path)
	case []any:
		for i, item := range value {
			eachNull(item, path.Append(fieldpath.Index(i)), do)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			eachNull(value[name], path.Append(fieldpath.Field(name)), do)
		}
	}
}

// merged merges the patches as server-side applies, by the definition of the base's release. The
// caller holds the lock.
func (c *Catalog) merged(base *RuntimeSource, fields merge.Object,
	layers []merge.Patch) (*merge.Result[merge.Object], error) {
	version := versionOf(base.Document)
	if c.schemas[version] == nil {
		text, err := base.Document.API().Release().Definition(trainer.TrainingRuntimeKind)
		if err == nil {
			c.schemas[version], err = schema.ParseOpenAPI(
				text, runtimeschema.GroupVersionKind{Version: trainer.SchemeGroupVersion.Version})
		}
		if err != nil {
			return nil, err
		}
	}
	return merge.Apply(c.schemas[version], fields, layers,
		merge.Base(runtimepatch.RuntimeLayer, nil))
}

// contested returns the conflicts of extended patches with the other patches of a TrainJob, which
// the cluster merges later.
func (c *Catalog) contested(j Job, d *derivation) (found finding.List) {
	patches := j.Spec.RuntimePatches
	if j.Written != nil {
		patches = Decodable(j.Written)
	}
	layers, others := d.layers(), map[string]bool{}
	for _, p := range slices.Concat(patches, c.settings.PatchesFor(j)) {
		fields, err := tree.Fields(&p)
		_, isExtended := d.places[p.Manager]
		if spec := fields["trainingRuntimeSpec"]; err == nil && spec != nil && !isExtended {
			others[p.Manager] = true
			layers = append(
				layers, merge.Patch{Manager: p.Manager, Value: merge.Object{"spec": spec}})
		}
	}
	if len(others) == 0 {
		return nil
	}
	c.lock.Lock()
	merged, err := c.merged(d.base, d.fields, layers)
	c.lock.Unlock()
	if err != nil {
		return nil // the check of patches reports it
	}
	for _, disagreement := range conflict.Find(merged.History) {
		f := disagreement.Finding(c.flags.idOf(d.base.Document))
		count := 0
		for i := range f.Claims {
			claim := &f.Claims[i]
			name, _ := claim.Owner.Manager()
			if others[name] {
				entry := runtimepatch.PatchPath(name)
				claim.At = entry[:len(entry)-1].Append(claim.At[1:]...)
				count++
				continue
			}
			claim.Position = d.patches[d.places[name]].position(claim.At)
		}
		if count > 0 && count < len(f.Claims) {
			found = append(found, resolvable(f, disagreement))
		}
	}
	return found
}

// resolvable returns a conflict with the ways to resolve it: no force reaches extended patches.
func resolvable(f finding.Finding, of conflict.Conflict) finding.Finding {
	f.Remedy = finding.Remedy{
		Do: finding.ChooseOne, Text: "keep one member, and remove the other from its patch"}
	if of.Kind == conflict.Overlap {
		f.Remedy = finding.Remedy{Text: "set the field in one patch only"}
	}
	return f
}

// derivedFindings returns the findings on the runtime that a TrainJob's extended patches make.
// Under the rule that the last patch wins, their conflicts are warnings.
func (c *Catalog) derivedFindings(j Job, source *RuntimeSource,
	rule render.OnConflict) finding.List {
	var found finding.List
	add := func(more finding.List) {
		for _, f := range more {
			if f.Code == codes.Overlap && rule == render.Last {
				f.Severity = finding.Warning
			}
			found = append(found, f)
		}
	}
	add(source.Findings)
	add(c.forbidden(j, source.derivation))
	if source.Findings.Err() != nil {
		return found
	}
	add(c.contested(j, source.derivation))
	ref := fieldpath.Fields("spec", "runtimeRef", "name")
	report := func(code finding.Code, severity finding.Severity, help, message string,
		args ...any) {
		found = append(found, finding.Finding{
			Code: code, Severity: severity, Object: render.ObjectOf(j.TrainJob), Path: ref,
			Position: j.Document.Position(ref),
			Message:  fmt.Sprintf(message, args...), Remedy: finding.Remedy{Text: help},
		})
	}
	report(codes.Extended, finding.Warning,
		"apply the output of trainweld render --for=runtime instead of the TrainJob",
		"no cluster reads the extended patches of %s", strings.Join(source.Managers(), ", "))
	name := derivedName(j)
	if len(name) > validation.DNS1123SubdomainMaxLength {
		report(codes.BadMetadata, finding.Error,
			"use a shorter name of the runtime or of the TrainJob",
			"Too long: may not be more than %d bytes: the derived runtime has the name %s",
			validation.DNS1123SubdomainMaxLength, name)
	}
	id := fieldpath.Object{Kind: trainer.TrainingRuntimeKind, Namespace: j.Namespace, Name: name}
	if other := c.Named(id); other != nil && other.from == "" {
		report(codes.DuplicateObject, finding.Error, "rename the other one or the TrainJob",
			"Duplicate value: the derived runtime has the name of %s at %s", id,
			printable.Position(other.Position(fieldpath.Fields("metadata", "name"))))
	}
	return found
}

// forbidden returns the violations of a TrainJob's policy by its extended patches.
func (c *Catalog) forbidden(j Job, d *derivation) (found finding.List) {
	r := c.settings.rules[j.Document.File]
	if r == nil || d.owners == nil {
		return nil
	}
	unlisted := map[string]bool{}
	for path, claims := range d.owners.All() {
		for _, claim := range claims {
			name, isManager := claim.Owner.Manager()
			if !isManager || unlisted[name] || claim.Value == (merge.Presence{}) {
				continue
			}
			f := r.CheckField(name, path)
			if f == nil {
				continue
			}
			if f.Code == codes.UnlistedManager {
				unlisted[name], path = true, nil
			}
			e := d.patches[d.places[name]]
			f.Object, f.Position = c.flags.idOf(d.base.Document), e.position(path)
			if f.Path = path; path == nil {
				f.Position = e.Document.Position(fieldpath.Fields("manager"))
			}
			if c.flags.Advisory {
				f.Severity = finding.Warning
			}
			found = append(found, *f)
		}
	}
	return found
}

// LastPlace returns the last known position of the claims. Claims disagree on a field of the
// result, and the last one sets it.
func LastPlace(claims []merge.Claim) fieldpath.Position {
	for _, c := range slices.Backward(claims) {
		if c.Position != (fieldpath.Position{}) {
			return c.Position
		}
	}
	return fieldpath.Position{}
}

// derivedName returns the name of the runtime that a TrainJob's extended patches make.
func derivedName(j Job) string { return j.Spec.RuntimeRef.Name + "-" + j.Name }
