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
	has, done := reflect.ValueOf(l.Kustomization), reflect.ValueOf(*part)
	for i, f := range slices.Collect(has.Type().Fields()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key != "" && !slices.Contains([]string{"metadata", "sortOptions", "openapi"}, key) &&
			!reflect.DeepEqual(has.Field(i).Interface(), done.Field(i).Interface()) {
			keys = append(keys, key)
		}
	}
	return keys
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

// one adds an operation if the kustomization has it.
func (p *plan) one(has bool, o operation) {
	if has {
		p.all = append(p.all, &o)
	}
}

// each adds an operation for each item of a list.
func (p *plan) each(name string, n int, make func(i int, n *yaml.Node) operation) {
	keys := []string{name}
	if name == "images" {
		keys = append(keys, "imageTags") // kustomize appends those of the old key
	}
	nodes := p.listed(keys...)
	for i := range n {
		var node *yaml.Node
		if i < len(nodes) {
			node = nodes[i]
		}
		o := make(i, node)
		o.name = fmt.Sprintf("%s[%d]", name, i)
		if o.at.File == "" {
			o.at = p.source.at(node)
		}
		p.all = append(p.all, &o)
	}
}

// configured adds an operation for each document of the configurations of generators or
// transformers, which a kustomization holds or names.
func (p *plan) configured(read func(string) ([]byte, error), name string, all []string,
	set func(k *types.Kustomization, some []string)) {
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
				include: func(k *types.Kustomization) { set(k, some) }})
		}
	}
}

// operations returns the operations of a kustomization in the order of kustomize.
func (r *run) operations(l *layer) []*operation {
	p := &plan{layer: l}
	p.one(len(l.Resources) > 0, operation{
		name: "resources", at: p.key("resources", "bases"), adds: l.Resources,
		include: func(k *types.Kustomization) { k.Resources = l.Resources }})
	p.one(len(l.Configurations)+len(l.Crds) > 0, operation{
		name: "configurations", at: p.key("configurations", "crds"),
		include: func(k *types.Kustomization) {
			k.Configurations, k.Crds = l.Configurations, l.Crds
		}})
	p.each("configMapGenerator", len(l.ConfigMapGenerator), func(i int, n *yaml.Node) operation {
		return operation{writes: r.generated(l, n), makes: l.ConfigMapGenerator[i].Name,
			include: func(k *types.Kustomization) {
				k.ConfigMapGenerator = l.ConfigMapGenerator[:i+1]
			}}
	})
	p.each("secretGenerator", len(l.SecretGenerator), func(i int, n *yaml.Node) operation {
		return operation{writes: r.generated(l, n), makes: l.SecretGenerator[i].Name,
			include: func(k *types.Kustomization) { k.SecretGenerator = l.SecretGenerator[:i+1] }}
	})
	p.configured(r.Read, "generators", l.Generators,
		func(k *types.Kustomization, some []string) { k.Generators = some })
	p.each("components", len(l.Components), func(i int, _ *yaml.Node) operation {
		return operation{component: filepath.Join(l.dir, l.Components[i]),
			include: func(k *types.Kustomization) { k.Components = l.Components[:i+1] }}
	})
	r.transformers(p)
	p.configured(r.Read, "transformers", l.Transformers,
		func(k *types.Kustomization, some []string) { k.Transformers = some })
	p.configured(r.Read, "validators", l.Validators,
		func(k *types.Kustomization, some []string) { k.Validators = some })
	//lint:ignore SA1019 repositories still have the field
	vars := l.Vars
	p.each("vars", len(vars), func(i int, n *yaml.Node) operation {
		//lint:ignore SA1019 repositories still have the field
		return operation{include: func(k *types.Kustomization) { k.Vars = vars[:i+1] }}
	})
	return p.all
}

