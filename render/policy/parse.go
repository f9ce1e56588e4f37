package policy

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// IsManifest reports whether a file holds an object of Kubernetes: it has a kind or an apiVersion.
// A file with the name of a policy may be one.
func IsManifest(data []byte) bool {
	var document yaml.Node // aliases stay what they are
	if yaml.Unmarshal(data, &document) != nil || len(document.Content) == 0 ||
		document.Content[0].Kind != yaml.MappingNode {
		return false
	}
	for pair := range slices.Chunk(document.Content[0].Content, 2) {
		if (pair[0].Value == "apiVersion" || pair[0].Value == "kind") && pair[1].Tag != "!!null" {
			return true
		}
	}
	return false
}

// These limit the comparisons: n TrainJobs with n rules take n*n.
const (
	mostRules    = 256 // of managers, and of patches
	mostPatterns = 1024
	mostPaths    = 1024 // of all managers, so that the API server compiles them
)

// Parse reads a policy from YAML or JSON. file names it in findings; Parse does not open it.
//
// All mistakes are errors with a position. They are unknown fields, duplicate keys, wrong types,
// and values that can have no effect. The policy holds the valid part of the file.
//
// A policy may raise every code. It may lower warnings and notes. Of errors, it may lower overlaps
// (TW300), fields of earlier releases (TW120) and violations of the policy (TW230 to TW233).
func Parse(file string, data []byte) (*Policy, finding.List) {
	r := reader{file: file, invalid: map[string]bool{}, around: map[string]bool{}}
	r.read(data)
	r.findings.Sort()
	return &r.policy, r.findings
}

// reader reads one file.
type reader struct {
	file     string
	document *manifest.Document
	policy   Policy
	findings finding.List
	invalid  map[string]bool // the paths of findings
	around   map[string]bool // these, and all fields around them
	patterns int             // of all selectors
	paths    int             // of all managers
}

// add adds a finding.
func (r *reader) add(f finding.Finding) {
	r.findings = append(r.findings, f)
	for n := range f.Path {
		r.around[f.Path[:n+1].String()] = true
	}
	if len(f.Path) > 0 {
		r.invalid[f.Path.String()] = true
	}
}

const example = `set trainerVersion, kubernetesVersion, stock, managers, patches, severities or cluster, such as trainerVersion: "2.3"`

func (r *reader) read(data []byte) {
	r.policy.file = r.file
	kind := manifest.Kind{Group: "trainweld", Version: "v1", Kind: "Policy", New: func() any {
		return new(file)
	}}
	documents, found := manifest.DecodeAs(r.file, data, kind)
	for _, f := range found {
		f.Object = fieldpath.Object{}
		if f.Code == codes.NotAnObject {
			f.Code, f.Message, f.Remedy = codes.WrongType, "must be an object",
				finding.Remedy{Text: example}
		}
		switch {
		case f.Code == codes.UnknownField && f.Path.String() == ".compose":
			f.Message = "compose is gone: managers that set different values are in conflict " +
				"until they agree"
			f.Remedy = finding.Remedy{
				Do:   finding.LetOneWin,
				Text: "remove it, and set each field in one patch only"}
		case f.Code == codes.UnknownField && len(f.Path) > 0:
			f.Message = fmt.Sprintf("%s in version %d", f.Message, latest)
		}
		r.add(f)
	}
	switch {
	case len(documents) == 0 && len(found) == 0:
		r.findings = append(r.findings, finding.Finding{
			Code: codes.MissingField, Severity: finding.Error,
			Position: fieldpath.Position{File: r.file, Line: 1, Column: 1},
			Message:  "Required value: the file sets no field", Remedy: finding.Remedy{Text: example},
		})
		return
	case len(documents) == 0:
		return
	}
	r.document = documents[0]
	if len(documents) > 1 {
		r.findings = append(r.findings, finding.Finding{
			Code: codes.WrongType, Severity: finding.Error, Position: documents[1].Position(nil),
			Message: "must be one object: the file holds several documents",
			Remedy:  finding.Remedy{Text: "keep one of them"},
		})
	}
	if r.document.ID.Kind != kind.Kind {
		r.findings = nil
		r.report(codes.WrongType, nil, example, "must be a policy, not %s", r.document.ID)
		return
	}
	of, ok := r.document.Object.(*file)
	if !ok {
		of = r.decodablePart()
	}
	at := fieldpath.Fields("version")
	if of.Version != nil && *of.Version != latest && !r.around[at.String()] {
		r.findings = nil // a later version may have the fields
		r.report(codes.BadValue, at,
			fmt.Sprintf("set version: %d, or use a program that knows the version", latest),
			"Unsupported value: %d: supported values: %d", *of.Version, latest)
		return
	}
	r.version("trainerVersion", of.TrainerVersion, func(text string) (err error) {
		r.policy.release, err = release.Parse(text)
		return err
	})
	r.version("kubernetesVersion", of.Kubernetes, func(text string) (err error) {
		r.policy.kubernetes, err = minor.Parse(text)
		return err
	})
	r.policy.stock = of.Stock
	r.managers(of.Managers)
	r.patches(of.Patches)
	r.scope(of.Cluster)
	if max(len(of.Managers), len(of.Patches)) > mostRules || r.patterns > mostPatterns ||
		r.paths > mostPaths {
		r.report(codes.BadValue, nil, "write fewer, or use patterns with * and labels",
			"must have at most %d managers, %d patches, %d paths, and %d names, patterns and "+
				"labels to select TrainJobs by", mostRules, mostRules, mostPaths, mostPatterns)
		r.policy.managers, r.policy.patches = nil, nil
	}
	r.severities(of.Severities)
	if !r.policy.HasRules() && r.policy.release == nil && r.policy.kubernetes == "" &&
		r.policy.stock == nil &&
		of.Cluster == nil && len(r.findings) == 0 {
		r.report(codes.MissingField, nil, example, "Required value: the file sets no field")
	}
}

