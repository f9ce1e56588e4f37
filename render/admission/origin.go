package admission

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// origin returns the claim of the last layer that wrote a JobSet field. If the field has no claim, the nearest item
// or struct around it counts. Then origin returns the claim of the first layer that named it. Value counts only if a
// layer wrote the field itself.
func (c *checker) origin(path fieldpath.Path) merge.Claim {
	c.indexOwners()
	named := c.owners.named(path)
	if made, ok := c.derivedFrom(named); ok {
		return made
	}
	for n := len(named); n > 0; n-- {
		claims := c.owners.claims[named[:n].String()]
		if len(claims) == 0 {
			continue
		}
		claim := claims[len(claims)-1]
		if _, isPresence := claim.Value.(merge.Presence); isPresence {
			claim = claims[0] // an item, and a field missing in it, belong to the layer that added the item
		} else if n == len(named) && claim.Layer != runtimepatch.TrainJobLayer { // the finding itself shows the TrainJob's value
			return claim
		}
		claim.Value = merge.Presence{}
		if source := claim.Source; len(source) > 0 && source[len(source)-1] == named[n-1] { // else a policy computed the value
			claim.Source = source.Append(named[n:]...)
		}
		claim.Source = unnamed(claim.Source, path)
		return claim
	}
	return merge.Claim{Layer: runtimepatch.RuntimeLayer, Value: merge.Presence{}, Source: fieldpath.Fields("spec", "template").Append(path...)}
}

// fieldOwners are the claims on the fields of the JobSet, by their paths.
type fieldOwners struct {
	claims map[string][]merge.Claim
	items  map[string]fieldpath.Path // of an item of a list-map, by the list and its position
}

// indexOwners indexes the owners of the JobSet on first use. Without a JobSet, these are the owners of the merge.
func (c *checker) indexOwners() {
	if c.owners.claims != nil {
		return
	}
	c.owners = fieldOwners{map[string][]merge.Claim{}, map[string]fieldpath.Path{}}
	if c.merged == nil {
		return
	}
	owners, layers := c.merged.Owners, c.in.Layers
	if c.output != nil && c.output.Owners != nil {
		owners, layers = c.output.Owners, nil // of the layers already
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

// unnamed returns the source with positions instead of keys for items with a position in path. Their keys are not
// unique.
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

// derivedFrom returns the origin of a value that the JobSet controller derives from a name. Such values are labels and
// the subdomain of Pods.
func (c *checker) derivedFrom(path fieldpath.Path) (merge.Claim, bool) {
	if c.merged == nil || len(c.owners.claims[path.String()]) > 0 {
		return merge.Claim{}, false
	}
	source, ok := derivedFrom(&c.merged.Template.Spec, path)
	if !ok || source.HasPrefix(fieldpath.Fields("metadata")) {
		return merge.Claim{Layer: runtimepatch.TrainJobLayer, Value: merge.Presence{}, Source: source}, ok
	}
	return merge.Claim{Layer: runtimepatch.RuntimeLayer, Value: merge.Presence{}, Source: fieldpath.Fields("spec", "template").Append(source...)}, true
}

// derivedFrom returns the field of a JobSet that its controller derives a label, or the subdomain of Pods, from.
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