// transformers adds the operations on objects that are there.
func (r *run) transformers(p *plan) {
	l := p.layer
	//lint:ignore SA1019 repositories still have the field
	merges, changes := l.PatchesStrategicMerge, l.PatchesJson6902
	p.each("patchesStrategicMerge", len(merges), func(i int, n *yaml.Node) operation {
		patch := types.Patch{Path: string(merges[i])}
		if _, err := r.Read(filepath.Join(l.dir, patch.Path)); err != nil {
			patch = types.Patch{Patch: string(merges[i])}
		}
		return operation{writes: r.patched(l, patch, n),
			//lint:ignore SA1019 repositories still have the field
			include: func(k *types.Kustomization) { k.PatchesStrategicMerge = merges[:i+1] }}
	})
	p.each("patches", len(l.Patches), func(i int, n *yaml.Node) operation {
		return operation{writes: r.patched(l, l.Patches[i], n),
			include: func(k *types.Kustomization) { k.Patches = l.Patches[:i+1] }}
	})
	p.one(l.Namespace != "", operation{name: "namespace", at: p.key("namespace"),
		writes: func(_ *object, after any) map[string]write {
			field := "namespace"
			if fields, _ := after.(map[string]any); fields["kind"] == "Namespace" {
				field = "name" // which kustomize sets instead
			}
			return map[string]write{
				pathOf("metadata", field): {at: p.key("namespace"), sure: true}}
		},
		include: func(k *types.Kustomization) { k.Namespace = l.Namespace }})
	p.one(l.NamePrefix != "", operation{name: "namePrefix", at: p.key("namePrefix"),
		include: func(k *types.Kustomization) { k.NamePrefix = l.NamePrefix }})
	p.one(l.NameSuffix != "", operation{name: "nameSuffix", at: p.key("nameSuffix"),
		include: func(k *types.Kustomization) { k.NameSuffix = l.NameSuffix }})
	p.each("labels", len(l.Labels), func(i int, n *yaml.Node) operation {
		reach := []string{}
		switch {
		case l.Labels[i].IncludeSelectors:
			reach = []string{"labels", "matchLabels", "selector"}
		case l.Labels[i].IncludeTemplates:
			reach = []string{"labels"}
		}
		_, named := Entry(n, "pairs")
		return operation{writes: keyed(l.source, named, "labels", reach),
			include: func(k *types.Kustomization) { k.Labels = l.Labels[:i+1] }}
	})
	//lint:ignore SA1019 repositories still have the field
	common := l.CommonLabels
	p.one(len(common) > 0, operation{name: "commonLabels", at: p.key("commonLabels"),
		writes: keyed(l.source, within(l.root, "commonLabels"), "labels",
			[]string{"labels", "matchLabels", "selector"}),
		//lint:ignore SA1019 repositories still have the field
		include: func(k *types.Kustomization) { k.CommonLabels = common }})
	p.one(len(l.CommonAnnotations) > 0, operation{name: "commonAnnotations",
		at: p.key("commonAnnotations"),
		writes: keyed(l.source, within(l.root, "commonAnnotations"), "annotations",
			[]string{"annotations"}),
		include: func(k *types.Kustomization) { k.CommonAnnotations = l.CommonAnnotations }})
	p.each("patchesJson6902", len(changes), func(i int, n *yaml.Node) operation {
		return operation{writes: r.patched(l, changes[i], n),
			//lint:ignore SA1019 repositories still have the field
			include: func(k *types.Kustomization) { k.PatchesJson6902 = changes[:i+1] }}
	})
	p.each("replicas", len(l.Replicas), func(i int, n *yaml.Node) operation {
		at := p.source.at(keyOf(n, "count"))
		return operation{at: at, writes: named(l.Replicas[i].Name, sets(at, "spec", "replicas")),
			include: func(k *types.Kustomization) { k.Replicas = l.Replicas[:i+1] }}
	})
	p.each("images", len(l.Images), func(i int, n *yaml.Node) operation {
		at := p.source.at(keyOf(n, "digest", "newTag", "newName"))
		return operation{at: at, writes: imaged(at, l.Images[i]),
			include: func(k *types.Kustomization) { k.Images = l.Images[:i+1] }}
	})
	p.each("replacements", len(l.Replacements), func(i int, n *yaml.Node) operation {
		return operation{writes: r.replaced(l, n),
			include: func(k *types.Kustomization) { k.Replacements = l.Replacements[:i+1] }}
	})
}