// decodablePart returns the decodable part of a file with mistakes.
func (r *reader) decodablePart() *file {
	of := &file{}
	fields, err := r.document.Fields()
	if err != nil {
		return of
	}
	for name, value := range fields {
		if data, err := json.Marshal(map[string]any{name: value}); err == nil {
			_ = json.Unmarshal(data, of) // decoding has reported the error
		}
	}
	return of
}

// report reports a mistake in a field, unless there is one in the field or around it.
func (r *reader) report(code finding.Code, at fieldpath.Path, help, message string, args ...any) {
	for n := range at {
		if r.invalid[at[:n+1].String()] {
			return
		}
	}
	r.add(finding.Finding{
		Code: code, Severity: finding.Error, Path: at, Position: r.document.Position(at),
		Message: fmt.Sprintf(message, args...), Remedy: finding.Remedy{Text: help},
	})
}

// empty reports a field without a value, if the file has it.
func (r *reader) empty(at fieldpath.Path, help string) {
	if !r.around[at.String()] && r.document.Has(at) {
		r.report(codes.MissingField, at, help, "Required value: must not be empty")
	}
}

// version reads the version in a field.
func (r *reader) version(name string, v version, read func(text string) error) {
	at := fieldpath.Fields(name)
	if v == "" {
		r.empty(at, "name a known one, or remove the field")
	} else if err := read(string(v)); err != nil {
		r.report(codes.BadValue, at, "name a known one", "%s", err)
	}
}

func (r *reader) managers(entries []managerEntry) {
	list := fieldpath.Fields("managers")
	if len(entries) == 0 {
		r.empty(list, "name a manager, or remove the field to allow all managers")
	}
	r.policy.indexes = map[string]int{}
	for i, e := range entries {
		at := list.Append(fieldpath.Index(i))
		m := manager{name: e.Name, required: e.Required, position: r.document.Position(at),
			patterns: &patterns{}}
		r.managerName(e.Name, at)
		if _, isKnown := r.policy.indexes[e.Name]; !isKnown {
			r.policy.indexes[e.Name] = i
		} else {
			r.report(codes.BadValue, at.Append(fieldpath.Field("name")), "keep one of the two",
				"Duplicate value: %q", e.Name)
		}
		if e.For != nil && !e.Required {
			r.report(codes.BrokenRule, at.Append(fieldpath.Field("for")),
				"set required: true, or remove the field", "Forbidden: may not be set without required: true")
		}
		m.of = r.selector(e.For, at.Append(fieldpath.Field("for")))
		paths := at.Append(fieldpath.Field("paths"))
		if len(e.Paths) == 0 {
			r.empty(paths, "name a field, or remove paths to allow all fields")
		}
		r.distinct(e.Paths, paths)
		r.paths += len(e.Paths)
		for n, text := range e.Paths[:min(len(e.Paths), mostPaths)] {
			if pattern := r.field(text, paths.Append(fieldpath.Index(n))).Path; pattern != nil {
				m.paths = append(m.paths, pattern)
				m.patterns.add(pattern)
			}
		}
		m.users = r.users(e, at)
		r.policy.managers = append(r.policy.managers, m)
	}
	r.policy.names = nearest.NewNames(r.policy.Managers())
}

