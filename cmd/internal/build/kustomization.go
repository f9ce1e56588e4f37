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
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/nearest"
)

// kustomizations holds the inspected kustomization files of a tree by their directories. Many
// builds read the same base.
type kustomizations struct {
	tree host.Tree
	dirs parallel.Once[string, *kustomization]
}

// kustomization is an inspected kustomization file.
type kustomization struct {
	types.Kustomization
	file       string // without links
	data       []byte
	root       *yaml.Node   // nil if the file is not YAML
	dirs       []string     // the directories that it names, without links
	rejections finding.List // why it is not built
}

// The limits of a kustomization file. A build of a larger one would take too long.
const (
	mostKustomization = 1 << 20
	mostExpanded      = 4 << 20
	mostRejections    = 100
)

// isDeep reports whether a directory lies too deep to be built.
func isDeep(dir string) bool {
	return strings.Count(dir, string(filepath.Separator)) > host.MostNested
}

// in returns the kustomization file of a directory, or nil without one.
func (ks *kustomizations) in(dir string) *kustomization {
	return ks.dirs.Of(dir, func() *kustomization {
		for _, name := range konfig.RecognizedKustomizationFileNames() {
			if k := ks.inspect(filepath.Join(dir, name)); k != nil {
				return k
			}
		}
		return nil
	})
}

func (ks *kustomizations) inspect(file string) *kustomization {
	info, err := fs.Stat(ks.tree, file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil
	}
	k := &kustomization{file: file}
	k.data, err = ownfile.ReadInput(ks.tree, file)
	if err == nil && len(k.data) > mostKustomization {
		err = fmt.Errorf("must be at most %d MiB", mostKustomization>>20)
	}
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		k.reject(codes.BuildFailed, nil, "cannot be read: "+err.Error(),
			"use a regular file of the repository")
		return k
	}
	var document yaml.Node
	if yaml.Unmarshal(k.data, &document) == nil && len(document.Content) > 0 {
		k.root = document.Content[0]
	}
	if expands(k.root) {
		k.reject(codes.BuildFailed, nil, errExpands.Error(), "replace YAML aliases by their values")
	} else if err := k.Unmarshal(k.data); err != nil {
		k.invalid(err)
	} else {
		ks.inspectNames(k)
	}
	return k
}

// inspectNames inspects what a kustomization names: bases and files.
func (ks *kustomizations) inspectNames(k *kustomization) {
	seen := map[string]bool{}
	for _, key := range [...]string{
		"resources", "bases", "components", "generators", "transformers", "validators",
	} {
		_, value := origins.Entry(k.root, key)
		eachScalar(key, value, func(_ string, n *yaml.Node) {
			text := strings.TrimSpace(n.Value)
			isText := strings.Contains(text, "\n") || strings.HasPrefix(text, "{")
			if !isText && !seen[n.Value] && len(k.rejections) < mostRejections {
				ks.base(k, n)
			}
			seen[n.Value] = true
		})
	}
	for _, key := range [...]string{
		"crds", "configurations", "openapi", "patches", "patchesStrategicMerge", "patchesJson6902",
		"replacements", "configMapGenerator", "secretGenerator",
	} {
		_, value := origins.Entry(k.root, key)
		eachScalar(key, value, k.inspectFile)
	}
	for _, name := range [...]string{"helmCharts", "helmChartInflationGenerator"} {
		if key, charts := origins.Entry(k.root, name); charts != nil && len(charts.Content) > 0 {
			k.reject(codes.BuildRejected, key, "kustomize would run helm to render the chart",
				"render the chart: helm template . | trainweld check -")
		}
	}
}

// inspectFile inspects a scalar that names a file, or a literal, which kustomize would quote in its
// message.
func (k *kustomization) inspectFile(key string, n *yaml.Node) {
	file := n.Value
	switch strings.ToLower(key) {
	case "literals":
		if !strings.Contains(n.Value, "=") {
			k.reject(codes.BuildFailed, n, "a literal has no =", "use KEY=VALUE")
		}
	case "files", "env", "envs":
		if _, path, keyed := strings.Cut(file, "="); keyed && !isURL(file) { // KEY=FILE
			file = path
		}
		fallthrough
	case "path", "crds", "configurations", "patchesstrategicmerge":
		if isURL(file) {
			k.reject(codes.BuildRejected, n, remote(file),
				"copy the file into the repository, and name it by its path")
		}
	}
}

// eachScalar calls see for each scalar within a value, with the last key that leads to it. The
// options of an entry have keys of their own.
func eachScalar(key string, n *yaml.Node, see func(key string, n *yaml.Node)) {
	switch {
	case n == nil || n.ShortTag() == "!!null":
	case n.Alias != nil:
		eachScalar(key, n.Alias, see)
	case n.Kind == yaml.ScalarNode:
		see(key, n)
	case n.Kind == yaml.MappingNode:
		for key, value := range origins.Pairs(n) {
			if !strings.EqualFold(key.Value, "options") {
				eachScalar(key.Value, value, see)
			}
		}
	default:
		for _, item := range n.Content {
			eachScalar(key, item, see)
		}
	}
}

