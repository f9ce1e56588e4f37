package admission

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// origin returns the claim of the last layer that wrote a JobSet field. If the field has no claim,
// the nearest item or struct around it counts. Then origin returns the claim of the first layer
// that named it. Value counts only if a layer wrote the field itself.
func (c *checker) origin(path fieldpath.Path) merge.Claim {
	claim, _ := c.namedOrigin(path)
	return claim
}

// namedOrigin returns the origin, and its source with the keys of all items.
func (c *checker) namedOrigin(path fieldpath.Path) (merge.Claim, fieldpath.Path) {
	c.indexOwners()
	named := c.owners.named(path)
	if made, ok := c.derivedFrom(named); ok {
		return made, made.At
	}
	for n := len(named); n > 0; n-- {
		claims := c.owners.claims[named[:n].String()]
		if len(claims) == 0 {
			continue
		}
		claim := claims[len(claims)-1]
		if _, isPresence := claim.Value.(merge.Presence); isPresence {
			// an item, and a field missing in it, belong to the layer that added the item
			claim = claims[0]
			// the finding itself shows the TrainJob's value
		} else if n == len(named) && claim.Owner != runtimepatch.TrainJobLayer {
			return claim, claim.At
		}
		claim.Value = merge.Presence{}
		// else a policy computed the value
		if source := claim.At; len(source) > 0 && source[len(source)-1] == named[n-1] {
			claim.At = source.Append(named[n:]...)
		}
		at := claim.At
		claim.At = unnamed(claim.At, path)
		return claim, at
	}
	at := fieldpath.Fields("spec", "template").Append(path...)
	return merge.Claim{Owner: runtimepatch.RuntimeLayer, Value: merge.Presence{}, At: at}, at
}

// indexOwners indexes the owners of the JobSet on first use. Without a JobSet, these are the owners
// of the merge.
func (c *checker) indexOwners() {
	if c.owners.claims != nil {
		return
	}
	c.owners = fieldOwners{map[string][]merge.Claim{}, map[string]fieldpath.Path{}}
	if c.merged == nil {
		return
	}
	owners, layers := c.merged.History, c.in.Layers
	if c.output != nil && c.output.History != nil {
		owners, layers = c.output.History, nil // of the layers already
	}
	counts := map[string]int{}
	for path, claims := range owners.All() {
		for i := range claims {
			if layers == nil {
				break
			}
			claims[i] = layers.Claim(claims[i])
		}
		c.owners.claims[path.String()] = claims
		last := len(path) - 1
		_, _, isItem := path[last].Item()
		if _, isTwin := path[last].Index(); isItem || isTwin {
			list := path[:last].String()
			c.owners.items[list+fieldpath.Path{fieldpath.Index(counts[list])}.String()] = path
			counts[list]++
		}
	}
}

// named returns the path with merge keys instead of positions for the items of list-maps.
func (x *fieldOwners) named(path fieldpath.Path) fieldpath.Path {
	for n := range path {
		if _, ok := path[n].Index(); ok {
			if item, ok := x.items[path[:n+1].String()]; ok {
				path = item.Append(path[n+1:]...)
			}
		}
	}
	return path
}

// unnamed returns the source with positions instead of keys for items with a position in path.
// Their keys are not unique.
func unnamed(source, path fieldpath.Path) fieldpath.Path {
	source = slices.Clone(source)
	for i, j := len(source)-1, len(path)-1; i >= 0 && j >= 0; i, j = i-1, j-1 {
		if _, _, ok := source[i].Item(); !ok {
			continue
		}
		if _, ok := path[j].Index(); ok {
			source[i] = path[j]
		}
	}
	return source
}

// derivedFrom returns the origin of a value that the JobSet controller derives from a name. Such
// values are labels and the subdomain of Pods.
func (c *checker) derivedFrom(path fieldpath.Path) (merge.Claim, bool) {
	if c.merged == nil || len(c.owners.claims[path.String()]) > 0 {
		return merge.Claim{}, false
	}
	source, ok := derivedFrom(&c.merged.Template.Spec, path)
	if !ok || source.HasPrefix(fieldpath.Fields("metadata")) {
		return merge.Claim{Owner: runtimepatch.TrainJobLayer, Value: merge.Presence{},
			At: source}, ok
	}
	return merge.Claim{Owner: runtimepatch.RuntimeLayer, Value: merge.Presence{},
		At: fieldpath.Fields("spec", "template").Append(source...)}, true
}

// derivedFrom returns the field of a JobSet that its controller derives a label, or the subdomain
// of Pods, from.
func derivedFrom(spec *jobset.JobSetSpec, path fieldpath.Path) (fieldpath.Path, bool) {
	if len(path) < 4 || !path.HasPrefix(fieldpath.Fields("spec", "replicatedJobs")) {
		return nil, false
	}
	name, jobName := fieldpath.Fields("metadata", "name"), path[:3].Append(fieldpath.Field("name"))
	last := path[len(path)-1]
	key, _ := last.Key()
	switch {
	case last == fieldpath.Field("subdomain"):
		if spec.Network != nil && spec.Network.Subdomain != "" {
			return fieldpath.Fields("spec", "network", "subdomain"), true
		}
		return name, true
	case key == jobset.ReplicatedJobNameKey:
		return jobName, true
	case key == jobset.GroupNameKey:
		return path[:3].Append(fieldpath.Field("groupName")), true
	case key == jobset.CoordinatorKey:
		return fieldpath.Fields("spec", "coordinator"), true
	case key == jobset.JobSetNameKey, key == "job-name", key == batchv1.JobNameLabel:
		return name, true
	case key == jobset.JobSetUIDKey:
		return fieldpath.Fields("metadata", "uid"), true
	}
	return nil, false
}

