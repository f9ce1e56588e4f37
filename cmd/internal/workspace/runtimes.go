// This file collects the runtimes, and finds the one of a TrainJob.

package workspace

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/release"
)

// RuntimeOf returns the runtime of a TrainJob as Find does. It returns nil for both if the runtime
// is broken: then the runtime has its own findings.
func (c *Catalog) RuntimeOf(j Job) (*trainer.TrainingRuntimeSpec, *finding.Finding) {
	spec, missing := c.Find(j)
	if missing != nil && c.Broken[render.RuntimeOf(j.TrainJob)] {
		return nil, nil
	}
	return spec, missing
}

// Find returns the runtime of a TrainJob as its release reads it, or a finding if it is missing. It
// returns nil for both if the release cannot decode the runtime: see ReleaseFindings. It is safe
// for concurrent use.
func (c *Catalog) Find(j Job) (*trainer.TrainingRuntimeSpec, *finding.Finding) {
	source, version := c.source(j)
	known := c.runtimes[version]
	if known == nil {
		known = &render.Runtimes{}
	}
	_, missing := known.Find(j.TrainJob)
	if source != nil && (missing == nil || missing.Code == codes.NoRuntime) {
		return source.spec, nil
	}
	if missing != nil && missing.Remedy.Do == finding.Provide {
		missing.Remedy.Text = c.shippedAs(j) + missing.Remedy.Text
	}
	return nil, missing
}

// SourceOf returns the source of a TrainJob's runtime, preferring a snapshot. It returns nil
// without a runtime.
func (c *Catalog) SourceOf(j Job) *RuntimeSource {
	source, _ := c.source(j)
	return source
}

// LiveOf returns the runtime of a TrainJob that has a snapshot of it, or nil.
func (c *Catalog) LiveOf(j Job) *trainer.TrainingRuntimeSpec {
	if source := c.SourceOf(j); source == nil || source.Snapshot == nil {
		return nil
	}
	live := c.Named(render.RuntimeOf(j.TrainJob))
	if live == nil {
		return nil
	}
	return c.as(live, j.Document.API()).spec
}

// AddClaim adds a ResourceClaim or a ResourceClaimTemplate, whose devices Trainer 2.4 counts. It
// reports whether the document is one.
func (c *Catalog) AddClaim(d *manifest.Document) bool {
	claim := d.Claim()
	if claim != nil {
		id := d.ID
		id.Namespace = c.flags.NamespaceOf(id.Namespace)
		c.devices.AddDevices(id, claim)
	}
	return claim != nil
}

// Earlier returns the fields of other releases in a TrainJob, in its patches and in its runtime.
func (c *Catalog) Earlier(j Job) legacy.Earlier {
	var earlier legacy.Earlier
	if j.Document != nil {
		earlier = j.Document.Earlier
	}
	isShared := true
	for _, p := range c.settings.patchesFor(j) {
		if added := p.Document.Earlier.Patched[p.Patch.Manager]; added != nil {
			if isShared {
				isShared, earlier.Patched = false, maps.Clone(earlier.Patched)
			}
			if earlier.Patched == nil {
				earlier.Patched = map[string]map[string]any{}
			}
			earlier.Patched[p.Patch.Manager] = added
		}
	}
	earlier.Devices = c.devices.Devices
	if source := c.SourceOf(j); source != nil {
		earlier.TorchNumProcPerNode = source.Document.Earlier.TorchNumProcPerNode
	}
	return earlier
}

// source returns the source of a TrainJob's runtime. Runtimes of its own release come first, then
// runtimes without a release, then runtimes of other releases. Last come the runtimes that the
// release ships. The version belongs to the runtimes that hold the source, or lack it.
func (c *Catalog) source(j Job) (*RuntimeSource, string) {
	api, version := j.Document.API(), versionOf(j.Document)
	if kept := c.kept[render.ObjectOf(j.TrainJob)]; kept != nil &&
		j.Release().Or().RuntimeRead == release.RuntimeSnapshot {
		return c.derive(j, c.as(kept, api)), version
	}
	for _, version := range c.versions(version) {
		for _, id := range []fieldpath.Object{
			render.ObjectOf(j.TrainJob), render.RuntimeOf(j.TrainJob)} {
			if source := c.sources[released{version, id}]; source != nil {
				return c.derive(j, c.as(source, api)), version
			}
		}
	}
	if c.runtimes[version] == nil {
		version = ""
	}
	if c.Broken[render.RuntimeOf(j.TrainJob)] {
		return nil, version
	}
	if other := c.besideOf(j); other != nil {
		return c.derive(j, c.as(other, api)), version
	}
	return c.derive(j, c.stockRuntime(j)), version
}

