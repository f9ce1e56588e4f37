package merge_test

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// thing has a field for each way in which values of Go types merge.
type thing struct {
	Name      string                       `json:"name,omitempty"`
	Size      int64                        `json:"size,omitempty"`
	Count     *int64                       `json:"count,omitempty"`
	On        *bool                        `json:"on,omitempty"`
	Since     *metav1.Time                 `json:"since,omitempty"`
	Inner     *thing                       `json:"inner,omitempty"`
	Fixed     *fixed                       `json:"fixed,omitempty"`
	Labels    map[string]string            `json:"labels,omitempty"`
	Limits    map[word]resource.Quantity   `json:"limits,omitempty"`
	Counts    map[string]int64             `json:"counts,omitempty"`
	Times     map[string]metav1.Time       `json:"times,omitempty"`
	Lists     map[string][]string          `json:"lists,omitempty"`
	Maps      map[string]map[string]string `json:"maps,omitempty"`
	Wholes    map[string]*whole            `json:"wholes,omitempty"`
	Parts     []thingPart                  `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Ports     []thingPort                  `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Pointers  []*thingPart                 `json:"pointers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Slots     []slot                       `json:"slots,omitempty" patchStrategy:"merge" patchMergeKey:"slot"`
	Words     []*string                    `json:"words,omitempty" patchStrategy:"merge"`
	Amounts   []resource.Quantity          `json:"amounts,omitempty" patchStrategy:"merge"`
	Tags      []string                     `json:"tags,omitempty" patchStrategy:"merge"`
	Numbers   []int64                      `json:"numbers,omitempty" patchStrategy:"merge"`
	Args      []string                     `json:"args,omitempty"`
	Atoms     []whole                      `json:"atoms,omitempty"`
	Tables    []table                      `json:"tables,omitempty"`
	Labelings []map[string]string          `json:"labelings,omitempty"`
	Raws      []runtime.RawExtension       `json:"raws,omitempty"`
	Shapes    []shape                      `json:"shapes,omitempty"`
	Raw       *runtime.RawExtension        `json:"raw,omitempty"`
}

// fixed has fields that are always encoded.
type fixed struct {
	Name     string               `json:"name"`
	At       metav1.Time          `json:"at"`
	Part     thingPart            `json:"part"`
	Value    runtime.RawExtension `json:"value"`
	Selector map[string]string    `json:"selector"`
	Args     []string             `json:"args"`
	Parts    []thingPart          `json:"parts" patchStrategy:"merge" patchMergeKey:"name"`
}

// shape holds JSON of any shape.
type shape struct{ Text string }

func (s shape) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(s.Text, "null")), nil }

func (s *shape) UnmarshalJSON(text []byte) error {
	s.Text = string(text)
	return nil
}

type table struct {
	Rows map[string]string `json:"rows,omitempty"`
}

// whole is part of values that a patch replaces whole.
type whole struct {
	Name   string                       `json:"name,omitempty"`
	Labels map[string]string            `json:"labels,omitempty"`
	Ranks  map[int]string               `json:"ranks,omitempty"`
	Times  map[string]metav1.Time       `json:"times,omitempty"`
	Maps   map[string]map[string]string `json:"maps,omitempty"`
	Wholes map[string]*whole            `json:"wholes,omitempty"`
	Whole  *whole                       `json:"whole,omitempty"`
	Raw    *runtime.RawExtension        `json:"raw,omitempty"`
	Value  runtime.RawExtension         `json:"value,omitzero"`
}

type thingPart struct {
	Name   string            `json:"name"`
	Image  string            `json:"image,omitempty"`
	Args   []string          `json:"args,omitempty"`
	Ports  []thingPort       `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Labels map[string]string `json:"labels,omitempty"`
	Inner  *thingPart        `json:"inner,omitempty"`
}

type thingPort struct {
	Port *int32 `json:"port,omitempty"`
	Name string `json:"name,omitempty"`
}

type slot struct {
	Slot *int32 `json:"slot"`
	Name string `json:"name,omitempty"`
}

type word string

