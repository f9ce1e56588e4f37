package build

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/nearest"
)

// kustomizations holds the inspected kustomization files of a tree. Many builds read the same base.
type kustomizations struct {
	tree  host.Tree
	files parallel.Once[string, inspected]
}

type inspected struct {
	*kustomization
	err error
}

// kustomization is an inspected kustomization file.
type kustomization struct {
	file string // without links
	data []byte
	root *yaml.Node // nil if the file is not YAML
	types.Kustomization
	dirs       []string // the directories that it names, without links
	rejections []rejection
}

// rejection is a reason for which a kustomization is not built.
type rejection struct {
	line, column  int
	message, help string
	fails         bool // kustomize fails as well: the build is not forbidden
}

// The limits of a kustomization file. A build of a larger one would take too long.
const (
	mostKustomization = 1 << 20
	mostExpanded      = 4 << 20
	mostRejections    = 100
)

// isDeep reports whether a directory lies too deep to be built.
func isDeep(dir string) bool { return strings.Count(dir, string(filepath.Separator)) > host.MostNested }

func newKustomizations(tree host.Tree) *kustomizations {
	return &kustomizations{tree: tree}
}

func isKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}

// in returns the kustomization file of a directory, or nil without one.
func (ks *kustomizations) in(dir string) *kustomization {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if k, err := ks.read(filepath.Join(dir, name)); err == nil {
			return k
		}
	}
	return nil
}

// read returns an inspected kustomization file.
func (ks *kustomizations) read(file string) (*kustomization, error) {
	k := ks.files.Of(file, func() inspected {
		k, err := ks.inspect(file)
		return inspected{k, err}
	})
	return k.kustomization, k.err
}

func (ks *kustomizations) inspect(file string) (*kustomization, error) {
	k := &kustomization{file: file}
	info, err := fs.Stat(ks.tree, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err == nil && info.IsDir():
		return nil, fs.ErrNotExist
	}
	var data []byte
	if err == nil && info.Size() <= mostKustomization { // a revision does not know the size
		data, err = ownfile.ReadInput(ks.tree, file)
	}
	if err == nil && max(info.Size(), int64(len(data))) > mostKustomization {
		err = fmt.Errorf("must be at most %d MiB", mostKustomization>>20)
	}
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		k.rejections = []rejection{{message: "cannot be read: " + err.Error(), help: "use a regular file of the repository", fails: true}}
		return k, nil
	}
	k.data = data
	var document yaml.Node
	if yaml.Unmarshal(data, &document) == nil && len(document.Content) > 0 {
		k.root = document.Content[0]
	}
	if expands(k.root) {
		k.fail("", errExpands.Error(), "replace YAML aliases by their values")
		return k, nil
	}
	if err := k.Unmarshal(data); err != nil {
		k.invalid(err)
		return k, nil
	}
	seen := map[string]bool{}
	//lint:ignore SA1019 repositories still have the field
	for _, path := range slices.Concat(k.Resources, k.Bases, k.Components) {
		if len(k.rejections) == mostRejections {
			break
		}
		if !seen[path] {
			ks.base(k, path)
		}
		seen[path] = true
	}
	for _, entry := range slices.Concat(k.Generators, k.Transformers, k.Validators) {
		if text := strings.TrimSpace(entry); !strings.Contains(text, "\n") && !strings.HasPrefix(text, "{") {
			ks.base(k, entry)
		}
	}
	for _, file := range filesOf(&k.Kustomization) {
		k.local(file)
	}
	for _, g := range k.ConfigMapGenerator {
		k.literals(g.LiteralSources)
	}
	for _, g := range k.SecretGenerator {
		k.literals(g.LiteralSources)
	}
	if len(k.HelmCharts)+len(k.HelmChartInflationGenerator) > 0 {
		k.reject("helmCharts", "kustomize would run helm to render the chart", "render the chart: helm template . | trainweld check -")
	}
	return k, nil
}

// patchesOf returns the patches of a kustomization in the order of their application. It includes the deprecated fields. A patch of
// patchesStrategicMerge may be a file or the text itself.
func patchesOf(k *types.Kustomization) []types.Patch {
	var patches []types.Patch
	//lint:ignore SA1019 repositories still have the field
	for _, p := range k.PatchesStrategicMerge {
		patches = append(patches, types.Patch{Path: string(p), Patch: string(p)})
	}
	//lint:ignore SA1019 repositories still have the field
	return slices.Concat(patches, k.Patches, k.PatchesJson6902)
}