// users returns the names of users and service accounts that may change a manager's patch in the
// cluster.
func (r *reader) users(e managerEntry, at fieldpath.Path) (names []string) {
	for _, list := range []struct {
		name   string
		values []string
		isName func(string) bool
		help   string
	}{
		{"users", e.Users, isUser, "name a user as the API server knows it"},
		{"serviceAccounts", e.ServiceAccounts, func(name string) bool {
			return isAccount(name, "/")
		}, "name its namespace and its name, such as kueue-system/kueue-controller-manager"},
	} {
		in := at.Append(fieldpath.Field(list.name))
		if len(list.values) == 0 {
			r.empty(in, list.help)
		}
		r.distinct(list.values, in)
		for i, name := range list.values {
			if !list.isName(name) {
				r.report(codes.BadValue, in.Append(fieldpath.Index(i)), list.help,
					"Invalid value: %q", name)
				continue
			}
			if namespace, account, ok := strings.Cut(name, "/"); ok &&
				list.name == "serviceAccounts" {
				name = "system:serviceaccount:" + namespace + ":" + account
			}
			names = append(names, name)
		}
	}
	return names
}

// managerName checks the name as the check of patches does.
func (r *reader) managerName(name string, at fieldpath.Path) {
	if name != "" {
		at = at.Append(fieldpath.Field("name"))
	}
	for _, f := range check.Patches(nil, []trainer.RuntimePatch{{Manager: name}}) {
		code := codes.BadValue
		if name == "" {
			code, f.Message = codes.MissingField, "name: Required value"
		}
		r.report(code, at, f.Remedy.Text, "%s", f.Message)
	}
}

// field explains a field that a manager may set. It returns the zero rule for an invalid one.
func (r *reader) field(text string, at fieldpath.Path) explain.Rule {
	const help = "name a field of a JobSet that patches may set"
	rule, err := explain.Field(text)
	switch {
	case err != nil:
		problem, choices, several := strings.Cut(err.Error(), "\n")
		if several {
			problem, _, _ = strings.Cut(problem, ";")
			choices = strings.ReplaceAll(strings.TrimSpace(choices), "\n  ", ", ")
			r.report(codes.BadValue, at, "name one of them: "+choices, "Invalid value: %s", problem)
			return explain.Rule{}
		}
		r.report(codes.BadValue, at, help, "Invalid value: %s", problem)
	case !rule.Patchable:
		r.report(codes.Unpatchable, at, help, "no patch may set %s", text)
	case slices.ContainsFunc(rule.Path, isDirective):
		r.report(codes.BadValue, at, "name a key, or [*] for all",
			"Invalid value: %s names a directive", text)
	case runtimepatch.JobSetTemplate().Replaced(rule.Path) != nil:
		r.report(codes.BadValue, at, "name the list itself",
			"Invalid value: the list merges as a whole")
	default:
		key, isVoid := voidKey(rule.Path)
		if !isVoid {
			return rule
		}
		r.report(codes.BadValue, at, "correct the name, or set [*] for all",
			"Invalid value: no object has the name %q", key)
	}
	return explain.Rule{}
}

// isDirective reports whether a step is the key of a directive, such as $patch.
func isDirective(s fieldpath.Step) bool {
	key, _ := s.Key()
	return strings.HasPrefix(key, "$")
}