// document has a field of every kind.
type document struct {
	Name   string  `json:"name,omitempty"`
	Text   *string `json:"text,omitempty"`
	On     bool    `json:"on,omitempty"`
	Switch *bool   `json:"switch,omitempty"`
	Count  int32   `json:"count,omitempty"`
	Limit  *int32  `json:"limit,omitempty"`
	Data   []byte  `json:"data,omitempty"`
	Mode   mode    `json:"mode,omitempty"`
	Other  *mode   `json:"other,omitempty"`
	Ref    *part   `json:"ref,omitempty"`
	Always *always `json:"always,omitempty"`
	Fixing *fixing `json:"fixing,omitempty"`
	Zero   part    `json:"zero,omitzero"`

	Whole  *part             `json:"whole,omitempty" patchStrategy:"replace"`
	Wholes map[string]string `json:"wholes,omitempty" patchStrategy:"replace"`
	Sole   part              `json:"sole,omitzero" patchStrategy:"replace"`

	Labels  map[string]string            `json:"labels,omitempty"`
	Modes   map[mode]mode                `json:"modes,omitempty"`
	Parts   map[string]part              `json:"parts,omitempty"`
	Amounts map[string]resource.Quantity `json:"amounts,omitempty"`
	Pairs   *map[string]string           `json:"pairs,omitempty"`
	Frees   map[string]any               `json:"frees,omitempty"`

	Items []entry  `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Refs  []*entry `json:"refs,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Ports []port   `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Loose []part   `json:"loose,omitempty" patchStrategy:"merge"`

	Tags  []string  `json:"tags,omitempty" patchStrategy:"merge"`
	Args  []string  `json:"args,omitempty"`
	Words *[]string `json:"words,omitempty"`
	Rows  []part    `json:"rows,omitempty"`

	Size   *resource.Quantity    `json:"size,omitempty"`
	Number *intstr.IntOrString   `json:"number,omitempty"`
	Any    *runtime.RawExtension `json:"any,omitempty"`
}

// always encodes each of its fields, even an empty one.
type always struct {
	Name   string               `json:"name"`
	Part   part                 `json:"part"`
	Pairs  *map[string]string   `json:"pairs"`
	Notes  map[string]string    `json:"notes"`
	Items  []entry              `json:"items" patchStrategy:"merge" patchMergeKey:"name"`
	Tags   []string             `json:"tags" patchStrategy:"merge"`
	Loose  []part               `json:"loose" patchStrategy:"merge"`
	Args   []string             `json:"args"`
	Amount resource.Quantity    `json:"amount"`
	Raw    runtime.RawExtension `json:"raw"`
}

// fixing encodes a struct that is replaced whole.
type fixing struct {
	Name  string `json:"name,omitempty"`
	Fixed part   `json:"fixed" patchStrategy:"replace"`
}

type mode string

