package manifest

import (
	"fmt"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/jsonfields"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
	"github.com/trainweld/trainweld/render/release"
)

// UnpatchableField is a field of the runtime that no patch of a release may set.
type UnpatchableField struct {
	// Path leads from the patch to the field. It omits the items of lists.
	Path []string
	// Message states the problem as the finding TW104 does, and Remedy names the API that sets the field.
	Message, Remedy string
}

// Unpatchable returns the fields of the runtime that no patch of the API's release may set. The fields of one struct stand together,
// and outer structs come first. A patch is an item of the field that Release.Overrides names.
func (a *API) Unpatchable() []UnpatchableField {
	root := reflect.TypeFor[trainer.RuntimePatch]()
	switch a.Release().Or().Overrides {
	case release.PodTemplateOverrides:
		root = reflect.TypeFor[legacy.PodTemplateOverride]()
	case release.PodSpecOverrides:
		root = reflect.TypeFor[legacy.PodSpecOverride]()
	}
	d := newDiagnosis(&source.Source{}, fieldpath.Object{}, 0)
	d.around = []frame{{node: &yaml.Node{Kind: yaml.MappingNode}}} // an item without a name
	var found []UnpatchableField
	d.unpatchableBelow(root, nil, func(f UnpatchableField) { found = append(found, f) })
	return found
}

// unpatchableBelow calls add for the fields of a type of the patch API and of the types below it.
func (d *diagnosis) unpatchableBelow(t reflect.Type, path []string, add func(UnpatchableField)) {
	d.path = fieldpath.Fields(path...)
	if mirror := mirrored(t); mirror != nil {
		for _, name := range d.structs.Names(mirror) {
			if _, patchable := d.structs.Field(t, name); !patchable {
				add(UnpatchableField{append(slices.Clone(path), name), unpatchableMessage(t, name), d.setter(name, mirror)})
			}
		}
	}
	for _, f := range d.structs.Of(t) {
		below := jsonfields.Concrete(f.Type)
		if below.Kind() == reflect.Slice {
			below = jsonfields.Concrete(below.Elem())
		}
		if below.Kind() == reflect.Struct && below.PkgPath() == t.PkgPath() {
			d.unpatchableBelow(below, append(slices.Clone(path), f.Name), add)
		}
	}
}

// unpatchableMessage states that no patch may set a field of a type of the patch API.
func unpatchableMessage(t reflect.Type, name string) string {
	if t.PkgPath() == reflect.TypeFor[legacy.TrainJob]().PkgPath() {
		return fmt.Sprintf("no override may set %s", name)
	}
	return fmt.Sprintf("no patch may set %s", name)
}
