package origins

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/trainweld/trainweld/fieldpath"
)

// layer is a kustomization file.
type layer struct {
	dir, file string
	types.Kustomization
	source *source
	root   *yaml.Node
}

// layer returns the kustomization of a directory.
func (t *tracer) layer(dir string) (*layer, error) {
	if l := t.layers[dir]; l != nil {
		return l, nil
	}
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		l := &layer{dir: dir, file: filepath.Join(dir, name)}
		data, err := t.Read(l.file)
		if err != nil {
			continue
		}
		if err := l.Unmarshal(data); err != nil {
			return nil, err
		}
		l.FixKustomization()
		l.source = newSource(l.file, data, nil)
		if len(l.source.documents) > 0 {
			l.root = l.source.documents[0]
		}
		t.layers[dir] = l
		return l, nil
	}
	return nil, fmt.Errorf("%s holds no kustomization", dir)
}

// bare returns the kustomization without its operations. It is never empty to kustomize.
func (l *layer) bare() *types.Kustomization {
	return &types.Kustomization{TypeMeta: l.TypeMeta, MetaData: &types.ObjectMeta{Name: "part"},
		GeneratorOptions: l.GeneratorOptions}
}

// isOneBase reports whether a kustomization adds one directory and nothing else. Then its first
// build is that of the directory, which is done.
func (l *layer) isOneBase(r *run) bool {
	if len(l.Resources) != 1 {
		return false
	}
	_, isDir := r.Dir(filepath.Join(l.dir, l.Resources[0]))
	return isDir
}

// rest returns the keys of a kustomization that the kustomization with all known operations lacks,
// besides the order of the output, and the schema, which counts from the beginning.
func (l *layer) rest(part *types.Kustomization) (keys []string) {
	for f := range reflect.TypeFor[types.Kustomization]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key != "" && !slices.Contains([]string{"metadata", "sortOptions", "openapi"}, key) &&
			!reflect.DeepEqual(valueOf(&l.Kustomization, key).Interface(),
				valueOf(part, key).Interface()) {
			keys = append(keys, key)
		}
	}
	return keys
}

// valueOf returns the field of a kustomization for a key, which it must have.
func valueOf(k *types.Kustomization, key string) reflect.Value {
	return reflect.ValueOf(k).Elem().FieldByNameFunc(func(name string) bool {
		f, _ := reflect.TypeFor[types.Kustomization]().FieldByName(name)
		json, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return json == key
	})
}

// An operation is one step of a kustomization.
type operation struct {
	name string
	at   fieldpath.Position
	// include adds the operation to a kustomization that has those before it.
	include func(k *types.Kustomization)
	// writes returns what the operation says about the values of an object, by their paths. It may
	// be nil.
	writes func(o *object, after any) map[string]write
	adds   []string // the files and directories that it adds
	makes  string   // the name of the object that it generates, without its hash
	// component is the directory of a component: its operations are done instead.
	component string
}

// plan collects the operations of a kustomization.
type plan struct {
	*layer
	all []*operation
}

// key returns the position of the first of these keys.
func (p *plan) key(names ...string) fieldpath.Position {
	return p.source.at(keyOf(p.root, names...))
}

// listed returns the items of a list, which may be under a second key as well.
func (p *plan) listed(keys ...string) []*yaml.Node {
	var all []*yaml.Node
	for _, key := range keys {
		_, value := Entry(p.root, key)
		all = append(all, items(value)...)
	}
	return all
}

// one adds an operation that takes over the values of keys, if the kustomization has one of them.
func (p *plan) one(o operation, keys ...string) {
	has := func(key string) bool { return !valueOf(&p.Kustomization, key).IsZero() }
	if !slices.ContainsFunc(keys, has) {
		return
	}
	if o.at.File == "" {
		o.at = p.key(keys...)
	}
	o.name = keys[0]
	o.include = func(k *types.Kustomization) {
		for _, key := range keys {
			valueOf(k, key).Set(valueOf(&p.Kustomization, key))
		}
	}
	p.all = append(p.all, &o)
}

// each adds an operation for each item of a list, which takes over the items up to this one.
func (p *plan) each(name string, make func(i int, n *yaml.Node) operation) {
	keys := []string{name}
	if name == "images" {
		keys = append(keys, "imageTags") // kustomize appends those of the old key
	}
	nodes, all := p.listed(keys...), valueOf(&p.Kustomization, name)
	for i := range all.Len() {
		var node *yaml.Node
		if i < len(nodes) {
			node = nodes[i]
		}
		o := make(i, node)
		o.name = fmt.Sprintf("%s[%d]", name, i)
		if o.at.File == "" {
			o.at = p.source.at(node)
		}
		o.include = func(k *types.Kustomization) { valueOf(k, name).Set(all.Slice(0, i+1)) }
		p.all = append(p.all, &o)
	}
}

