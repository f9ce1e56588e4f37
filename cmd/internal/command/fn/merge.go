// This file merges managers' patches into the items of a list.

package fn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// The kind of a functionConfig with patches for objects of any kind, and the version of all kinds.
const (
	configGroup   = "trainweld.github.io"
	configMinor   = "v1alpha1"
	configVersion = configGroup + "/" + configMinor
	mergeKind     = "MergePatches"
)

// mergePatches is such a functionConfig.
type mergePatches struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitempty"`
	Patches         []managerPatch    `json:"patches"`
	// The definitions of kinds, the names of ConfigMaps in the list and paths with more.
	Definitions     []merge.Object `json:"definitions,omitempty"`
	ConfigMaps      []string       `json:"configMaps,omitempty"`
	DefinitionFiles []string       `json:"definitionFiles,omitempty"`

	option.Merge `json:",inline"`
	// The names of the last release, which are read with a warning.
	Empty          string   `json:"empty,omitempty"`
	Unions         string   `json:"unions,omitempty"`
	Order          string   `json:"order,omitempty"`
	Precedence     string   `json:"precedence,omitempty"`
	Defaults       string   `json:"defaults,omitempty"`
	Managers       []string `json:"managers,omitempty"`
	ProtectedError bool     `json:"protectedError,omitempty"`
	Strict         bool     `json:"strict,omitempty"`
}

// managerPatch is a manager's patch with its objects: the objects of Target, or the object that it
// names.
type managerPatch struct {
	Manager string          `json:"manager"`
	Target  *types.Selector `json:"target,omitempty"`
	Patch   any             `json:"patch"`
}

// mergeOptions are the options of a parsed mergePatches.
type mergeOptions struct {
	mergePatches
	onConflict render.OnConflict
	former     []misuse // fields that the next release does not read
	policies   option.Policies
	targets    []target
	texts      [][]byte // the patches
}

// isMerge reports whether a functionConfig is meant to be a mergePatches.
func isMerge(config *resourcelist.Item) bool {
	return config != nil && config.ID().Kind == mergeKind
}

