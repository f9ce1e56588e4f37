// This file derives runtimes from runtimes and extended patches.

package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// The annotations of a derived runtime.
const (
	fromAnnotation     = "trainweld.github.io/derived-from" // the kind and the name of the base
	hashAnnotation     = "trainweld.github.io/base-hash"
	managersAnnotation = "trainweld.github.io/managers"
)

// derivation is how extended patches make another runtime of a base.
type derivation struct {
	base    *RuntimeSource
	patches []extension
	places  map[string]int // of the managers in patches
	fields  map[string]any // of the base with the patches
	owners  *merge.Ownership
	set     map[string]int // the last patch that sets a field or one within it, by the path
	leaves  map[string]int // the same for fields that hold no others
}

// extension is an extended patch whose items of replicatedJobs name the jobs of a base.
type extension struct {
	manifest.Patch
	spec  map[string]any
	items map[string]int // in the list of the patch, by the name of the job
}

// derive returns the runtime that a TrainJob's extended patches make of a base, or the base. A snapshot is what the cluster runs, and a
// derived runtime has the patches already.
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

// derivedBy identifies the runtime that a TrainJob's extended patches make of a base.
type derivedBy struct {
	job  *manifest.Document
	base *RuntimeSource
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
			found = append(found, finding.Finding{Code: finding.CodeDuplicateManager, Message: fmt.Sprintf("Duplicate value: %q", p.Patch.Manager), Remedy: finding.Remedy{Text: "combine the two patches"}})
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
	merged, err := c.merged(base, fields, d.layers())
	var rejected *merge.PatchError
	switch {
	case errors.As(err, &rejected):
		f := finding.Finding{Code: finding.CodeNoMerge, Path: rejected.Path, Position: d.base.Position(rejected.Path), Message: rejected.Err.Error(), Remedy: finding.Remedy{Text: "correct the value"}}
		if rejected.Index >= 0 {
			f.Position = d.patches[rejected.Index].position(rejected.Path)
		}
		if t := c.schemas[versionOf(base.Document)]; t != nil && t.Lookup(rejected.Path) == nil {
			f.Code, f.Message, f.Remedy.Text = finding.CodeUnknownField, fmt.Sprintf("unknown field %q", strings.TrimPrefix(rejected.Path.String(), ".")), "remove the field, or correct its name"
		}
		report(f)
		return &out
	case err != nil:
		report(finding.Finding{Code: finding.CodeNoMerge, Position: patches[0].Document.Position(nil), Message: err.Error()})
		return &out
	}
	for _, disagreement := range conflict.Find(merged.Owners) {
		f := disagreement.Finding(of)
		for i := range f.Claims {
			name, _ := f.Claims[i].Layer.Manager()
			f.Claims[i].Position = d.patches[d.places[name]].position(f.Claims[i].Source)
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
		report(finding.Finding{Code: finding.CodeWrongType, Position: patches[0].Document.Position(nil), Message: err.Error()})
		return &out
	}
	d.fields, d.owners, out.spec = merged.Value, merged.Owners, &spec
	d.index()
	c.setDefaults(out.spec, func(path fieldpath.Path) bool { return d.patchOf(path) != nil || base.Document.Sets(path) })
	return &out
}

// merged merges the patches as server-side applies, by the definition of the base's release. The caller holds the lock.
func (c *Catalog) merged(base *RuntimeSource, fields merge.Object, layers []merge.Layered[merge.Object]) (*merge.Result[merge.Object], error) {
	version := versionOf(base.Document)
	if c.schemas[version] == nil {
		text, err := base.Document.API().Release().Definition(trainer.TrainingRuntimeKind)
		if err == nil {
			c.schemas[version], err = schema.ParseOpenAPI(text, runtimeschema.GroupVersionKind{Version: trainer.SchemeGroupVersion.Version})
		}
		if err != nil {
			return nil, err
		}
	}
	return merge.ForObject(c.schemas[version]).Apply(&fields, layers, merge.Options{Owners: true, Base: runtimepatch.RuntimeLayer})
}

func (d *derivation) layers() []merge.Layered[merge.Object] {
	layers := make([]merge.Layered[merge.Object], len(d.patches))
	for i, p := range d.patches {
		layers[i] = merge.Layered[merge.Object]{Layer: merge.Manager(p.Patch.Patch.Manager), Patch: &merge.Object{"spec": p.spec}}
	}
	return layers
}

// contested returns the conflicts of extended patches with the other patches of a TrainJob, which the cluster merges later.
func (c *Catalog) contested(j Job, d *derivation) (found finding.List) {
	patches := j.Spec.RuntimePatches
	if j.Written != nil {
		patches = Decodable(j.Written)
	}
	layers, others := d.layers(), map[string]bool{}
	for _, p := range slices.Concat(patches, c.settings.PatchesFor(j)) {
		fields, err := encoded(p)
		_, isExtended := d.places[p.Manager]
		if spec := fields["trainingRuntimeSpec"]; err == nil && spec != nil && !isExtended {
			others[p.Manager] = true
			layers = append(layers, merge.Layered[merge.Object]{Layer: merge.Manager(p.Manager), Patch: &merge.Object{"spec": spec}})
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
	for _, disagreement := range conflict.Find(merged.Owners) {
		f := disagreement.Finding(c.flags.idOf(d.base.Document))
		count := 0
		for i := range f.Claims {
			claim := &f.Claims[i]
			name, _ := claim.Layer.Manager()
			if others[name] {
				entry := runtimepatch.PatchPath(name)
				claim.Source = entry[:len(entry)-1].Append(claim.Source[1:]...)
				count++
				continue
			}
			claim.Position = d.patches[d.places[name]].position(claim.Source)
		}
		if count > 0 && count < len(f.Claims) {
			found = append(found, resolvable(f, disagreement))
		}
	}
	return found
}

// encoded returns a patch as an object of JSON.
func encoded(p trainer.RuntimePatch) (fields map[string]any, err error) {
	text, err := json.Marshal(p)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, &fields)
	}
	return fields, err
}

// resolvable returns a conflict with the ways to resolve it: no force reaches extended patches.
func resolvable(f finding.Finding, of conflict.Conflict) finding.Finding {
	if f.Remedy = (finding.Remedy{Do: finding.ChooseOne, Text: "keep one member, and remove the other from its patch"}); of.Kind == conflict.Overlap {
		f.Remedy = finding.Remedy{Text: "set the field in one patch only, or set the same value in all; or use --on-conflict=last"}
	}
	return f
}

// jobsPath leads to the replicated jobs of a runtime.
func jobsPath() fieldpath.Path { return fieldpath.Fields("spec", "template", "spec", "replicatedJobs") }

// extend returns a patch for the jobs of a runtime. It reports the items that select no job, and those whose job is not clear.
func extend(p manifest.Patch, runtime map[string]any, report func(finding.Finding)) extension {
	out := extension{Patch: p, spec: p.Extended, items: map[string]int{}}
	list, _, _ := unstructured.NestedFieldNoCopy(p.Extended, "template", "spec", "replicatedJobs")
	items, _ := list.([]any) // the merge reports another type
	jobs := jobsOf(runtime)
	var named []any
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return out
		}
		at := jobsPath().Append(fieldpath.Index(i))
		wrong := func(code finding.Code, name, help, message string, args ...any) {
			field := at
			if name != "" {
				field = at.Append(fieldpath.Field(name))
			}
			report(finding.Finding{Code: code, Path: field, Position: out.position(field), Message: fmt.Sprintf(message, args...), Remedy: finding.Remedy{Text: help}})
		}
		selected := selectJobs(fields, jobs, wrong)
		for _, name := range selected {
			if _, isDuplicate := out.items[name]; isDuplicate {
				wrong(finding.CodeDuplicateItem, "", "combine the two items", "Duplicate value: two items of the patch select the job %q", name)
				break
			}
			out.items[name] = i
			fields := maps.Clone(fields)
			delete(fields, "select")
			fields["name"] = name
			named = append(named, fields)
		}
	}
	if len(items) > 0 {
		out.spec = kruntime.DeepCopyJSON(p.Extended)
		_ = unstructured.SetNestedSlice(out.spec, named, "template", "spec", "replicatedJobs") // the list is there
	}
	return out
}

