// This file has the runtimes of an input, with the positions of their fields.

package workspace

import (
	"iter"
	"slices"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/cmd/internal/ports"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/schema"
)

// Catalog holds the runtimes, and where they come from. Releases may have different runtimes of one
// name.
type Catalog struct {
	reporter
	flags    Flags
	settings *Settings
	Broken   map[fieldpath.Object]bool           // runtimes that exist but cannot be decoded
	runtimes map[string]*render.Runtimes         // by the version of the release
	sources  map[released]*RuntimeSource         // by the runtime, or by the TrainJob of a snapshot
	built    map[fieldpath.Object]bool           // the runtimes of a build
	beside   *Catalog                            // of another state of the objects, or nil
	lasting  bool                                // the runtimes of the other state still exist
	kept     map[fieldpath.Object]*RuntimeSource // with which TrainJobs began
	devices  legacy.Earlier                      // the GPUs of claims and their templates

	lock     sync.Mutex // guards the rest
	resolved map[resolution]*RuntimeSource
	derived  map[derivedBy]*RuntimeSource
	// the derived ones by the base and its extended patches
	shared   map[string]*RuntimeSource
	hashes   map[*manifest.Document]string        // of the bases of derived runtimes
	schemas  map[string]*schema.Type              // of runtimes, by the version of the release
	stock    map[string]map[string]*RuntimeSource // by the version and the name
	releases map[string][]release.Release         // that ship a runtime, by its name
}

func newCatalog(flags Flags, settings *Settings, to reporter) *Catalog {
	return &Catalog{
		reporter: to, flags: flags, settings: settings,
		Broken: map[fieldpath.Object]bool{}, runtimes: map[string]*render.Runtimes{},
		sources: map[released]*RuntimeSource{}, built: map[fieldpath.Object]bool{},
		resolved: map[resolution]*RuntimeSource{}, derived: map[derivedBy]*RuntimeSource{},
		shared: map[string]*RuntimeSource{}, schemas: map[string]*schema.Type{},
		hashes: map[*manifest.Document]string{}, stock: map[string]map[string]*RuntimeSource{},
	}
}

// IsSpelled reports Flags.Spelled.
func (c *Catalog) IsSpelled() bool { return c.flags.Spelled }

// Named returns the source of a runtime of any release, or nil.
func (c *Catalog) Named(id fieldpath.Object) *RuntimeSource {
	for _, version := range c.versions("") {
		if source := c.sources[released{version, id}]; source != nil {
			return source
		}
	}
	return nil
}

// versions returns the versions with runtimes: the given one, none, and the others from the latest
// on.
func (c *Catalog) versions(first string) []string {
	versions := []string{first}
	if len(c.runtimes) == 0 || len(c.runtimes) == 1 && c.runtimes[first] != nil {
		return versions
	}
	versions = append(versions, "")
	for _, r := range slices.Backward(release.Known()) {
		versions = append(versions, r.Version)
	}
	return versions
}

// setDefaults sets the API server's defaults in a runtime. sets reports whether a file sets a
// field.
func (c *Catalog) setDefaults(spec *trainer.TrainingRuntimeSpec, sets func(fieldpath.Path) bool) {
	plain := ports.WithoutProtocol(spec)
	render.DefaultRuntime(spec, sets)
	if c.flags.Spelled {
		for _, p := range plain {
			p.Protocol = ""
		}
	}
}

// RuntimeSource is the source of a runtime. A ConfigMap holds a snapshot as a string, so fields of
// a snapshot have the position of that string.
type RuntimeSource struct {
	Document *manifest.Document
	Snapshot any // the runtime of a snapshot that the Trainer keeps for a TrainJob
	// Stock reports a runtime that the release ships, and the inputs lack. Its text has no
	// position.
	Stock bool
	// Findings are those on a runtime that a TrainJob of another release reads.
	Findings finding.List

	// the base of a derived runtime and its hash, by the annotations
	from, hash string
	derivation *derivation                  // nil without extended patches
	spec       *trainer.TrainingRuntimeSpec // nil after an error
}

// Position returns the position of a field of the runtime.
func (s *RuntimeSource) Position(path fieldpath.Path) fieldpath.Position {
	d, at := s.place(path)
	return d.Position(at)
}

// place returns the document and the path of a field: in the last extended patch that sets it, else
// in the runtime. A stock runtime has no document of the user.
func (s *RuntimeSource) place(path fieldpath.Path) (*manifest.Document, fieldpath.Path) {
	if p := s.derivation.patchOf(path); p != nil {
		return p.Document, p.path(path)
	}
	if s.derivation != nil {
		return s.derivation.base.place(path)
	}
	switch {
	case s.Stock:
		return nil, nil
	case s.Snapshot != nil:
		path = fieldpath.Fields("data", "runtime")
	}
	return s.Document, path
}