// findCauses collects the causes, after all findings before the JobSet.
func (c *checker) findCauses() {
	c.Errors(func(i int, f finding.Finding) {
		switch f.Code {
		case codes.UnknownJob, codes.UnknownContainer, codes.ValueAndValueFrom,
			codes.EnvWithoutName,
			codes.TwoSources, codes.DuplicateItem, codes.Union, codes.Directive,
			codes.PortsTakenForOne:
			if at, ok := templatePath(f); ok {
				c.addCause(cause{finding: i, at: at})
			} else if c.in.Layers != nil {
				for _, at := range c.in.Layers.Reach(f.Path) {
					c.addCause(cause{finding: i, at: at, hasExactPath: true})
				}
			}
		}
	})
}

// addDownstream adds a finding on an object that a controller makes, with the origin of its value.
// The argument path is its field in the JobSet. An earlier finding may report the cause, such as a
// patch of an unknown container. Then late extends the path of that finding instead, up to the
// field that the cluster will name.
func (c *checker) addDownstream(f finding.Finding, path fieldpath.Path) {
	if cause := c.causeOf(path); cause != nil {
		if !cause.hasExactPath {
			c.Change(cause.finding, func(earlier *finding.Finding) {
				earlier.Path = kubeapi.PrintedPath(
					f.Code, earlier.Path.Append(path[len(cause.at):]...))
			})
			cause.hasExactPath = true
		}
		return
	}
	claim, named := c.namedOrigin(path)
	if f.Code == codes.JobSetName && len(validation.IsDNS1035Label(nameOf(path[2]))) == 0 &&
		path[len(path)-1] == fieldpath.Field("name") {
		claim = merge.Claim{Owner: runtimepatch.TrainJobLayer, Value: merge.Presence{},
			At: fieldpath.Fields("metadata", "name")}
	}
	if f.Severity == finding.Error && c.explained(f, claim, named) {
		return
	}
	f.Claims = append(f.Claims, claim)
	c.Add(f)
}

func nameOf(step fieldpath.Step) string {
	_, name, _ := step.Item()
	return name
}

func (c *checker) addCause(cause cause) {
	if c.causeAt == nil {
		c.causeAt = map[string]int{}
	}
	if at := cause.at.String(); c.causeAt[at] == 0 {
		c.causes = append(c.causes, cause)
		c.causeAt[at] = len(c.causes)
	}
}

// causeOf returns the first cause at the path or above it, or nil.
func (c *checker) causeOf(path fieldpath.Path) *cause {
	first := 0
	for n := 0; n <= len(path) && len(c.causes) > 0; n++ {
		if i := c.causeAt[path[:n].String()]; i > 0 && (first == 0 || i < first) {
			first = i
		}
	}
	if first == 0 {
		return nil
	}
	return &c.causes[first-1]
}

// explained reports whether an earlier stage reported an error on the same field of the input: that
// of the claim, also with the keys of its items.
func (c *checker) explained(f finding.Finding, claim merge.Claim, named fieldpath.Path) bool {
	const anything = 2 // an error on .spec.template explains too much
	if claim.Owner == runtimepatch.RuntimeLayer {
		i := c.FirstError(c.in.Runtime.id, claim.At, func(e finding.Finding) bool {
			return len(e.Path) > anything
		})
		if i >= 0 && i < len(c.in.Runtime.findings) { // of its own admission
			return true
		}
	}
	lost := c.FirstError(c.job.id, claim.At, func(e finding.Finding) bool {
		return e.Code == codes.FileKeyRef
	})
	first := -1
	if claim.Owner != runtimepatch.RuntimeLayer {
		isCause := func(e finding.Finding) bool { return len(e.Claims) == 0 }
		if first = c.ErrorAt(c.job.id, claim.At, isCause); first < 0 {
			first = c.ErrorAt(c.job.id, named, isCause)
		}
	}
	if f.Object.Kind != "JobSet" && (first < 0 || lost >= 0) {
		if i := c.ErrorFrom(claim); first < 0 || i >= 0 && i < first {
			first = i
		}
	}
	if lost >= 0 && (first < 0 || lost < first) {
		// The controller loses the source, which causes this error. Report it once, at the field
		// that the cluster names.
		c.Change(lost, func(earlier *finding.Finding) {
			earlier.Object, earlier.Path, earlier.Claims = f.Object, f.Path, []merge.Claim{claim}
		})
		return true
	}
	return first >= 0 || f.Code == codes.NeverCreated && c.HasErrorWithin(f.Object, f.Path)
}

// templatePath returns the path of a finding in the template, and so in the JobSet. The finding
// concerns the runtime or a patch.
func templatePath(f finding.Finding) (fieldpath.Path, bool) {
	if codes.IsDispute(f.Code) {
		return f.Path, true
	}
	if f.Object.Kind != trainer.TrainJobKind {
		template := fieldpath.Fields("spec", "template")
		if !f.Path.HasPrefix(template) {
			return nil, false
		}
		return f.Path[len(template):], true
	}
	patch := runtimepatch.PatchPath("")
	if len(f.Path) < len(patch) || !f.Path.HasPrefix(fieldpath.Fields("spec", "runtimePatches")) {
		return nil, false
	}
	return f.Path[len(patch):], true
}