// Beside gives the catalog the runtimes of the other state of the objects. A TrainJob gets one of
// them before a runtime that a release ships. If exist is set, the other state's runtimes still
// exist, so a TrainJob also gets one if this state lacks its runtime.
func (c *Catalog) Beside(other *Catalog, exist bool) { c.beside, c.lasting = other, exist }

// KeepFor records the runtime with which a TrainJob began. A release that takes snapshots goes on
// to use it for the TrainJob.
func (c *Catalog) KeepFor(id fieldpath.Object, source *RuntimeSource) {
	if c.kept == nil {
		c.kept = map[fieldpath.Object]*RuntimeSource{}
	}
	c.kept[id] = source
}

// KeepSnapshots tells the snapshots of another state. The new state may have them as well.
func (c *Catalog) KeepSnapshots(of *Catalog) {
	for at, source := range of.sources {
		if source.Snapshot != nil {
			c.KeepFor(at.Object, source)
		}
	}
}

// besideOf returns the source of a TrainJob's runtime in the other state, or nil.
func (c *Catalog) besideOf(j Job) *RuntimeSource {
	if c.beside == nil || !c.lasting && c.stockRuntime(j) == nil {
		return nil
	}
	if snapshot := c.beside.Named(render.ObjectOf(j.TrainJob)); snapshot != nil {
		return snapshot
	}
	return c.beside.Named(render.RuntimeOf(j.TrainJob))
}

// Lacks reports whether neither state has the runtime that a TrainJob names, and no release ships
// it. The TrainJob may have a snapshot of it.
func (c *Catalog) Lacks(j Job) bool {
	id := render.RuntimeOf(j.TrainJob)
	return c.Named(id) == nil && (c.beside == nil || c.beside.Named(id) == nil) &&
		c.stockRuntime(j) == nil
}

// HasRuntimes reports whether the inputs have runtimes, besides snapshots.
func (c *Catalog) HasRuntimes() bool {
	for at := range c.sources {
		if IsRuntime(at.Object) {
			return true
		}
	}
	return false
}

