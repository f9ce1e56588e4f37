package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// whole has all fields.
const whole = `# yaml-language-server: $schema=policy.schema.json
trainerVersion: "2.3"
managers:
  - name: platform.example.com/defaults
    required: true
    for: {namespaces: [team-*]}
    paths:
      - .spec.replicatedJobs[*].template.spec.template.spec.nodeSelector
      - containers[*].env
  - name: kueue.x-k8s.io/manager
patches:
  - file: patches/eu.yaml
    manager: platform.example.com/defaults
    for: {namespaces: [team-*], labels: "app=x,tier!=test", names: [llm-*], runtimes: [torch-distributed]}
  - file: ../all.yaml
severities: {TW107: off, TW541: error, TW302: warning, TW300: note, TW230: "off"}
cluster: {name: team-a, namespaceSelector: "team in (a, b)", objectSelector: tier}
version: 1
`

// entries returns n entries of a list.
func entries(n int, format string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

type fileCase struct {
	name, text string
	found      []string // position, code, path and a part of the message of each mistake
	beyond     bool     // the mistake is beyond a JSON Schema
}

func files() []fileCase {
	return []fileCase{
		{name: "all fields", text: whole},
		{name: "JSON", text: `{"trainerVersion": "2.1", "severities": {"TW541": "off"}}`},
		{name: "a number as the version", text: "trainerVersion: 2.0\n"},
		{name: "no field", text: "{}\n", found: []string{"1:1 TW500  Required value"}},
		{name: "a comment", text: "# trainerVersion\n", found: []string{"1:1 TW500  Required value"}},
		{name: "a list", text: "- trainerVersion: \"2.3\"\n",
			found: []string{"1:3 TW103  must be an object"}},
		{name: "a word", text: "2.3\n", found: []string{"1:1 TW103  must be an object"}},
		{name: "no YAML", text: "managers: [\n", found: []string{"1:1 TW100  cannot be parsed"}},
		{name: "two documents", text: "trainerVersion: 2.1\n---\ntrainerVersion: 2.2\n",
			found: []string{"3:1 TW103  must be one object"}, beyond: true},
		{name: "a manifest", text: "apiVersion: v1\nkind: ConfigMap\n",
			found: []string{"1:1 TW103  must be a policy, not ConfigMap"}},
		{name: "an unknown field", text: "manager: []\n",
			found: []string{
				`1:1 TW101 .manager unknown field "manager" in version 1; did you mean "managers"?`}},
		{name: "a later version", text: "version: 2\nusers: [a]\ntrainerVersion: 9.9\n",
			found: []string{"1:1 TW501 .version Unsupported value: 2: supported values: 1"}},
		{name: "many managers", text: "managers:\n" + entries(mostRules+1, "- {name: m.io/a%d}\n"),
			found: []string{"1:1 TW501  must have at most 256 managers"}, beyond: true},
		{name: "as many managers as there may be",
			text: "managers:\n" + entries(mostRules, "- {name: m.io/a%d}\n")},
		{name: "many files of patches",
			text:   "patches:\n" + entries(mostRules+1, "- {file: a%d.yaml}\n"),
			found:  []string{"1:1 TW501  must have at most 256 managers, 256 patches"},
			beyond: true},
		{name: "many labels", text: "patches:\n- {file: a.yaml, for: {labels: '" +
			entries(mostPatterns, "a!=b%d,") + "b'}}\n",
			found: []string{"1:1 TW501  must have at most 256 managers"}, beyond: true},
		{name: "many names", text: "patches:\n- {file: a.yaml, for: {names: [" +
			entries(mostPatterns-2, "a%d, ") + "], runtimes: [a], namespaces: [a, b]}}\n",
			found: []string{"1:1 TW501  must have at most 256 managers"}, beyond: true},
		{name: "a long pattern", text: "patches:\n- {file: a.yaml, for: {names: ['*" +
			strings.Repeat("a", 253) + "']}}\n",
			found: []string{`2:32 TW501 .patches[0].for.names[0] Invalid value`}, beyond: true},
		{name: "version zero", text: "version: 0\nstock: true\n",
			found: []string{"1:1 TW501 .version Unsupported value: 0: supported values: 1"}},
		{name: "a version of a wrong type", text: "version: v1\nstock: true\n",
			found: []string{"1:10 TW103 .version"}},
		{name: "a version and nothing else", text: "version: 1\n",
			found: []string{"1:1 TW500  Required value"}, beyond: true},
		{name: "a duplicate key", text: "trainerVersion: 2.1\ntrainerVersion: 2.2\n",
			found: []string{"2:1 TW102 .trainerVersion"}, beyond: true},
		{name: "an unknown release", text: "trainerVersion: \"9.9\"\n",
			found:  []string{`1:1 TW501 .trainerVersion "9.9" is not a known release`},
			beyond: true},
		{name: "a wrong type", text: "patches: {file: a.yaml}\n",
			found: []string{"1:10 TW103 .patches must be a list"}},
		{name: "a wrong type and a bad value", text: "managers: 3\ntrainerVersion: \"9.9\"\n",
			found: []string{"1:11 TW103 .managers", "2:1 TW501 .trainerVersion"}},
		{name: "empty lists", text: "managers: []\npatches: []\nseverities: {}\n",
			found: []string{"1:1 TW500 .managers", "2:1 TW500 .patches", "3:1 TW500 .severities"}},
		{name: "a manager without a name", text: "managers: [{required: true}]\n",
			found: []string{"1:12 TW500 .managers[0] name: Required value"}},
		{name: "an invalid name", text: "managers: [{name: kueue}]\n",
			found: []string{
				`1:13 TW501 .managers[0].name Invalid value: "kueue": must be a domain-prefixed path`}, beyond: true},
		{name: "a duplicate manager", text: "managers: [{name: a.b/c}, {name: a.b/c}]\n",
			found:  []string{`1:28 TW501 .managers[1].name Duplicate value: "a.b/c"`},
			beyond: true},
		{name: "for without Required value", text: "managers: [{name: a.b/c, for: {names: [a]}}]\n",
			found:  []string{"1:26 TW502 .managers[0].for Forbidden: may not be set without required: true"},
			beyond: true},
		{name: "no paths", text: "managers: [{name: a.b/c, paths: []}]\n",
			found: []string{"1:26 TW500 .managers[0].paths Required value"}},
		{name: "a path of nothing",
			text:  "managers: [{name: a.b/c, paths: [.spec.replicatedJob]}]\n",
			found: []string{"1:34 TW501 .managers[0].paths[0] Invalid value"}, beyond: true},
		{name: "a path of several fields",
			text: "managers: [{name: a.b/c, paths: [metadata.labels, labels]}]\n",
			found: []string{
				"1:51 TW501 .managers[0].paths[1] Invalid value: 4 fields are called labels; name " +
					"one of them: .metadata.labels, " +
					".spec.replicatedJobs[*].template.metadata.labels, "}, beyond: true},
		{name: "a path that no patch sets",
			text:  "managers: [{name: a.b/c, paths: ['containers[node].image']}]\n",
			found: []string{"1:34 TW104 .managers[0].paths[0] no patch may set"}, beyond: true},
		{name: "metadata that the definition prunes",
			text: "managers: [{name: a.b/c, paths: " +
				"['.spec.replicatedJobs[*].template.spec.template.metadata.ownerReferences', " +
				"'.spec.replicatedJobs[*].template.metadata.generateName']}]\n",
			found: []string{"1:34 TW104 .managers[0].paths[0] no patch may set",
				"1:109 TW104 .managers[0].paths[1] no patch may set"}, beyond: true},
		{name: "an item of an atomic list",
			text: "managers: [{name: a.b/c, paths: ['tolerations[*]']}]\n",
			found: []string{
				"1:34 TW501 .managers[0].paths[0] Invalid value: the list merges as a whole"},
			beyond: true},
		{name: "a path of a directive",
			text: "managers: [{name: a.b/c, paths: ['nodeSelector[\"$patch\"]', " +
				"'nodeSelector[$retainKeys]', 'nodeSelector[a$]']}]\n",
			found: []string{"1:34 TW501 .managers[0].paths[0] Invalid value",
				"1:60 TW501 .managers[0].paths[1] Invalid value",
				`1:89 TW501 .managers[0].paths[2] Invalid value: no object has the name "a$"`},
			beyond: true},
		{name: "keys and items that no object has",
			text: "managers:\n- name: a.b/c\n  paths: ['.metadata.labels[\"A B\"]', " +
				"'nodeSelector[a/b/c]', '.spec.replicatedJobs[A].template.metadata.labels', " +
				"'.metadata.annotations[Example.com/A]', 'nodeSelector[*]']\n",
			found: []string{"3:11 TW501 .managers[0].paths[0] Invalid value: no object has the name",
				"3:38 TW501 .managers[0].paths[1] Invalid value: no object has the name",
				"3:61 TW501 .managers[0].paths[2] Invalid value: no object has the name"},
			beyond: true},
		{name: "names that no object has",
			text: "managers:\n- name: a.b/c\n  required: true\n  for: {names: ['A*', a-, " +
				"'llm-?', '*'], runtimes: [a_b], namespaces: ['a.*', 'team-[ab]']}\n",
			found: []string{
				`4:17 TW501 .managers[0].for.names[0] no name matches "A*"`,
				"4:23 TW501 .managers[0].for.names[1] no name matches",
				"4:53 TW501 .managers[0].for.runtimes[0] no name matches",
				"4:72 TW501 .managers[0].for.namespaces[0] no name matches"}, beyond: true},
		{name: "values that are there twice",
			text: "managers:\n- name: a.b/c\n  required: true\n  for: {names: [a, b, a]}\n  " +
				"paths: [nodeSelector, nodeSelector]\n  users: [ann, ann]\n  serviceAccounts: " +
				"[a/b, a/b]\n", found: []string{
				`4:23 TW501 .managers[0].for.names[2] Duplicate value: "a"`,
				"5:25 TW501 .managers[0].paths[1] Duplicate value",
				"6:16 TW501 .managers[0].users[1] Duplicate value",
				"7:26 TW501 .managers[0].serviceAccounts[1] Duplicate value"}, beyond: true},
		{name: "users that nobody is",
			text: "managers:\n- name: a.b/c\n  users: ['system:serviceaccount:a/b', " +
				"'system:serviceaccount:a:b', 'system:masters']\n",
			found: []string{"3:11 TW501 .managers[0].users[0] Invalid value"}, beyond: true},
		{name: "a selector of spaces",
			text: "managers: [{name: a.b/c, required: true, for: {labels: ' '}}]\ncluster: " +
				"{objectSelector: ' '}\n",
			found: []string{"1:48 TW500 .managers[0].for.labels Required value",
				"2:11 TW500 .cluster.objectSelector Required value"}, beyond: true},
		{name: "many paths", text: "managers:\n- name: a.b/c\n  paths:\n" +
			entries(mostPaths+1, "  - nodeSelector[a%d]\n"),
			found:  []string{"1:1 TW501  must have at most 256 managers, 256 patches, 1024 paths"},
			beyond: true},
		{name: "labels that no object has",
			text: "managers:\n- {name: a.b/c, required: true, for: {labels: 'a,!a'}}\n- {name: " +
				"a.b/d, required: true, for: {labels: 'a>5,a<6'}}\n- {name: a.b/e, required: " +
				"true, for: {labels: 'a=b,a notin (b,c)'}}\n- {name: a.b/f, required: true, for: " +
				"{labels: 'a<0'}}\n- {name: a.b/g, required: true, for: {labels: 'a>5,a<7,a!=6'}}\n",
			found: []string{`2:39 TW501 .managers[0].for.labels no labels match "a,!a"`,
				"3:39 TW501 .managers[1].for.labels no labels match",
				"4:39 TW501 .managers[2].for.labels no labels match",
				"5:39 TW501 .managers[3].for.labels no labels match"}, beyond: true},
		{name: "a patch without a file", text: "patches: [{for: {names: [a]}}]\n",
			found: []string{"1:11 TW500 .patches[0] file: Required value"}},
		{name: "an absolute file", text: "patches: [{file: /a.yaml}]\n",
			found: []string{`1:12 TW501 .patches[0].file Invalid value: "/a.yaml"`}, beyond: true},
		{name: "standard input", text: "patches: [{file: \"-\"}]\n",
			found: []string{`1:12 TW501 .patches[0].file Invalid value: "-"`}, beyond: true},
		{name: "an invalid manager of a file", text: "patches: [{file: a.yaml, manager: x}]\n",
			found: []string{
				`1:26 TW501 .patches[0].manager Invalid value: "x": must be a domain-prefixed path`}, beyond: true},
		{name: "an Invalid value", text: "patches: [{file: a.yaml, for: {names: ['[a']}}]\n",
			found:  []string{`1:40 TW501 .patches[0].for.names[0] Invalid value: "[a"`},
			beyond: true},
		{name: "an invalid selector", text: "patches: [{file: a.yaml, for: {labels: a==b=c}}]\n",
			found:  []string{"1:32 TW501 .patches[0].for.labels Invalid value"},
			beyond: true},
		{name: "an empty selector",
			text: "patches: [{file: a.yaml, for: {labels: '', runtimes: []}}]\n",
			found: []string{"1:32 TW500 .patches[0].for.labels",
				"1:44 TW500 .patches[0].for.runtimes"}},
		{name: "rules that compose values",
			text: "stock: true\ncompose: [{path: tolerations, rule: union}]\n",
			found: []string{
				"2:1 TW101 .compose compose is gone: managers that set different values are in " +
					"conflict until they agree; remove it, and set each field in one patch only"}},
		{name: "a code that is gone", text: "severities: {TW310: warning}\n",
			found: []string{
				`1:14 TW501 .severities["TW310"] TW310 is gone: no rule composes values: TW300 reports managers that disagree; remove it`}, beyond: true},
		{name: "an unknown code", text: "severities: {TW3000: off}\n",
			found: []string{
				`1:14 TW501 .severities["TW3000"] unknown code "TW3000"; did you mean "TW300"?`}},
		{name: "an unknown severity", text: "severities: {TW541: warn}\n",
			found: []string{
				`1:14 TW501 .severities["TW541"] Unsupported value: "warn": supported values: off, note, warning, error; set one of them`}},
		{name: "true as a severity", text: "severities: {TW541: on}\n",
			found: []string{`1:21 TW105 .severities["TW541"]`}},
		{name: "an error that leaves nothing to render", text: "severities: {TW400: warning}\n",
			found:  []string{`1:14 TW502 .severities["TW400"] TW400 is always an error`},
			beyond: true},
		{name: "a scope and nothing else", text: "cluster: {name: a}\n"},
		{name: "an invalid name of objects", text: "cluster: {name: A_B}\n",
			found:  []string{`1:11 TW501 .cluster.name Invalid value: "A_B": a lowercase RFC 1123`},
			beyond: true},
		{name: "an empty scope", text: "cluster: {name: '', objectSelector: ''}\n",
			found: []string{"1:11 TW500 .cluster.name", "1:21 TW500 .cluster.objectSelector"}},
		{name: "an invalid selector of the cluster", text: "cluster: {objectSelector: a>1}\n",
			found: []string{
				"1:11 TW501 .cluster.objectSelector Invalid value: the API server has " +
					"no operator gt"}, beyond: true},
		{name: "a selector of no object", text: "cluster: {namespaceSelector: 'a=b,a notin (b)'}\n",
			found: []string{
				"1:11 TW501 .cluster.namespaceSelector Invalid value: no labels match"},
			beyond: true},
		{name: "many labels of the cluster", text: "cluster: {namespaceSelector: '" +
			entries(mostPatterns, "a!=b%d,") + "b'}\n",
			found: []string{
				"1:11 TW501 .cluster.namespaceSelector Invalid value: 1025 " +
					"requirements: must have at most 1024"}, beyond: true},
		{name: "a selector of no namespace",
			text:   "cluster: {namespaceSelector: '!kubernetes.io/metadata.name'}\n",
			found:  []string{"1:11 TW501 .cluster.namespaceSelector no namespace matches"},
			beyond: true},
		{name: "a selector of a namespace with a bad name",
			text:   "cluster: {namespaceSelector: 'kubernetes.io/metadata.name in (A, b_c)'}\n",
			found:  []string{"1:11 TW501 .cluster.namespaceSelector no namespace matches"},
			beyond: true},
		{name: "a selector of one namespace",
			text: "cluster: {namespaceSelector: 'kubernetes.io/metadata.name in (A, b-c)', " +
				"objectSelector: '!kubernetes.io/metadata.name'}\n"},
		{name: "aliases", text: "patches:\n  - &a {file: a.yaml}\n  - *a\n"},
	}
}

func TestParse(t *testing.T) {
	for _, tc := range files() {
		t.Run(tc.name, func(t *testing.T) {
			_, found := Parse("dir/trainweld.yaml", []byte(tc.text))
			if len(found) != len(tc.found) {
				t.Fatalf("Parse finds %v, want %q", found, tc.found)
			}
			for i, f := range found {
				got := fmt.Sprintf("%d:%d %s %s %s; %s", f.Position.Line, f.Position.Column, f.Code,
					f.Path, f.Message, f.Remedy.Text)
				if !strings.HasPrefix(got, tc.found[i]) ||
					f.Position.File != "dir/trainweld.yaml" || strings.Contains(got, "\n") ||
					f.Severity != finding.Error || f.Remedy.Text == "" {
					t.Errorf("Parse finds %q, want %q", got, tc.found[i])
				}
			}
		})
	}
}

func TestParse_Content(t *testing.T) {
	p, found := Parse("dir/trainweld.yaml", []byte(whole))
	if found.Err() != nil || p.Release().Name != "2.3" || !p.HasRules() {
		t.Fatalf("Parse = %v, %v", p, found)
	}
	var files []string
	for _, patch := range p.Patches() {
		files = append(files, patch.File+" "+patch.Manager+" "+patch.Position.String())
	}
	want := "dir/patches/eu.yaml platform.example.com/defaults dir/trainweld.yaml:12:5|all.yaml  " +
		"dir/trainweld.yaml:15:5"
	if got := strings.Join(files, "|"); got != want {
		t.Errorf("the patches are %q, want %q", got, want)
	}
	only, _ := Parse("trainweld.yaml", []byte(`trainerVersion: "2.1"`))
	var none *Policy
	if only.HasRules() || none.HasRules() || none.Release() != nil || none.Patches() != nil ||
		none.Check(nil, nil) != nil {
		t.Error("a policy without rules has some")
	}
}

func TestIsManifest(t *testing.T) {
	for text, want := range map[string]bool{
		"kind: TrainJob\n": true, "apiVersion: v1\n": true, "trainerVersion: 2.1\n": false,
		"": false, "- kind: a\n": false, "a: [\n": false,
		"kind: TrainJob\n---\na: b\n": true,
	} {
		if got := IsManifest([]byte(text)); got != want {
			t.Errorf("IsManifest(%q) = %t, want %t", text, got, want)
		}
	}
}

func TestSeverity(t *testing.T) {
	p, found := Parse("trainweld.yaml",
		[]byte("severities: {TW107: off, TW541: error, TW302: warning, TW300: note, TW211: note}\n"))
	if found != nil {
		t.Fatal(found)
	}
	var none *Policy
	for _, tc := range []struct {
		code     finding.Code
		is, want finding.Severity
		reason   string
	}{
		{codes.IdlePatch, finding.Warning, finding.Error, "a policy raises a warning"},
		{codes.Override, finding.Note, finding.Warning, "a policy raises a note"},
		{codes.NotAnObject, finding.Warning, 0, "off removes a warning"},
		{codes.NotAnObject, finding.Error, finding.Error,
			"an error that leaves nothing to render stays"},
		{codes.Overlap, finding.Error, finding.Note, "managers may disagree"},
		{codes.DropsTolerations, finding.Warning, finding.Note, "a policy lowers a warning"},
		{codes.Union, finding.Error, finding.Error, "the policy does not name the code"},
	} {
		f := finding.Finding{Code: tc.code, Severity: tc.is}
		if got := p.Severity(f); got != tc.want {
			t.Errorf("Severity(%s, %s) = %s, want %s: %s", tc.code, tc.is, got, tc.want, tc.reason)
		}
		if got := none.Severity(f); got != tc.is {
			t.Errorf("without a policy, Severity(%s) = %s, want %s", tc.code, got, tc.is)
		}
	}
}

// TestParse_Docs holds that the section of each code begins with its severity, because Parse reads
// it there.
func TestParse_Docs(t *testing.T) {
	for _, code := range codes.Codes() {
		page, _ := codes.Of(code)
		word := strings.Trim(strings.Fields(page.Meaning)[0], ".;,")
		if word != "Error" && word != "Warning" && word != "Note" && code != codes.OldAPI {
			t.Errorf("the section of %s begins with %q, want a severity", code, word)
		}
	}
}