func (r *reader) patches(entries []patchEntry) {
	list := fieldpath.Fields("patches")
	if len(entries) == 0 {
		r.empty(list, "name a file of patches, or remove the field")
	}
	for i, e := range entries {
		at := list.Append(fieldpath.Index(i))
		file := at.Append(fieldpath.Field("file"))
		switch {
		case e.File == "":
			r.report(codes.MissingField, at, "name a file of patches, relative to this file",
				"file: Required value")
			continue
		case path.IsAbs(e.File) || e.File == manifest.Stdin || strings.Contains(e.File, `\`):
			r.report(codes.BadValue, file,
				"name a file relative to this file, with / between folders",
				"Invalid value: %q: must be a relative path", e.File)
			continue
		}
		if e.Manager != "" {
			for _, f := range check.Patches(nil, []trainer.RuntimePatch{{Manager: e.Manager}}) {
				r.report(codes.BadValue, at.Append(fieldpath.Field("manager")), f.Remedy.Text, "%s",
					f.Message)
			}
		}
		r.policy.patches = append(r.policy.patches, Patch{
			File: path.Join(path.Dir(r.file), e.File), Manager: e.Manager, Path: file,
			Position: r.document.Position(file),
			of:       r.selector(e.For, at.Append(fieldpath.Field("for"))),
		})
	}
}

func (r *reader) selector(e *forJobs, at fieldpath.Path) selector {
	if e == nil {
		return selector{}
	}
	s := selector{namespaces: e.Namespaces, names: e.Names, runtimes: e.Runtimes}
	r.patterns += len(e.Namespaces) + len(e.Names) + len(e.Runtimes)
	for _, list := range []struct {
		name     string
		patterns []string
	}{{"namespaces", e.Namespaces}, {"names", e.Names}, {"runtimes", e.Runtimes}} {
		in := at.Append(fieldpath.Field(list.name))
		if len(list.patterns) == 0 {
			r.empty(in, "name one, or remove the field to select all")
		}
		r.distinct(list.patterns, in)
		for i, pattern := range list.patterns[:min(len(list.patterns), mostPatterns)] {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" ||
				len(pattern) > validation.DNS1123SubdomainMaxLength {
				r.report(codes.BadValue, in.Append(fieldpath.Index(i)),
					"name one; * stands for any characters", "Invalid value: %q", pattern)
			} else if isVoid(pattern, list.name == "namespaces") {
				r.report(codes.BadValue, in.Append(fieldpath.Index(i)),
					"name one; names have lower-case letters, digits, - and .",
					"no name matches %q", pattern)
			}
		}
	}
	in := at.Append(fieldpath.Field("labels"))
	if strings.TrimSpace(e.Labels) == "" {
		r.empty(in, "set a label selector, or remove the field to select all")
		return s
	}
	var err error
	if s.labels, err = labels.Parse(e.Labels); err != nil {
		r.report(codes.BadValue, in, "set a label selector, such as app=x",
			"Invalid value: %s", err)
		return s
	}
	requirements, _ := s.labels.Requirements()
	if r.patterns += strings.Count(e.Labels, ",") + 1; r.patterns <= mostPatterns &&
		!canMatch(requirements) {
		r.report(codes.BadValue, in, "set labels that one object can have", "no labels match %q",
			e.Labels)
	}
	return s
}

func (r *reader) severities(of map[string]level) {
	list := fieldpath.Fields("severities")
	if len(of) == 0 {
		r.empty(list, "name a code, or remove the field")
		return
	}
	var names []string
	for _, code := range codes.Codes() {
		names = append(names, string(code))
	}
	words := []string{string(off), finding.Note.String(), finding.Warning.String(),
		finding.Error.String()}
	r.policy.severities = map[finding.Code]finding.Severity{}
	for name, level := range of {
		at, code := list.Append(fieldpath.Key(name)), finding.Code(name)
		severity := finding.Severity(slices.Index(words, string(level)))
		page, isKnown := codes.Of(code)
		switch instead := codes.Removed(code); {
		case instead != "":
			r.report(codes.BadValue, at, "remove it", "%s is gone: %s", code, instead)
		case !isKnown:
			r.report(codes.BadValue, at,
				suggestionFor(name, names, "name a code of "+codes.Docs+"findings.md"),
				"unknown code %q", name)
		case severity < 0:
			r.report(codes.BadValue, at, suggestionFor(string(level), words, "set one of them"),
				"Unsupported value: %q: supported values: %s", level, strings.Join(words, ", "))
		case severity < finding.Error && strings.HasPrefix(page.Meaning, "Error. ") &&
			!isLowered(code):
			r.report(codes.BrokenRule, at, "remove it, and fix the problem that the code reports",
				"%s is always an error: nothing can be rendered, or the cluster rejects it", code)
		default:
			r.policy.severities[code] = severity
		}
	}
}

// suggestionFor returns the remedy for an unknown word: the word that is near, or else the remedy
// otherwise.
func suggestionFor(word string, words []string, otherwise string) string {
	if near := nearest.To(word, words); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}