// as returns the source as an API reads it. A snapshot is the controller's own, and stays.
func (c *Catalog) as(source *RuntimeSource, api *manifest.API) *RuntimeSource {
	if source.Snapshot != nil || source.Document.API() == api {
		return source
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	key := resolution{versionIn(api.Release()), source}
	if c.resolved[key] == nil {
		d := source.Document.As(api)
		c.resolved[key] = &RuntimeSource{Document: d, Findings: d.Findings, from: source.from,
			hash: source.hash, spec: c.specOf(d)}
	}
	return c.resolved[key]
}

// stockRuntime returns the runtime of a TrainJob that its release ships, or nil.
func (c *Catalog) stockRuntime(j Job) *RuntimeSource {
	id := render.RuntimeOf(j.TrainJob)
	if id.Kind != trainer.ClusterTrainingRuntimeKind {
		return nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.shipped(j.Release())[id.Name]
}

// shippedAs returns the begin of an advice, on the runtime of a release that a TrainJob probably
// means, or "".
func (c *Catalog) shippedAs(j Job) string {
	id, r := render.RuntimeOf(j.TrainJob), j.Release()
	c.lock.Lock()
	defer c.lock.Unlock()
	if id.Kind != trainer.ClusterTrainingRuntimeKind {
		if c.shipped(r)[id.Name] == nil {
			return ""
		}
		return fmt.Sprintf("did you mean the %s %s, which Trainer %s ships? Otherwise ",
			trainer.ClusterTrainingRuntimeKind, id.Name, r.Or().Version)
	}
	if having := c.having(id.Name); len(having) > 0 {
		return fmt.Sprintf("it is a runtime of %s: ", release.Span(having))
	}
	if near := nearest.To(id.Name, slices.Sorted(maps.Keys(c.shipped(r)))); near != "" {
		return fmt.Sprintf("did you mean %s, which Trainer %s ships? Otherwise ", near,
			r.Or().Version)
	}
	return ""
}

// having returns the releases that ship a runtime. The caller holds the lock.
func (c *Catalog) having(name string) []release.Release {
	if c.releases == nil {
		c.releases = map[string][]release.Release{}
		for _, r := range release.Known() {
			if text, err := r.Runtimes(); err == nil { // a release has some
				documents, _ := manifest.Decode("", text)
				for _, d := range documents {
					c.releases[d.ID.Name] = append(c.releases[d.ID.Name], r)
				}
			}
		}
	}
	return c.releases[name]
}

// shipped returns the runtimes that a release ships, by their names. For nil, it takes the latest
// release. The caller holds the lock.
func (c *Catalog) shipped(r *release.Release) map[string]*RuntimeSource {
	version := versionIn(r)
	if c.stock[version] == nil {
		named := map[string]*RuntimeSource{}
		c.stock[version] = named
		if text, err := r.Or().Runtimes(); err == nil { // a release has some
			var documents []*manifest.Document
			if r == nil {
				documents, _ = manifest.Decode("", text)
			} else {
				documents, _, _ = c.settings.API(r).Decode("", text, nil)
			}
			for _, d := range documents {
				named[d.ID.Name] = &RuntimeSource{Document: d, Stock: true, spec: c.specOf(d)}
			}
		}
	}
	return c.stock[version]
}

func (c *Catalog) runtimeFindings(j Job, rule render.OnConflict) finding.List {
	source := c.SourceOf(j)
	if source == nil {
		return nil
	}
	if source.derivation != nil {
		return append(c.derivedFindings(j, source, rule),
			c.sourceFindings(j, source.derivation.base)...)
	}
	return c.sourceFindings(j, source)
}

func (c *Catalog) sourceFindings(j Job, source *RuntimeSource) finding.List {
	switch {
	case source.Stock && (c.flags.Release != nil || c.settings.stockAccepted[j.Document.File]):
		return nil
	case source.Stock:
		ref := fieldpath.Fields("spec", "runtimeRef", "name")
		return finding.List{{
			Code: codes.NoRuntime, Severity: finding.Note, Object: render.ObjectOf(j.TrainJob),
			Path: ref, Position: j.Document.Position(ref),
			Message: codes.AssumedRuntime(render.RuntimeOf(j.TrainJob).Name, j.Release().Or().Version),
			Remedy:  finding.Remedy{Text: "accept that"},
		}}
	default:
		return slices.Clone(source.Findings)
	}
}

// specOf returns the spec of a runtime with the API server's defaults, or nil for another object.
func (c *Catalog) specOf(d *manifest.Document) *trainer.TrainingRuntimeSpec {
	var spec *trainer.TrainingRuntimeSpec
	switch r := d.Object.(type) {
	case *trainer.TrainingRuntime:
		spec = &r.Spec
	case *trainer.ClusterTrainingRuntime:
		spec = &r.Spec
	default:
		return nil
	}
	c.setDefaults(spec, d.Sets)
	return spec
}

// AddRuntime adds a runtime or a snapshot for a rendering. It reports a duplicate and does not keep
// it, unless the last one counts, as after kubectl apply.
func (c *Catalog) AddRuntime(d *manifest.Document, last bool) {
	id, source := c.read(d)
	if source.spec == nil {
		return
	}
	if source.Snapshot == nil {
		c.setDefaults(source.spec, d.Sets)
	}
	c.put(id, source, last)
}

// AddText adds a runtime or a snapshot for its text, without the decoded object. It also counts a
// runtime that cannot be decoded.
func (c *Catalog) AddText(d *manifest.Document) (source *RuntimeSource, kept bool) {
	switch id, source := c.read(d); {
	case source.spec == nil && !IsRuntime(id):
		return nil, false
	case id.Name == "":
		return source, false // no TrainJob can reference it
	default:
		source.spec = &trainer.TrainingRuntimeSpec{}
		return source, c.put(id, source, false)
	}
}

// read returns the source that a document is, and its object: for a snapshot, its TrainJob. A
// source without a spec holds no runtime, or one that cannot be decoded.
func (c *Catalog) read(d *manifest.Document) (fieldpath.Object, *RuntimeSource) {
	source := &RuntimeSource{Document: d}
	id, runtime := c.flags.idOf(d), d.Object
	if of, ok := runtime.(metav1.Object); ok {
		source.from, source.hash = of.GetAnnotations()[fromAnnotation],
			of.GetAnnotations()[hashAnnotation]
	}
	if c.flags.IsBuilt(d.File) {
		c.built[id] = true
	}
	if cm, ok := runtime.(*corev1.ConfigMap); ok {
		if d.API().Release().Or().RuntimeRead == release.LiveRuntime {
			return id, source // the controller knows no snapshots
		}
		id, source.Snapshot = c.snapshotOf(cm, d)
		runtime = source.Snapshot
	}
	switch r := runtime.(type) {
	case *trainer.TrainingRuntime:
		source.spec = &r.Spec
	case *trainer.ClusterTrainingRuntime:
		source.spec = &r.Spec
	}
	return id, source
}

// put adds a source under the name of its object. It reports a duplicate, unless the last one
// counts.
func (c *Catalog) put(id fieldpath.Object, source *RuntimeSource, last bool) (kept bool) {
	d := source.Document
	at := released{versionOf(d), id}
	known := c.runtimes[at.version]
	if known == nil {
		known = &render.Runtimes{}
		c.runtimes[at.version] = known
	}
	add := known.Add
	if source.Snapshot != nil {
		add = known.AddSnapshot
	}
	if rejected := add(id, source.spec); rejected != nil && !last {
		other := c.sources[at]
		if c.isBase(other, source) {
			if sameSpec(other.Document, d) {
				return false
			}
			rejected.Message += ": the build changes the object of the file"
			rejected.Remedy.Text = "remove the file from -r"
			rejected.Position = d.Position(rejected.Path)
			c.report(*rejected)
			return false
		}
		if source.Snapshot != nil {
			rejected.Message = fmt.Sprintf("duplicate snapshot of the runtime of %s", id)
			rejected.Object = d.ID
		}
		rejected.Position = d.Position(rejected.Path)
		c.report(c.flags.reportOther(*rejected, other.Document))
		return false
	}
	c.sources[at] = source
	return true
}

// isBase reports whether a build outputs a runtime that is also in the files.
func (c *Catalog) isBase(built, source *RuntimeSource) bool {
	name := fieldpath.Fields("metadata", "name")
	at := built.Position(name)
	return c.flags.IsBuilt(built.Document.File) && at.Line > 0 && at == source.Position(name)
}

// The annotations of a derived runtime.
const (
	fromAnnotation     = "trainweld.github.io/derived-from" // the kind and the name of the base
	hashAnnotation     = "trainweld.github.io/base-hash"
	managersAnnotation = "trainweld.github.io/managers"
)

func sameSpec(a, b *manifest.Document) bool {
	x, errX := a.Content()
	y, errY := b.Content()
	return errX == nil && errY == nil && reflect.DeepEqual(x["spec"], y["spec"])
}

// snapshotOf returns the runtime in a ConfigMap, and the TrainJob that the snapshot is for. It
// returns nil for any other ConfigMap, and for an invalid one, which it reports.
func (c *Catalog) snapshotOf(cm *corev1.ConfigMap, d *manifest.Document) (fieldpath.Object, any) {
	name, runtime, err := manifest.Snapshot(cm)
	if err != nil {
		at := fieldpath.Fields("data", "runtime")
		c.report(finding.Finding{
			Code: codes.WrongType, Severity: finding.Error, Object: d.ID, Path: at,
			Position: d.Position(at),
			Message:  err.Error(),
			Remedy: finding.Remedy{
				Text: "read the ConfigMap from the cluster again"},
		})
	}
	return fieldpath.Object{
			Kind: trainer.TrainJobKind, Namespace: c.flags.NamespaceOf(cm.Namespace), Name: name},
		runtime
}