type part struct {
	X     string            `json:"x,omitempty"`
	Y     *int32            `json:"y,omitempty"`
	Inner *part             `json:"inner,omitempty"`
	Map   map[string]string `json:"map,omitempty"`
	List  []entry           `json:"list,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

type entry struct {
	Name  string            `json:"name"`
	Value string            `json:"value,omitempty"`
	Y     *int32            `json:"y,omitempty"`
	Ref   *part             `json:"ref,omitempty"`
	Map   map[string]string `json:"map,omitempty"`
	Tags  []string          `json:"tags,omitempty" patchStrategy:"merge"`
	Subs  []entry           `json:"subs,omitempty" patchStrategy:"merge" patchMergeKey:"name"`

	Loose []part                `json:"loose,omitempty" patchStrategy:"merge"`
	Any   *runtime.RawExtension `json:"any,omitempty"`
	Frees map[string]any        `json:"frees,omitempty"`
	Sole  *always               `json:"sole,omitempty"`
}

type port struct {
	Port  int32  `json:"port"`
	Note  string `json:"note"`
	Value string `json:"value,omitempty"`
}

// kinds has a field for each way in which the JSON of a patch becomes a Go value.
type kinds struct {
	Text      string                          `json:"text,omitempty"`
	Flag      *bool                           `json:"flag,omitempty"`
	Small     int8                            `json:"small,omitempty"`
	Count     *uint16                         `json:"count,omitempty"`
	Ratio     float64                         `json:"ratio,omitempty"`
	Data      []byte                          `json:"data,omitempty"`
	Quantity  *resource.Quantity              `json:"quantity,omitempty"`
	Time      metav1.Time                     `json:"time,omitzero"`
	Raw       runtime.RawExtension            `json:"raw,omitzero"`
	Struct    kindsPart                       `json:"struct,omitzero"`
	Pointer   *kindsPart                      `json:"pointer,omitempty"`
	Replaced  kindsPart                       `json:"replaced,omitzero" patchStrategy:"replace"`
	Whole     []byte                          `json:"whole,omitempty" patchStrategy:"replace"`
	Parts     []kindsPart                     `json:"parts,omitempty"`
	Pointers  []*kindsPart                    `json:"pointers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Set       []string                        `json:"set,omitempty" patchStrategy:"merge"`
	Numbers   []int64                         `json:"numbers,omitempty"`
	Flags     []bool                          `json:"flags,omitempty"`
	Entries   map[string]kindsPart            `json:"entries,omitempty"`
	Lists     map[string][]string             `json:"lists,omitempty"`
	Raws      map[string]runtime.RawExtension `json:"raws,omitempty"`
	Times     map[string]metav1.Time          `json:"times,omitempty"`
	Positions map[int]string                  `json:"positions,omitempty"`
	Labels    map[string]string               `json:"labels,omitempty"`
}

// edges has the fields that few types have. Among them are a value with its own JSON that a patch
// replaces, and a value of any type. A merge key may be a number or a string. The encoding may omit
// a merge key or a list.
type edges struct {
	Raw     runtime.RawExtension  `json:"raw,omitzero" patchStrategy:"replace"`
	Pointer *runtime.RawExtension `json:"pointer,omitempty" patchStrategy:"replace"`
	Merged  *runtime.RawExtension `json:"merged,omitempty"`
	Ranks   map[int]string        `json:"ranks,omitempty" patchStrategy:"replace"`
	Amount  *resource.Quantity    `json:"amount,omitempty" patchStrategy:"replace"`
	Target  *intstr.IntOrString   `json:"target,omitempty" patchStrategy:"replace"`
	Any     any                   `json:"any,omitempty"`
	Anys    []any                 `json:"anys,omitempty"`
	Frees   map[string]any        `json:"frees,omitempty"`
	Data    []byte                `json:"data,omitempty"`
	Rows    []edgeRow             `json:"rows,omitempty"`
	Tables  []edgeTable           `json:"tables,omitempty"`
	Ports   []edgePort            `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Zeros   []edgePort            `json:"zeros,omitzero" patchStrategy:"merge" patchMergeKey:"port"`
	Names   []edgeName            `json:"names,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Numbers []edgeNumber          `json:"numbers,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Tags    []string              `json:"tags,omitempty" patchStrategy:"merge"`
	Ends    []string              `json:"ends,omitzero" patchStrategy:"merge"`
	Args    []string              `json:"args,omitzero"`
	Labels  map[string]string     `json:"labels,omitzero"`
	Always  []string              `json:"always" patchStrategy:"merge"`
	Inner   *edges                `json:"inner,omitempty"`
}

type edgeRow struct {
	Name   string                `json:"name,omitempty"`
	Raw    *runtime.RawExtension `json:"raw,omitempty"`
	Labels map[string]string     `json:"labels,omitempty"`
	Any    any                   `json:"any,omitempty"`
	Rows   []edgeRow             `json:"rows,omitempty"`
}

type edgeTable struct {
	Cells map[string]*edgeRow `json:"cells,omitempty"`
}

type edgePort struct {
	Port intstr.IntOrString `json:"port"`
	Note string             `json:"note,omitempty"`
	Rows []edgeRow          `json:"rows,omitempty"`
}

type edgeName struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

type edgeNumber struct {
	Port int32  `json:"port,omitempty"`
	Note string `json:"note,omitempty"`
}