// patchesOf returns the patches of a kustomization in the order of their application. It includes
// the deprecated fields. A patch of patchesStrategicMerge may be a file or the text itself.
func patchesOf(k *types.Kustomization) []types.Patch {
	var patches []types.Patch
	//lint:ignore SA1019 repositories still have the field
	for _, p := range k.PatchesStrategicMerge {
		patches = append(patches, types.Patch{Path: string(p), Patch: string(p)})
	}
	//lint:ignore SA1019 repositories still have the field
	return slices.Concat(patches, k.Patches, k.PatchesJson6902)
}

// base inspects a path to a file or a directory.
func (ks *kustomizations) base(k *kustomization, n *yaml.Node) {
	const copyBase = "copy the base into the repository, and name it by its path"
	named, quoted := n.Value, printable.Quoted(n.Value)
	path := filepath.Join(filepath.Dir(k.file), named)
	info, err := fs.Stat(ks.tree, path)
	isDir := err == nil && info.IsDir()
	switch {
	case isURL(named) || isRepository(named) && (err != nil || isDir):
		k.reject(codes.BuildRejected, n, remote(named), copyBase)
	case errors.Is(err, fs.ErrNotExist):
		k.reject(codes.BuildFailed, n, quoted+" does not exist",
			"write the path relative to this file")
	case errors.Is(err, host.ErrOutside):
		k.reject(codes.BuildFailed, n, quoted+" "+host.ErrOutside.Error(), copyBase)
	case isDir && isDeep(path):
		message := fmt.Sprintf("%s lies in more than %d directories", quoted, host.MostNested)
		k.reject(codes.BuildFailed, n, message, "move the base up")
	case isDir:
		if real, err := ks.tree.Real(path); err == nil {
			k.dirs = append(k.dirs, real)
		}
	}
}

// remote is the message for an address that kustomize would fetch from. It may hold a password, so
// the user and the query are masked.
func remote(named string) string {
	const mask = "***"
	if before, query, ok := strings.Cut(named, "?"); ok {
		if ref, isRef := strings.CutPrefix(query, "ref="); !isRef ||
			strings.ContainsAny(ref, "&;") {
			named = before + "?" + mask
		}
	}
	start := 0
	if scheme, _, hasScheme := strings.Cut(named, "://"); hasScheme {
		start = len(scheme + "://")
	}
	at := strings.LastIndexByte(named, '@')
	if at >= start && (start > 0 || strings.Contains(named[:at], ":")) {
		named = named[:start] + mask + named[at:]
	}
	return printable.Quoted(named) + " is remote: a build fetches nothing"
}

// isURL reports whether kustomize would fetch a path by HTTP.
func isURL(path string) bool {
	lower := strings.ToLower(path)
	return strings.HasPrefix(lower, "http:") || strings.HasPrefix(lower, "https:")
}

// isRepository reports whether kustomize may take a path for a git repository.
func isRepository(path string) bool {
	lower := strings.ToLower(path)
	host, _, _ := strings.Cut(lower, "/")
	return strings.Contains(lower, "://") || strings.HasPrefix(lower, "git::") ||
		strings.Contains(host, "@") || host == "github.com" ||
		strings.HasPrefix(host, "github.com:")
}

// reject adds a rejection at a key or a value, up to mostRejections. Its code tells whether
// kustomize fails as well, or a guard forbids the build.
func (k *kustomization) reject(code finding.Code, n *yaml.Node, message, help string) {
	at := fieldpath.Position{File: k.file}
	if n != nil {
		at.Line, at.Column = n.Line, n.Column
	}
	if len(k.rejections) < mostRejections {
		k.rejections = append(k.rejections, failure(code, at, message, help))
	}
}

var errExpands = fmt.Errorf("has aliases that expand it to more than %d MiB", mostExpanded>>20)

// expands reports whether a text is larger than mostExpanded once its aliases are written out, as
// decoders do.
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

// invalid rejects a file that kustomize cannot read, with the place in it. Without a place it
// leaves the report to kustomize. A file may be no kustomization: a word of it is shown only if it
// is nearly one of kustomize.
func (k *kustomization) invalid(err error) {
	_, found := manifest.Decode(k.file, k.data)
	_, field, isUnknown := strings.Cut(err.Error(), "unknown field ")
	switch {
	case k.root == nil && len(found) > 0 && found[0].Code == codes.Syntax:
		k.rejections = append(k.rejections,
			failure(codes.BuildFailed, found[0].Position, found[0].Message, found[0].Remedy.Text))
	case isUnknown:
		field = strings.Trim(field, `"`)
		message := "kustomize has no field of this name"
		if isNearKey(field) {
			message = fmt.Sprintf("kustomize has no field %q", field)
		}
		k.reject(codes.BuildFailed, findScalar(k.root, field), message, "correct the field")
	}
}

// isNearKey reports whether a name is nearly the name of a field of a kustomization.
func isNearKey(name string) bool {
	var known []string
	for f := range reflect.TypeFor[types.Kustomization]().Fields() {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" {
			known = append(known, key)
		}
	}
	return nearest.To(name, known) != ""
}

// findScalar returns the first scalar with a value, or nil.
func findScalar(n *yaml.Node, value string) *yaml.Node {
	if n == nil || n.Kind == yaml.ScalarNode && n.Value == value {
		return n
	}
	for _, child := range n.Content {
		if found := findScalar(child, value); found != nil {
			return found
		}
	}
	return nil
}