// filesOf returns the files that a kustomization names, apart from bases.
func filesOf(k *types.Kustomization) []string {
	named := slices.Concat(k.Crds, k.Configurations, []string{k.OpenAPI["path"]}, patchFiles(k))
	for _, r := range k.Replacements {
		named = append(named, r.Path)
	}
	sources := func(s types.KvPairSources) {
		for _, file := range slices.Concat(s.FileSources, s.EnvSources, []string{s.EnvSource}) {
			named = append(named, withoutKey(file))
		}
	}
	for _, g := range k.ConfigMapGenerator {
		sources(g.KvPairSources)
	}
	for _, g := range k.SecretGenerator {
		sources(g.KvPairSources)
	}
	return named
}

// withoutKey returns the file of KEY=FILE.
func withoutKey(file string) string {
	if _, path, keyed := strings.Cut(file, "="); keyed && !isURL(file) {
		return path
	}
	return file
}

// literals rejects literals that kustomize would quote in its message.
func (k *kustomization) literals(sources []string) {
	for _, literal := range sources {
		if !strings.Contains(literal, "=") {
			k.fail(literal, "a literal has no =", "use KEY=VALUE")
		}
	}
}

// base inspects a path to a file or a directory.
func (ks *kustomizations) base(k *kustomization, named string) {
	path := filepath.Join(filepath.Dir(k.file), named)
	info, err := fs.Stat(ks.tree, path)
	switch {
	case isURL(named) || isRepository(named) && (err != nil || info.IsDir()):
		k.reject(named, remote(named), "copy the base into the repository, and name it by its path")
	case errors.Is(err, fs.ErrNotExist) && !strings.Contains(named, "\n"):
		k.fail(named, printable.Quoted(named)+" does not exist", "fix the path; it is relative to this file")
	case errors.Is(err, host.ErrOutside):
		k.fail(named, printable.Quoted(named)+" "+host.ErrOutside.Error(), "copy the base into the repository, and name it by its path")
	case err == nil && info.IsDir() && isDeep(path):
		k.fail(named, fmt.Sprintf("%s lies in more than %d directories", printable.Quoted(named), host.MostNested), "move the base up")
	case err == nil && info.IsDir():
		if real, err := ks.tree.Real(path); err == nil {
			k.dirs = append(k.dirs, real)
		}
	}
}

// local inspects a path to a file that kustomize loads.
func (k *kustomization) local(named string) {
	if isURL(named) {
		k.reject(named, remote(named), "copy the file into the repository, and name it by its path")
	}
}

// remote is the message for an address that kustomize would fetch from. It may hold a password, so the user and the query are masked.
func remote(named string) string {
	if before, query, ok := strings.Cut(named, "?"); ok && namesSecret(query) {
		named = before + "?" + mask
	}
	start := 0
	if at := strings.Index(named, "://"); at >= 0 {
		start = at + len("://")
	}
	if at := strings.LastIndexByte(named, '@'); at >= start && (start > 0 || strings.Contains(named[:at], ":")) {
		named = named[:start] + mask + named[at:]
	}
	return printable.Quoted(named) + " is remote: a build fetches nothing"
}

const mask = "***"

// namesSecret reports whether the query of an address may hold a secret.
func namesSecret(query string) bool {
	return slices.ContainsFunc([]string{"pass", "pwd", "auth", "secret", "token", "credential", "key", "private", "sig"}, func(word string) bool {
		return strings.Contains(strings.ToLower(query), word)
	})
}

// isURL reports whether kustomize would fetch a path by HTTP.
func isURL(path string) bool {
	lower := strings.ToLower(path)
	return strings.HasPrefix(lower, "http:") || strings.HasPrefix(lower, "https:")
}

// isRepository reports whether kustomize may take a path for a git repository.
func isRepository(path string) bool {
	lower := strings.ToLower(path)
	user, _, _ := strings.Cut(lower, "/")
	return strings.Contains(lower, "://") || strings.HasPrefix(lower, "git::") || strings.Contains(user, "@") ||
		strings.HasPrefix(lower, "github.com/") || strings.HasPrefix(lower, "github.com:")
}

