package golden

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/outputname"
	"github.com/trainweld/trainweld/cmd/internal/owned"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// renderedObject is one rendered object and its owners.
type renderedObject struct {
	value  any
	owners func() (*diff.Owners, error) // a function, since most objects never differ
	place  func(merge.Claim) merge.Claim
}

// rendering is the result of rendering a case.
type rendering struct {
	files    map[string][]byte           // of want
	objects  map[string][]renderedObject // of each file
	findings finding.List
}

// render renders all TrainJobs of a case.
func (in *caseInput) render() (*rendering, error) {
	r := &rendering{files: map[string][]byte{}, objects: map[string][]renderedObject{}}
	r.findings = append(r.findings, in.Findings...)
	for _, j := range in.Jobs {
		objects, found := in.renderJob(j)
		found.Sort()
		r.findings = append(r.findings, found...)
		if found.Err() != nil {
			continue
		}
		var b bytes.Buffer
		values := make([]any, len(objects))
		for i, o := range objects {
			values[i] = o.value
		}
		if err := manifest.Encode(&b, manifest.YAML, values...); err != nil {
			return nil, fmt.Errorf("%s: %w", render.ObjectOf(j.TrainJob), err)
		}
		name := outputname.Of(render.ObjectOf(j.TrainJob), manifest.YAML)
		r.files[name], r.objects[name] = b.Bytes(), objects
	}
	if text := findingsText(r.findings, in.opts.All); len(text) > 0 {
		r.files[Findings] = text
	}
	return r, nil
}

// findingsText returns the content of findings.txt, with a line for each finding. It omits
// positions, which change with every comment in the inputs.
func findingsText(findings finding.List, notes bool) []byte {
	var shown finding.List
	for _, f := range findings {
		if f.Severity > finding.Note || notes {
			f.Position, f.Message = fieldpath.Position{},
				strings.Join(strings.Fields(f.Message), " ")
			shown = append(shown, f)
		}
	}
	var b bytes.Buffer
	for _, f := range codes.Distinct(shown) {
		fmt.Fprintln(&b, findingLine(f))
	}
	return b.Bytes()
}

func findingLine(f finding.Finding) string {
	line := fmt.Sprintf("%s %s: ", f.Severity, f.Code)
	if where := strings.TrimSpace(f.Object.String() + " " + f.Path.String()); where != "" {
		line += where + ": "
	}
	return line + strings.Join(strings.Fields(f.Message), " ")
}

// renderJob renders one TrainJob. It returns the objects of trainweld render in the same order.
func (in *caseInput) renderJob(j workspace.Job) ([]renderedObject, finding.List) {
	if found := outputname.Unsafe(render.ObjectOf(j.TrainJob), j.Document); found != nil {
		return nil, found
	}
	spec, missing := in.Find(j)
	named := render.RuntimeOf(j.TrainJob)
	found := in.foundAbove(named, missing != nil)
	if missing != nil {
		missing.Position = j.Document.Position(missing.Path)
		// else the runtime's own findings give the reason
		if !in.Broken[named] || found.Err() == nil && in.Findings.Err() == nil {
			found = append(found, *missing)
		}
		return nil, found
	}
	ofJob, made := pipeline.TrainJob(in.Input, j, in.jobSet)
	if found = append(found, ofJob...); made.JobSet == nil || found.Err() != nil {
		return nil, found
	}
	objects, owners := output.Each(made.Objects()), func(object any) (*diff.Owners, error) {
		if object == any(made.JobSet) {
			return diff.OwnersOf(made.History), nil
		}
		layer, _ := owned.Companion(spec, object.(runtime.Object))
		return diff.OwnedBy(merge.Claim{Owner: layer}), nil
	}
	if in.opts.To != "jobset" {
		opts := in.opts.Pods()
		opts.Release = j.Release()
		family := pipeline.Children(made.History, made.JobSet, made.Companions, in.opts.Render, opts)
		found, objects = append(found, family.Findings...), family.Objects
		opts.Companions = made.Companions
		owners = owned.Children(made.JobSet, made.History, opts.JobsOptions)
	}
	var all []renderedObject
	if objects == nil {
		return nil, found
	}
	for object, err := range objects {
		if err != nil {
			return nil, append(found, noChildren(made.JobSet, err))
		}
		all = append(all, renderedObject{object,
			func() (*diff.Owners, error) { return owners(object) },
			func(c merge.Claim) merge.Claim { return in.Claim(j, c) }})
	}
	return all, found
}

// foundAbove returns the findings in files above that concern a case. They are those on its
// runtime. If the runtime is missing, they are all errors that may be the reason.
func (in *caseInput) foundAbove(runtime fieldpath.Object, missing bool) finding.List {
	var found finding.List
	for _, f := range in.above {
		of := in.opts.InNamespace(f.Object)
		if of == runtime || missing && f.Severity >= finding.Error &&
			of.Kind != trainer.TrainJobKind {
			found = append(found, f)
		}
	}
	return found
}

// noChildren returns the finding on a JobSet whose Jobs and Pods cannot be made.
func noChildren(js *jobset.JobSet, err error) finding.Finding {
	return finding.Finding{
		Code: codes.NoName, Severity: finding.Error,
		Object:  fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name},
		Message: err.Error(),
		Remedy:  finding.Remedy{Text: "fix the job and the index of options.yaml"},
	}
}

// objectKeyOf returns the kind and the name of an object, or the prefix of its name.
func objectKeyOf(value any) objectKey {
	var key objectKey
	if o, ok := value.(runtime.Object); ok {
		gvk := o.GetObjectKind().GroupVersionKind()
		key.group, key.kind = gvk.Group, gvk.Kind
	}
	if m, ok := value.(metav1.Object); ok {
		// Only the cluster knows the end of a Pod's name.
		key.namespace, key.name = m.GetNamespace(), m.GetName()+m.GetGenerateName()
	}
	return key
}

// objectKey identifies an object in a file. Pods of a Job share the prefix of their names, so they
// also have a number.
type objectKey struct {
	group, kind, namespace, name string
	number                       int
}

func (k objectKey) String() string {
	text := k.kind + " " + k.namespace + "/" + k.name
	if k.number > 0 {
		text += fmt.Sprintf(" (number %d)", k.number+1)
	}
	return text
}

// keysOf returns the keys of objects, made unique by their numbers.
func keysOf[T any](objects []T, key func(T) objectKey) []objectKey {
	keys := make([]objectKey, len(objects))
	seen := map[objectKey]int{}
	for i, o := range objects {
		k := key(o)
		keys[i] = k
		keys[i].number = seen[k]
		seen[k]++
	}
	return slices.Clip(keys)
}