// Fields returns the fields of the runtime. The Trainer treats a snapshot as the runtime that its
// TrainJob names, so a snapshot gets that kind and name.
func (s *RuntimeSource) Fields(named fieldpath.Object) (map[string]any, error) {
	switch {
	case s.derivation != nil:
		return runtime.DeepCopyJSON(s.derivation.fields), nil
	case s.Snapshot == nil:
		return s.Document.Fields()
	}
	fields, err := tree.Fields(s.Snapshot)
	if err != nil {
		return nil, err
	}
	meta, ok := fields["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		fields["metadata"] = meta
	}
	fields["kind"], meta["name"] = named.Kind, named.Name
	delete(meta, "namespace")
	if named.Namespace != "" {
		meta["namespace"] = named.Namespace
	}
	return fields, nil
}

// Base returns the runtime that extended patches make another one of, or nil.
func (s *RuntimeSource) Base() *RuntimeSource {
	if s == nil || s.derivation == nil {
		return nil
	}
	return s.derivation.base
}

// Managers returns the managers of the extended patches that make a runtime, in their order.
func (s *RuntimeSource) Managers() []string {
	names := make([]string, len(s.derivation.patches))
	for i, p := range s.derivation.patches {
		names[i] = p.Patch.Patch.Manager
	}
	return names
}

// History returns the owners of the fields of a runtime that extended patches make. It returns the
// merge schema, the claims of the base and the patches, and a function for their places. The other
// patches of a TrainJob take no part.
func (s *RuntimeSource) History() (*schema.Type, iter.Seq2[fieldpath.Path, []merge.Claim],
	func(merge.Claim) merge.Claim) {
	d := s.derivation
	claims := func(yield func(fieldpath.Path, []merge.Claim) bool) {
		for path, claims := range d.owners.All() {
			isTaken := path.HasPrefix(fieldpath.Fields("spec")) ||
				path.HasPrefix(fieldpath.Fields("metadata", "labels"))
			if isTaken && !yield(path, claims) {
				return
			}
		}
	}
	return d.typ, claims, func(c merge.Claim) merge.Claim {
		if name, isManager := c.Owner.Manager(); isManager {
			c.Position = d.patches[d.places[name]].position(c.At)
		} else {
			c.Position = d.base.Position(c.At)
		}
		return c
	}
}

// Rejected sets the positions of a cluster's findings on a derived runtime. Findings that its base
// does not have belong to the patches.
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

// released is an object of a release, which has a version; none is empty.
type released struct {
	version string
	fieldpath.Object
}

// resolution is a source as a release reads it.
type resolution struct {
	version string
	source  *RuntimeSource
}

// derivedBy identifies the runtime that a TrainJob's extended patches make of a base.
type derivedBy struct {
	job  *manifest.Document
	base *RuntimeSource
}

func versionOf(d *manifest.Document) string { return versionIn(d.API().Release()) }

// versionIn returns the version of a release, or "" for nil.
func versionIn(r *release.Release) string {
	if r == nil {
		return ""
	}
	return r.Version
}

// derivation is how extended patches make another runtime of a base.
type derivation struct {
	base    *RuntimeSource
	patches []extension
	places  map[string]int // of the managers in patches
	fields  map[string]any // of the base with the patches
	owners  *merge.History
	typ     *schema.Type
	set     map[string]int // the last patch that sets a field or one within it, by the path
	leaves  map[string]int // the same for fields that hold no others
}

func (d *derivation) layers() []merge.Patch {
	layers := make([]merge.Patch, len(d.patches))
	for i, p := range d.patches {
		layers[i] = merge.Patch{Manager: p.Patch.Patch.Manager, Value: merge.Object{"spec": p.spec}}
	}
	return layers
}

// index notes which patch sets each field: a cluster may reject any number of them.
func (d *derivation) index() {
	d.set, d.leaves = map[string]int{}, map[string]int{}
	for path, claims := range d.owners.All() {
		for _, claim := range claims {
			name, isManager := claim.Owner.Manager()
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

// patchOf returns the last patch that sets a field, or nil. A patch that sets a value as a whole
// also sets the fields within. A patch that names an item also sets its key.
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

// origin returns a claim of the runtime as the claim of the last patch that sets the field, if any.
// An item belongs to the base, if that has it.
func (d *derivation) origin(claim merge.Claim) merge.Claim {
	p := d.patchOf(claim.At)
	if p == nil || claim.Value == (merge.Presence{}) && d.base.Document.Has(claim.At) {
		claim.Position = d.base.Position(claim.At)
		return claim
	}
	claim.Owner, claim.Position = merge.Manager(p.Patch.Patch.Manager), p.position(claim.At)
	return claim
}