// reject adds a rejection at the line of a key or a value, up to mostRejections.
func (k *kustomization) reject(at, message, help string) {
	k.add(rejection{message: message, help: help}, at)
}

// fail adds a rejection of what kustomize rejects as well.
func (k *kustomization) fail(at, message, help string) {
	k.add(rejection{message: message, help: help, fails: true}, at)
}

func (k *kustomization) add(r rejection, at string) {
	if len(k.rejections) == mostRejections {
		return
	}
	if n := findScalar(k.root, at); n != nil && at != "" {
		r.line, r.column = n.Line, n.Column
	}
	if !slices.Contains(k.rejections, r) {
		k.rejections = append(k.rejections, r)
	}
}

var errExpands = fmt.Errorf("has aliases that expand it to more than %d MiB", mostExpanded>>20)

// expands reports whether a text is larger than mostExpanded once its aliases are written out, as decoders do.
func expands(root *yaml.Node) bool {
	left := mostExpanded
	var count func(n *yaml.Node) bool
	count = func(n *yaml.Node) bool {
		if n == nil {
			return false
		}
		if left -= len(n.Value) + 1; n.Alias != nil {
			left -= 64 // an anchor may hold its own alias, and then no stack is deep enough
		}
		return left < 0 || count(n.Alias) || slices.ContainsFunc(n.Content, count)
	}
	return count(root)
}

// invalid rejects a file that kustomize cannot read, with the place in it. Without a place it leaves the report to kustomize.
func (k *kustomization) invalid(err error) {
	_, found := manifest.Decode(k.file, k.data)
	_, field, isUnknown := strings.Cut(err.Error(), "unknown field ")
	switch {
	case k.root == nil && len(found) > 0 && found[0].Code == codes.Syntax:
		at := found[0].Position
		k.rejections = append(k.rejections, rejection{at.Line, at.Column, found[0].Message, found[0].Remedy.Text, true})
	case isUnknown && !k.isKnown():
		k.rejections = append(k.rejections, rejection{0, 0, "the file has no field of a kustomization", "use a kustomization", true})
	case isUnknown:
		field = strings.Trim(field, `"`)
		k.fail(field, fmt.Sprintf("kustomize has no field %q", field), "fix or remove the field")
	}
}

// isKnown reports whether the file has a field of a kustomization, or nearly one. Another file may be no kustomization, and no word of it
// is shown.
func (k *kustomization) isKnown() bool {
	if k.root == nil || k.root.Kind != yaml.MappingNode {
		return false
	}
	var known, written []string
	for f := range reflect.TypeFor[types.Kustomization]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "metadata" {
			known = append(known, name)
		}
	}
	for i := 0; i+1 < len(k.root.Content); i += 2 {
		key, value := k.root.Content[i].Value, k.root.Content[i+1].Value
		if key == "kind" && (value == types.KustomizationKind || value == types.ComponentKind) {
			return true
		}
		written = append(written, key)
	}
	return nearest.Any(written, known)
}

// findScalar returns the first scalar with a value, or with a key and the value as in KEY=FILE.
func findScalar(n *yaml.Node, value string) *yaml.Node {
	if n == nil || n.Kind == yaml.ScalarNode && (n.Value == value || value != "" && strings.HasSuffix(n.Value, "="+value)) {
		return n
	}
	for _, child := range n.Content {
		if found := findScalar(child, value); found != nil {
			return found
		}
	}
	return nil
}

// withOrigins returns a kustomization file with the option that names the source of each object.
func withOrigins(data []byte) ([]byte, error) {
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil || len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return data, nil
	}
	const field = "buildMetadata"
	root := document.Content[0]
	list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: types.OriginAnnotations}}}
	top := *root
	top.Content = nil
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if !strings.EqualFold(key.Value, field) {
			top.Content = append(top.Content, key, value)
			continue
		}
		for _, option := range value.Content {
			if option.Value == types.OriginAnnotations {
				return data, nil
			}
			list.Content = append(list.Content, option)
		}
	}
	top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: field}, list)
	return yaml.Marshal(&top)
}