// configured adds an operation for each document of the configurations of generators or
// transformers, which a kustomization holds or names.
func (p *plan) configured(read func(string) ([]byte, error), name string, all []string) {
	nodes := p.listed(name)
	for i, config := range all {
		if i >= len(nodes) {
			nodes = append(nodes, nil)
		}
		file := filepath.Join(p.dir, config)
		s := newSource(p.file, []byte(config), nodes[i])
		if data, err := read(file); err == nil {
			s, config = newSource(file, data, nil), string(data)
		}
		chunks, text := chunksOf([]byte(config)), ""
		if len(chunks) != len(s.documents) { // one has only comments
			chunks, s.documents = []chunk{{}}, []*yaml.Node{nil}
		}
		for j := range chunks {
			some := all[: i+1 : i+1]
			if text += string(chunks[j].text); j < len(chunks)-1 {
				some = append(all[:i:i], text)
			}
			p.all = append(p.all, &operation{name: fmt.Sprintf("%s[%d]", name, i),
				at:      s.at(s.documents[j]),
				include: func(k *types.Kustomization) { valueOf(k, name).Set(reflect.ValueOf(some)) }})
		}
	}
}

// operations returns the operations of a kustomization in the order of kustomize.
func (r *run) operations(l *layer) []*operation {
	p := &plan{layer: l}
	p.one(operation{at: p.key("resources", "bases"), adds: l.Resources}, "resources")
	p.one(operation{}, "configurations", "crds")
	p.each("configMapGenerator", func(i int, n *yaml.Node) operation {
		return operation{writes: r.generated(l, n), makes: l.ConfigMapGenerator[i].Name}
	})
	p.each("secretGenerator", func(i int, n *yaml.Node) operation {
		return operation{writes: r.generated(l, n), makes: l.SecretGenerator[i].Name}
	})
	p.configured(r.Read, "generators", l.Generators)
	p.each("components", func(i int, _ *yaml.Node) operation {
		return operation{component: filepath.Join(l.dir, l.Components[i])}
	})
	r.transformers(p)
	p.configured(r.Read, "transformers", l.Transformers)
	p.configured(r.Read, "validators", l.Validators)
	p.each("vars", func(int, *yaml.Node) operation { return operation{} })
	return p.all
}

// transformers adds the operations on objects that are there.
func (r *run) transformers(p *plan) {
	l := p.layer
	//lint:ignore SA1019 repositories still have these fields
	merges, changes := l.PatchesStrategicMerge, l.PatchesJson6902
	p.each("patchesStrategicMerge", func(i int, n *yaml.Node) operation {
		patch := types.Patch{Path: string(merges[i])}
		if _, err := r.Read(filepath.Join(l.dir, patch.Path)); err != nil {
			patch = types.Patch{Patch: string(merges[i])}
		}
		return operation{writes: r.patched(l, patch, n)}
	})
	p.each("patches", func(i int, n *yaml.Node) operation {
		return operation{writes: r.patched(l, l.Patches[i], n)}
	})
	p.one(operation{writes: func(_ *object, after any) map[string]write {
		field := "namespace"
		if fields, _ := after.(map[string]any); fields["kind"] == "Namespace" {
			field = "name" // which kustomize sets instead
		}
		return map[string]write{pathOf("metadata", field): {at: p.key("namespace"), sure: true}}
	}}, "namespace")
	p.one(operation{}, "namePrefix")
	p.one(operation{}, "nameSuffix")
	p.each("labels", func(i int, n *yaml.Node) operation {
		reach := []string{}
		switch {
		case l.Labels[i].IncludeSelectors:
			reach = []string{"labels", "matchLabels", "selector"}
		case l.Labels[i].IncludeTemplates:
			reach = []string{"labels"}
		}
		_, named := Entry(n, "pairs")
		return operation{writes: keyed(l.source, named, "labels", reach)}
	})
	p.one(operation{writes: keyed(l.source, within(l.root, "commonLabels"), "labels",
		[]string{"labels", "matchLabels", "selector"})}, "commonLabels")
	p.one(operation{writes: keyed(l.source, within(l.root, "commonAnnotations"), "annotations",
		[]string{"annotations"})}, "commonAnnotations")
	p.each("patchesJson6902", func(i int, n *yaml.Node) operation {
		return operation{writes: r.patched(l, changes[i], n)}
	})
	p.each("replicas", func(i int, n *yaml.Node) operation {
		at := p.source.at(keyOf(n, "count"))
		return operation{at: at, writes: named(l.Replicas[i].Name, sets(at, "spec", "replicas"))}
	})
	p.each("images", func(i int, n *yaml.Node) operation {
		at := p.source.at(keyOf(n, "digest", "newTag", "newName"))
		return operation{at: at, writes: imaged(at, l.Images[i])}
	})
	p.each("replacements", func(_ int, n *yaml.Node) operation {
		return operation{writes: r.replaced(l, n)}
	})
}