// baseJobs are the replicated jobs of a runtime that patches select.
type baseJobs struct {
	list  []replicatedJob
	names finding.Names
	known map[string]bool
}

// replicatedJob is the name of a job with the labels of its template.
type replicatedJob struct {
	name   string
	labels labels.Set
}

func jobsOf(runtime map[string]any) baseJobs {
	jobs := baseJobs{known: map[string]bool{}}
	list, _, _ := unstructured.NestedSlice(runtime, "spec", "template", "spec", "replicatedJobs")
	var names []string
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, _, _ := unstructured.NestedString(fields, "name")
		of, _, _ := unstructured.NestedStringMap(fields, "template", "metadata", "labels")
		jobs.list, names, jobs.known[name] = append(jobs.list, replicatedJob{name, of}), append(names, name), true
	}
	jobs.names = finding.NewNames(names)
	return jobs
}

// mostJobs is the number of jobs that a help text lists.
const mostJobs = 10

// among lists the names of jobs for a help text, those like a name first.
func (j baseJobs) among(name string) string {
	near := j.names.Around(name)
	return "use a job of the runtime: " + quoted(near, j.names.Len())
}

// quoted lists the first of n names.
func quoted(names []string, n int) string {
	var list []string
	for _, name := range names[:min(len(names), mostJobs)] {
		list = append(list, strconv.Quote(name))
	}
	if more := n - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// selectJobs returns the names of the jobs that an item selects: by its name, or by labels or the ancestor of the field select.
func selectJobs(item map[string]any, jobs baseJobs, wrong func(code finding.Code, field, help, message string, args ...any)) (selected []string) {
	name, isNamed := item["name"].(string)
	by, isSelected := item["select"].(map[string]any)
	const form = "set one of ancestor and labels, such as ancestor: trainer"
	switch {
	case isNamed && item["select"] != nil:
		wrong(finding.CodeBrokenRule, "name", "remove the name", "Forbidden: may not be set beside select, and a patch cannot rename a job")
		return nil
	case isNamed:
		if !jobs.known[name] {
			wrong(finding.CodeUnknownJob, "name", jobs.among(name), "Not found: %q", name)
			return nil
		}
		return []string{name}
	case !isSelected || len(by) != 1:
		field := "select"
		if item["select"] == nil {
			field = ""
		}
		wrong(finding.CodeMissingField, field, form, "Required value: must specify a name, or one of select.ancestor and select.labels")
		return nil
	}
	ancestor, isAncestor := by["ancestor"].(string)
	text, isLabels := by["labels"].(string)
	selector, err := labels.Parse(text)
	switch {
	case isAncestor:
		selector = labels.SelectorFromSet(labels.Set{mlpolicy.Ancestor: ancestor})
	case !isLabels || err != nil || text == "":
		wrong(finding.CodeBadValue, "select", form, "Invalid value: must have an ancestor, or a label selector such as tier=gpu")
		return nil
	}
	for _, job := range jobs.list {
		if selector.Matches(job.labels) {
			selected = append(selected, job.name)
		}
	}
	switch {
	case len(selected) == 0:
		wrong(finding.CodeUnknownJob, "select", jobs.among(ancestor), "selects no job of the runtime: no template has the labels %s", selector)
	case isAncestor && len(selected) > 1:
		wrong(finding.CodeBadValue, "select", "select one of them by its name, or all with labels", "Invalid value: %q: selects several jobs: %s", ancestor, quoted(selected, len(selected)))
		return nil
	}
	return selected
}

// path returns the path in the patch's document of a field of the runtime.
func (e extension) path(path fieldpath.Path) fieldpath.Path {
	if len(path) > 0 {
		path = path[1:] // spec
	}
	at := e.Base.Append(fieldpath.Field("trainingRuntimeSpec")).Append(path...)
	if n := len(e.Base) + len(jobsPath()); len(at) > n {
		if key, name, ok := at[n].Item(); ok && key == "name" && path.HasPrefix(jobsPath()[1:]) {
			if i, ok := e.items[name]; ok {
				at[n] = fieldpath.Index(i)
			}
		}
	}
	return at
}

func (e extension) position(path fieldpath.Path) fieldpath.Position {
	return e.Document.Position(e.path(path))
}

// index notes which patch sets each field: a cluster may reject any number of them.
func (d *derivation) index() {
	d.set, d.leaves = map[string]int{}, map[string]int{}
	for path, claims := range d.owners.All() {
		for _, claim := range claims {
			name, isManager := claim.Layer.Manager()
			if !isManager {
				continue
			}
			if claim.Value != (merge.Presence{}) {
				d.leaves[path.String()] = d.places[name]
			}
			for n := range len(path) {
				at := path[:n+1].String()
				d.set[at] = max(d.set[at], d.places[name])
			}
		}
	}
}

// patchOf returns the last patch that sets a field, or nil. A patch also sets what is within a field that holds no others, and the key
// of an item that it names.
func (d *derivation) patchOf(path fieldpath.Path) *extension {
	if d == nil || len(path) == 0 {
		return nil
	}
	i, ok := d.set[path.String()]
	if in := path[:len(path)-1]; !ok && len(in) > 0 {
		name, _ := path[len(in)].Field()
		if key, _, isItem := in[len(in)-1].Item(); isItem && key == name {
			i, ok = d.set[in.String()]
		}
	}
	for n := len(path) - 1; n > 0 && !ok; n-- {
		i, ok = d.leaves[path[:n].String()]
	}
	if !ok {
		return nil
	}
	return &d.patches[i]
}

// position returns the position of a field: in the last patch that sets it, else in the base.
func (d *derivation) position(path fieldpath.Path) fieldpath.Position {
	if p := d.patchOf(path); p != nil {
		return p.position(path)
	}
	return d.base.Position(path)
}

// Rejected sets the positions of a cluster's findings on a derived runtime. Those that its base does not have are of the patches.
func (s *RuntimeSource) Rejected(found, ofBase finding.List) {
	known := map[string]bool{}
	for _, f := range ofBase {
		known[string(f.Code)+f.Path.String()] = true
	}
	for i := range found {
		f := &found[i]
		f.Position = s.Position(f.Path)
		if known[string(f.Code)+f.Path.String()] {
			continue
		}
		for n := range slices.Backward(f.Path) {
			if p := s.derivation.patchOf(f.Path[:n+1]); p != nil {
				f.Position = p.position(f.Path[:n+1])
				break
			}
		}
	}
}

// Base returns the runtime that extended patches make another one of, or nil.
func (s *RuntimeSource) Base() *RuntimeSource {
	if s == nil || s.derivation == nil {
		return nil
	}
	return s.derivation.base
}

// managers returns the managers of the patches, in their order.
func (d *derivation) managers() []string {
	names := make([]string, len(d.patches))
	for i := range d.patches {
		names[i] = d.patches[i].Patch.Patch.Manager
	}
	return names
}

// derivedName returns the name of the runtime that a TrainJob's extended patches make.
func derivedName(j Job) string { return j.Spec.RuntimeRef.Name + "-" + j.Name }

// LastWins makes warnings of the conflicts of extended patches of which the last one wins.
func LastWins(found finding.List, rule render.OnConflict) {
	for i := range found {
		if found[i].Code == finding.CodeOverlap && IsRuntime(found[i].Object) && rule == render.Last {
			found[i].Severity = finding.Warning
		}
	}
}

// derivedFindings returns the findings on the runtime that a TrainJob's extended patches make.
func (c *Catalog) derivedFindings(j Job, source *RuntimeSource) finding.List {
	found := append(slices.Clone(source.Findings), c.forbidden(j, source.derivation)...)
	if source.Findings.Err() != nil {
		return found
	}
	found = append(found, c.contested(j, source.derivation)...)
	ref := fieldpath.Fields("spec", "runtimeRef", "name")
	report := func(code finding.Code, severity finding.Severity, help, message string, args ...any) {
		found = append(found, finding.Finding{
			Code: code, Severity: severity, Object: render.ObjectOf(j.TrainJob), Path: ref, Position: j.Document.Position(ref),
			Message: fmt.Sprintf(message, args...), Remedy: finding.Remedy{Text: help},
		})
	}
	report(finding.CodeExtended, finding.Warning, "apply the output of trainweld render --for=runtime instead of the TrainJob",
		"a cluster reads no extended patches, here of %s", strings.Join(source.derivation.managers(), ", "))
	name := derivedName(j)
	if len(name) > validation.DNS1123SubdomainMaxLength {
		report(finding.CodeBadMetadata, finding.Error, "use a shorter name of the runtime or of the TrainJob", "Too long: may not be more than %d bytes: the derived runtime has the name %s", validation.DNS1123SubdomainMaxLength, name)
	}
	id := fieldpath.Object{Kind: trainer.TrainingRuntimeKind, Namespace: j.Namespace, Name: name}
	if other := c.Named(id); other != nil && other.from == "" {
		report(finding.CodeDuplicateObject, finding.Error, "rename the other one or the TrainJob", "the derived runtime has the name of %s, at %s", id, other.Position(fieldpath.Fields("metadata", "name")))
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
			name, isManager := claim.Layer.Manager()
			if !isManager || unlisted[name] || claim.Value == (merge.Presence{}) {
				continue
			}
			f := r.CheckField(name, path)
			if f == nil {
				continue
			}
			if f.Code == finding.CodeUnlistedManager {
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

// Derived returns the runtime that a TrainJob's extended patches make, and the TrainJob that refers to it, with all its other patches. It
// returns no runtime without extended patches.
func (in *Input) Derived(j Job) (runtime, job *unstructured.Unstructured, err error) {
	fields, err := j.Document.Fields()
	if err != nil {
		return nil, nil, err
	}
	_ = unstructured.SetNestedField(fields, j.Namespace, "metadata", "namespace")
	patches, _, _ := unstructured.NestedSlice(fields, "spec", "runtimePatches")
	for _, p := range in.patchesFor(j) {
		patch, err := encoded(p.Patch)
		if err != nil {
			return nil, nil, err
		}
		patches = append(patches, patch)
	}
	if len(patches) > 0 {
		_ = unstructured.SetNestedSlice(fields, patches, "spec", "runtimePatches")
	}
	source := in.SourceOf(j)
	if source.Base() == nil {
		return nil, &unstructured.Unstructured{Object: fields}, nil
	}
	d := source.derivation
	if err := unstructured.SetNestedMap(fields, map[string]any{"kind": trainer.TrainingRuntimeKind, "name": derivedName(j)}, "spec", "runtimeRef"); err != nil {
		return nil, nil, err
	}
	hash, err := in.hashOf(d.base.Document)
	if err != nil {
		return nil, nil, err
	}
	metadata := map[string]any{"name": derivedName(j), "namespace": j.Namespace, "annotations": map[string]any{
		fromAnnotation: d.base.Document.ID.Kind + "/" + d.base.Document.ID.Name, hashAnnotation: hash, managersAnnotation: strings.Join(d.managers(), ","),
	}}
	if of := trainerLabels(d.fields); len(of) > 0 {
		metadata["labels"] = of
	}
	runtime = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": trainer.SchemeGroupVersion.String(), "kind": trainer.TrainingRuntimeKind, "metadata": metadata, "spec": kruntime.DeepCopyJSON(d.fields)["spec"],
	}}
	return runtime, &unstructured.Unstructured{Object: fields}, nil
}

// trainerLabels returns the labels of a runtime that the Trainer and its SDK read. Others may belong to the tool that applies it.
func trainerLabels(runtime map[string]any) map[string]any {
	all, _, _ := unstructured.NestedMap(runtime, "metadata", "labels")
	maps.DeleteFunc(all, func(key string, _ any) bool { return !strings.HasPrefix(key, trainer.GroupVersion.Group+"/") })
	return all
}

// Outdated returns a finding on a derived runtime whose base has changed or is not among the inputs, or nil.
func (c *Catalog) Outdated(derived *RuntimeSource) *finding.Finding {
	d := derived.Document
	if derived.from == "" || derived.Snapshot != nil {
		return nil
	}
	kind, name, _ := strings.Cut(derived.from, "/")
	of := fieldpath.Object{Kind: kind, Name: name}
	if kind == trainer.TrainingRuntimeKind {
		of.Namespace = c.flags.idOf(d).Namespace
	}
	base := c.Named(of)
	if base == nil && kind == trainer.ClusterTrainingRuntimeKind {
		c.lock.Lock()
		base = c.shipped(d.API().Release())[name]
		c.lock.Unlock()
	}
	at := fieldpath.Fields("metadata", "annotations").Append(fieldpath.Key(hashAnnotation))
	f := &finding.Finding{
		Code: finding.CodeBaseMoved, Severity: finding.Warning, Object: c.flags.idOf(d), Path: at, Position: d.Position(at),
		Message: fmt.Sprintf("the inputs lack its base, %s", of), Remedy: finding.Remedy{Text: "run trainweld render --for=runtime again, or give the base with -r"},
	}
	if base != nil {
		if hash, err := c.hashOf(base.Document); err == nil && hash == derived.hash {
			return nil
		}
		f.Message = fmt.Sprintf("its base, %s, has changed since", of)
	}
	return f
}

// hashOf returns the hash of what derived runtimes take from their base, as the file has it. Many may have one base.
func (c *Catalog) hashOf(d *manifest.Document) (string, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if hash := c.hashes[d]; hash != "" {
		return hash, nil
	}
	fields, err := d.Content()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{trainerLabels(fields), fields["spec"]})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	c.hashes[d] = "sha256:" + hex.EncodeToString(sum[:])
	return c.hashes[d], nil
}