type kindsPart struct {
	Name   string            `json:"name,omitempty"`
	Count  int64             `json:"count,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Part   *kindsPart        `json:"part,omitempty"`
}

// testCaseSchema has a field of every kind of a definition.
const testCaseSchema = `{"type": "object", "properties": {
	"apiVersion": {"type": "string"}, "kind": {"type": "string"},
	"name": {"type": "string"}, "count": {"type": "integer"}, "on": {"type": "boolean"}, "port": {"x-kubernetes-int-or-string": true},
	"labels": {"type": "object", "additionalProperties": {"type": "string"}},
	"parts": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}}}},
	"args": {"type": "array", "items": {"type": "string"}},
	"rows": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "array", "items": {"type": "integer"}},
		"z": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}}}},
	"tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
	"choice": {"type": "object", "properties": {"app": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}, "x-kubernetes-map-type": "atomic"},
	"any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "free": {"x-kubernetes-preserve-unknown-fields": true},
	"groups": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}},
	"ref": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}, "ref": {"type": "object", "properties": {"x": {"type": "string"}}}}},
	"items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "value": {"type": "string"},
			"tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}}}},
	"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": {
		"type": "object", "required": ["port"],
		"properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}}}
}}`

// nullsSchema has fields that may be null, and others.
const nullsSchema = `{"type": "object", "properties": {
	"text": {"type": "string"}, "note": {"type": "string", "nullable": true}, "mode": {"type": "string", "default": "fast"},
	"port": {"x-kubernetes-int-or-string": true}, "count": {"type": "integer"}, "inner": {"type": "object", "properties": {"on": {"type": "boolean"}}},
	"any": {"x-kubernetes-preserve-unknown-fields": true}, "labels": {"type": "object", "additionalProperties": {"type": "string"}},
	"args": {"type": "array", "items": {"type": "string"}}, "holes": {"type": "array", "items": {"type": "string", "nullable": true}},
	"whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": {"type": "string"}}},
	"items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
		"items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}},
	"status": {"type": "object", "properties": {"ready": {"type": "integer"}}}}}`

// specSchema has lists and maps of a spec.
const specSchema = `{"type": "object", "properties": {"spec": {"type": "object", "properties": {
	"replicas": {"type": "integer"},
	"name": {"type": "string"},
	"labels": {"type": "object", "additionalProperties": {"type": "string"}},
	"args": {"type": "array", "items": {"type": "string"}},
	"tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
	"selector": {"type": "object", "properties": {"app": {"type": "string"}, "tier": {"type": "string"}}, "x-kubernetes-map-type": "atomic"},
	"values": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	"resources": {"type": "object", "properties": {"cpu": {"type": "integer"}, "memory": {"type": "integer"}}},
	"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": {
		"type": "object", "required": ["port"],
		"properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}}}
}}}}`

// shapesSchema has a field of each kind, so that a case needs few fields.
const shapesSchema = `{"type": "object", "properties": {
	"on": {"type": "boolean"},
	"count": {"type": "integer"},
	"time": {"type": "string", "format": "date-time"},
	"labels": {"type": "object", "additionalProperties": {"type": "string"}},
	"counts": {"type": "object", "additionalProperties": {"type": "number"}},
	"inner": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
	"args": {"type": "array", "items": {"type": "string"}},
	"tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
	"numbers": {"type": "array", "items": {"type": "number"}, "x-kubernetes-list-type": "set"},
	"selector": {"type": "object", "properties": {"app": {"type": "string"}}, "x-kubernetes-map-type": "atomic"},
	"values": {"x-kubernetes-preserve-unknown-fields": true},
	"free": {"x-kubernetes-preserve-unknown-fields": true, "properties": {"in": {"type": "object", "properties": {"a": {"type": "string"}}}}},
	"boxes": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}},
	"hosts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "zone"], "items": {
		"type": "object", "required": ["name", "zone"], "properties": {"name": {"type": "string"}, "zone": {"type": "string"}}}},
	"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"], "items": {
		"type": "object", "required": ["port"], "properties": {"port": {"x-kubernetes-int-or-string": true}}}}
}}`