// parseMergePatches returns the options, or all errors in them.
func parseMergePatches(config *resourcelist.Item) (o *mergeOptions, wrong []misuse) {
	reject := func(path, format string, args ...any) {
		wrong = append(wrong, misuse{path, fmt.Sprintf(format, args...)})
	}
	o = &mergeOptions{}
	data, err := config.YAML()
	if err != nil {
		return nil, []misuse{{".", err.Error()}}
	}
	kind := manifest.Kind{Group: configGroup, Version: configMinor, Kind: mergeKind,
		New: func() any { return &o.mergePatches }}
	documents, found := manifest.DecodeKinds(configFile, data, []manifest.Kind{kind})
	for _, f := range found {
		reject(f.Path.String(), "%s; %s", f.Message, f.Remedy.Text)
	}
	if len(wrong) == 0 && (len(documents) != 1 || documents[0].Object == nil) {
		reject(".apiVersion", "Unsupported value: %q: supported values: %s", config.ID().APIVersion,
			configVersion)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	if len(o.Patches) == 0 {
		reject(".patches", "Required value")
	}
	for i, p := range o.Patches {
		at := fmt.Sprintf(".patches[%d]", i)
		if p.Manager == "" {
			reject(at+".manager", "Required value")
		}
		o.Patches[i].Patch = nil // the text stands for it
		text, isText := p.Patch.(string)
		if fields, ok := p.Patch.(map[string]any); ok {
			encoded, _ := json.Marshal(fields) // decoded JSON, which has no error
			text = string(encoded)
		} else if !isText {
			reject(at+".patch", "Required value: an object, or a string with one")
			continue
		}
		selected, path, err := newTarget(p.Target, text)
		if err != nil {
			reject(at+path, "%v", err)
		}
		o.texts, o.targets = append(o.texts, []byte(text)), append(o.targets, selected)
	}
	o.former = o.takeFormer()
	var invalid []*option.MergeError
	o.policies, o.onConflict, invalid = o.Merge.Parse()
	switch o.Empty {
	case "":
	case "skip":
		o.policies.Options = append(o.policies.Options, merge.SkipEmpty())
	case "zero":
		o.policies.Options = append(o.policies.Options, merge.SkipZero())
	default:
		reject(".empty", "Unsupported value: %q: supported values: %q, %q", o.Empty, "skip", "zero")
	}
	for _, w := range invalid {
		reject("."+w.Field, "%v", w.Err)
	}
	if slices.Contains(o.DefinitionFiles, manifest.Stdin) ||
		slices.Contains(o.DefinitionFiles, "") {
		reject(".definitionFiles",
			"standard input is the ResourceList itself; name files or directories")
	}
	return o, wrong
}

// mergedKind is a kind of the items with the patches of its objects, by their indexes.
type mergedKind struct {
	*objectmerge.Kind
	patches map[int]*objectmerge.Patch // nil for a patch with errors
}

// merger merges the patches of one configuration.
type merger struct {
	*function
	*mergeOptions
	host        *host.Program
	definitions []objectmerge.Definition
	kinds       map[resourcelist.ID]*mergedKind // by apiVersion and kind
}

// itemOutcome is the result of the patches for one item.
type itemOutcome struct {
	item   *resourcelist.Item // nil if a finding is an error
	result resourcelist.Result
	found  finding.List
	wrong  *merge.OptionError
}

// runMerge answers one ResourceList with patches for its items.
func runMerge(p *host.Program, list *resourcelist.List) error {
	o, wrong := parseMergePatches(list.Config)
	if wrong != nil {
		return rejectOptions(p, list, wrong)
	}
	opts := &fnOptions{Render: option.Render{Global: &option.Global{}}}
	opts.Strict = o.Strict
	f := &function{list: list, former: o.former, opts: opts, in: workspace.New(opts.Flags),
		versions: map[fieldpath.Object]string{}}
	m := &merger{function: f, mergeOptions: o, host: p, kinds: map[resourcelist.ID]*mergedKind{}}
	m.in.ApplyPolicy(p.Files, configFile, ".")
	m.readDefinitions()
	items, results, unfit := m.run()
	if unfit != nil {
		return rejectOptions(
			p, list, []misuse{{"." + option.FieldOf(unfit.Option), unfit.Err.Error()}})
	}
	return f.answer(p, items, results, mergeHelp)
}

// The most pairs of an item and a nameless target, and of an item and a patch for it. If n patches
// are for all of n items, there are n*n pairs.
const (
	mostMatches = 4_000_000
	mostMerges  = 50_000
)

// run merges the patches into the items. It returns the items and a result for each changed one.
// The error is of an option that a kind does not have.
func (m *merger) run() ([]*resourcelist.Item, []resourcelist.Result, *merge.OptionError) {
	f, o := m.function, m.mergeOptions
	type selection struct {
		at int
		of *mergedKind
		by []int
	}
	var selected []selection
	merges, used, all := 0, make([]bool, len(o.targets)), newTargets(o.targets)
	tooMany := &merge.OptionError{
		Option: "Patches",
		Err:    errors.New("the targets select too many objects: name them, or pass fewer objects")}
	if len(all.others)*len(f.list.Items) > mostMatches {
		return nil, nil, tooMany
	}
	for i, item := range f.list.Items {
		by := all.of(item)
		if merges += len(by); merges > mostMerges {
			return nil, nil, tooMany
		}
		for _, n := range by {
			used[n] = true
		}
		if len(by) > 0 {
			id := item.ID()
			f.versions[fieldpath.Object{Kind: id.Kind, Namespace: id.Namespace,
				Name: id.Name}] = id.APIVersion
			selected = append(selected, selection{at: i, of: m.kindOf(i, by), by: by})
		}
	}
	for n, isUsed := range used {
		if !isUsed {
			f.findings = append(f.findings, m.named(configFile, finding.List{{
				Code: codes.NoMerge, Severity: finding.Error,
				Position: fieldpath.Position{File: patchFile(n)},
				Message:  "the target selects no item",
				Remedy:   finding.Remedy{Text: "correct the target"},
			}})...)
		}
	}
	items := slices.Clone(f.list.Items)
	var results []resourcelist.Result
	var wrong *merge.OptionError
	parallel.Ordered(len(selected), func(i int) itemOutcome {
		return m.merge(selected[i].at, selected[i].of, selected[i].by)
	}, func(i int, out itemOutcome) {
		f.findings = append(f.findings, m.named(itemFile(selected[i].at), out.found)...)
		if out.wrong != nil && wrong == nil {
			wrong = out.wrong
		}
		if out.item != nil {
			items[selected[i].at], results = out.item, append(results, out.result)
		}
	})
	return items, results, wrong
}

// readDefinitions reads the definitions of the configuration and of the list. Of several for one
// kind, the first one counts.
func (m *merger) readDefinitions() {
	add := func(file string, data []byte) {
		definitions, found := objectmerge.DecodeDefinitions(file, data)
		m.definitions, m.findings = append(m.definitions, definitions...),
			append(m.findings, found...)
	}
	for _, definition := range m.Definitions {
		data, _ := json.Marshal(definition) // decoded JSON, which has no error
		add(configFile, data)
	}
	exists := map[string]bool{} // the asked ConfigMaps, also by former names
	for _, name := range m.ConfigMaps {
		exists[name] = false
	}
	for i, item := range m.list.Items {
		id, isAsked := item.ID(), false
		if id.APIVersion != "v1" || id.Kind != "ConfigMap" {
			continue
		}
		for _, name := range append(strings.Split(item.Annotation(formerNames), ","), id.Name) {
			if _, ok := exists[name]; ok {
				exists[name], isAsked = true, true
			}
		}
		if data, _ := item.Data(); isAsked {
			for _, key := range slices.Sorted(maps.Keys(data)) {
				add(itemFile(i), []byte(data[key]))
			}
		}
	}
	for _, name := range m.ConfigMaps {
		if !exists[name] {
			exists[name] = true
			m.findings = append(m.findings, finding.Finding{
				Code: codes.NoSchema, Severity: finding.Error,
				Position: fieldpath.Position{File: configFile},
				Message:  "Not found: ConfigMap " + printable.Name(name),
				Remedy: finding.Remedy{
					Text: "add it to the items"},
			})
		}
	}
	for i, item := range m.list.Items {
		if id := item.ID(); id.Kind == "CustomResourceDefinition" {
			if data, err := item.YAML(); err == nil { // else the item cannot be written, see merge
				add(itemFile(i), data)
			}
		}
	}
	definitions, found := objectmerge.ReadDefinitions(m.host, m.in, m.DefinitionFiles)
	m.definitions, m.findings = append(m.definitions, definitions...), append(m.findings, found...)
}

// kindOf returns the kind of an item with its patches, or nil if it has no definition.
func (m *merger) kindOf(i int, by []int) *mergedKind {
	id := m.list.Items[i].ID()
	id.Name, id.Namespace = "", ""
	k, ok := m.kinds[id]
	if !ok {
		k = m.newKind(i, id)
		m.kinds[id] = k
	}
	for _, n := range by {
		if k == nil {
			break
		}
		if _, ok := k.patches[n]; ok {
			continue
		}
		patch, found := k.Patch(m.Patches[n].Manager, patchFile(n), m.texts[n])
		if found.Err() == nil && !k.Takes(patch) {
			found = finding.List{{
				Code: codes.NoMerge, Severity: finding.Error,
				Position: fieldpath.Position{File: patchFile(n)},
				Message:  "a JSON patch cannot merge into a " + printable.Name(id.Kind),
				Remedy: finding.Remedy{
					Text: "add a definition of the kind"},
			}}
		}
		patch = patch.Unnamed()
		if k.patches[n] = &patch; found.Err() != nil {
			k.patches[n] = nil
		}
		m.findings = append(m.findings, m.named(configFile, found)...)
	}
	return k
}

// patchFile identifies a patch until its findings are named.
func patchFile(n int) string { return fmt.Sprintf("%s %d", configFile, n) }

// named returns findings with the patch in their messages, unless they name managers, and with
// their file.
func (m *merger) named(file string, found finding.List) finding.List {
	rename := func(at *fieldpath.Position) (n int, ok bool) {
		text, ok := strings.CutPrefix(at.File, configFile+" ")
		if n, _ = strconv.Atoi(text); ok {
			at.File = file
		}
		return n, ok
	}
	for i := range found {
		f := &found[i]
		if n, ok := rename(&f.Position); ok && len(f.Claims) == 0 && f.Code != codes.Forced {
			f.Message = fmt.Sprintf("patches[%d] of %s: %s", n,
				printable.Name(m.Patches[n].Manager), f.Message)
		}
		for c := range f.Claims {
			rename(&f.Claims[c].Position)
		}
	}
	return found
}

func (m *merger) newKind(i int, id resourcelist.ID) *mergedKind {
	group, version := resid.ParseGroupVersion(id.APIVersion)
	var t objectmerge.Defined
	var found finding.List
	if d := slices.IndexFunc(m.definitions, func(d objectmerge.Definition) bool {
		return d.Group == group && d.Kind == id.Kind
	}); d >= 0 {
		t, found = m.definitions[d].Version(version)
	} else {
		t, found = objectmerge.Embedded(m.host, m.in,
			&manifest.Document{File: configFile, APIVersion: id.APIVersion,
				ID: fieldpath.Object{Kind: id.Kind}})
	}
	m.findings = append(m.findings, found...)
	kind, err := objectmerge.NewKind(id.APIVersion, id.Kind, t)
	if kind != nil && err == nil && found.Err() == nil {
		return &mergedKind{kind, map[int]*objectmerge.Patch{}}
	}
	if found.Err() == nil {
		of := m.list.Items[i].ID()
		m.findings = append(m.findings, finding.Finding{
			Code: codes.NoSchema, Severity: finding.Error,
			Position: fieldpath.Position{File: itemFile(i)},
			Object:   fieldpath.Object{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name},
			Message: fmt.Sprintf("no definition of %s %s", printable.Name(id.APIVersion),
				printable.Name(id.Kind)),
			Remedy: finding.Remedy{
				Text: "add its CustomResourceDefinition to the items"},
		})
	}
	return nil
}

// merge merges patches into an item.
func (m *merger) merge(i int, kind *mergedKind, by []int) (out itemOutcome) {
	if kind == nil {
		return out
	}
	item := m.list.Items[i]
	data, err := item.YAML()
	if err != nil {
		return itemOutcome{found: finding.List{unwritable(i, err)}}
	}
	object, found := kind.Object(itemFile(i), data)
	if out.found = found; object == nil {
		return out
	}
	var managers []string
	for _, n := range by {
		patch, manager := kind.patches[n], m.Patches[n].Manager
		switch {
		case patch == nil:
			return out
		case object.HasPatch(manager):
			out.found = append(out.found, finding.Finding{
				Code: codes.DuplicateManager, Severity: finding.Error, Object: object.ID,
				Position: fieldpath.Position{File: patchFile(n)},
				Message:  "the manager has another patch for this object",
				Remedy:   finding.Remedy{Text: "combine the two patches"},
			})
		default:
			out.found = append(out.found, object.Add(*patch)...)
			managers = append(managers, manager)
		}
	}
	if out.wrong = object.Wrong(m.policies); out.wrong != nil {
		return out
	}
	merged, more := object.Apply(out.found)
	if out.found = append(out.found, more...); merged != nil {
		out.found = append(out.found, object.Conflicts(merged, m.onConflict)...)
		out.found = append(out.found, object.Rejected(merged, out.found)...)
		out.found = append(out.found, object.LateVariables(merged)...)
		out.found = append(out.found, object.Admit(context.Background(), merged, out.found)...)
	}
	if merged == nil || out.found.Err() != nil {
		return out
	}
	base, err := object.Base()
	if err == nil {
		out.item, err = item.Change(merged.Type, base, merged.Fields)
	}
	if err != nil {
		out.found = append(out.found, unwritable(i, err))
		return out
	}
	if names := out.item.KeepInstructions(item); len(names) > 0 {
		out.found = append(out.found, finding.Finding{
			Code: codes.NoMerge, Severity: finding.Warning, Object: object.ID,
			Position: fieldpath.Position{File: itemFile(i)},
			Message: "annotations of orchestrators are not merged: " +
				printable.Name(strings.Join(names, ", ")),
			Remedy: finding.Remedy{Do: finding.Remove, Text: "remove them from the patches"},
		})
	}
	out.result = m.result(
		finding.Finding{Severity: finding.Note, Object: object.ID,
			Position: fieldpath.Position{File: itemFile(i)},
			Message:  "merged the patches of " + strings.Join(managers, ", ")}, mergeHelp)
	out.result.Tags = map[string]string{"manager": strings.Join(managers, ",")}
	for layer, fields := range object.FieldsV1(merged) {
		if _, ok := layer.Manager(); ok {
			out.result.Tags[string(layer)] = string(fields)
		}
	}
	return out
}
