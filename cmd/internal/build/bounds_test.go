package build

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
)

// TestBuild_Files builds what would read files outside of the repository, or files that are not
// regular. Each is rejected at once.
func TestBuild_Files(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		links map[string]string
		want  string // "" for a file outside of the repository
	}{
		"above": {
			files: map[string]string{"kustomization.yaml": "resources: [../../outside/a.yaml]\n"}},
		"base": {
			files: map[string]string{"kustomization.yaml": "resources: [../../outside]\n"}},
		"component": {
			files: map[string]string{"kustomization.yaml": "components: [../../outside]\n"}},
		"linked base": {files: map[string]string{"kustomization.yaml": "resources: [../base]\n"},
			links: map[string]string{"../base": "../outside"}},
		"linked file": {files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\n"},
			links: map[string]string{"a.yaml": "../../outside/a.yaml"}},
		"linked values": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: [a.yaml]}]\n"},
			links: map[string]string{"a.yaml": "../../outside/a.yaml"}},
		"linked top": {
			links: map[string]string{"kustomization.yaml": "../../outside/kustomization.yaml"}},
		"device": {links: map[string]string{"kustomization.yaml": os.DevNull}},
		"process": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: " +
					"[/proc/self/environ]}]\n"}},
		"linked process": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: [a]}]\n"},
			links: map[string]string{"a": "/proc/self/environ"}},
		"variables": {
			files: map[string]string{
				"kustomization.yaml": "secretGenerator: [{name: a, envs: [../../outside/a.yaml]}]\n"}},
		"replacement": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\nreplacements: [{path: b.yaml}]\n",
				"a.yaml":             configMap},
			links: map[string]string{"b.yaml": "../../outside/a.yaml"}},
		"definition": {
			files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\ncrds: [b.yaml]\n",
				"a.yaml": configMap}, links: map[string]string{"b.yaml": "../../outside/a.yaml"}},
		"schema": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: b.yaml}\n",
				"a.yaml":             configMap},
			links: map[string]string{"b.yaml": "../../outside/a.yaml"}},
		"patch": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: b.yaml}]\n",
				"a.yaml":             configMap},
			links: map[string]string{"b.yaml": "../../outside/a.yaml"}},
		"levels": {
			files: map[string]string{
				"kustomization.yaml": "resources: [" + strings.Repeat("../", 60) + "etc/passwd]\n"}},
		"git": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: [../.git/HEAD]}]\n"}},
		"GIT": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: [.GIT/config]}]\n",
				".GIT/config":        "secret"}},
		"git base": {files: map[string]string{"kustomization.yaml": "resources: [../base]\n"},
			links: map[string]string{"../base": ".git"}},
		"loop": {files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\n"},
			links: map[string]string{"a.yaml": "b.yaml", "b.yaml": "a.yaml"}, want: "TW122"},
		"loop of bases": {files: map[string]string{"kustomization.yaml": "resources: [base]\n"},
			links: map[string]string{"base": "."}, want: "cycle detected"},
		"base of a base": {
			files: map[string]string{"kustomization.yaml": "resources: [base]\n",
				"base/kustomization.yaml": "resources: [a.yaml]\n"},
			links: map[string]string{"base/a.yaml": "../../../outside/a.yaml"}},
		"inside": {
			files: map[string]string{"kustomization.yaml": "resources: [../base]\n",
				"../real/kustomization.yaml": "resources: [a.yaml]\n", "../real/a.yaml": configMap},
			links: map[string]string{"../base": "real"}, want: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"repository/.git/HEAD": "", "repository/top/README": "",
				"outside/a.yaml": configMap, "outside/kustomization.yaml": "resources: [a.yaml]\n"}
			for file, text := range tc.files {
				all[filepath.Join("repository/top", file)] = text
			}
			write(t, all)
			for file, to := range tc.links {
				if err := os.Symlink(to, filepath.Join("repository/top", file)); err != nil {
					t.Skip("needs symbolic links: ", err)
				}
			}
			for _, here := range []string{".", "repository"} {
				t.Chdir(here)
				dir, err := filepath.Rel(here, filepath.Join("repository", "top"))
				if err != nil {
					t.Fatal(err)
				}
				built := newBuilder(t, workspace.Flags{Kustomize: []string{dir}}).Build(dir)
				got, want := fmt.Sprint(built.Findings), cmp.Or(tc.want, "is outside of the repository")
				if isBuilt := built.Findings == nil && len(built.Text) > 0; want == "none" &&
					!isBuilt || want != "none" && (built.Text != nil ||
					!strings.Contains(got, want)) {
					t.Errorf("Build(%s) = %q, %v, want %q", dir, built.Text, built.Findings, want)
				}
			}
		})
	}
}

// TestBuild_NoRepository builds an overlay of another folder, around which there is no repository.
// It may name a base anywhere, as kustomize lets it, and files only in or below its own directory.
func TestBuild_NoRepository(t *testing.T) {
	write(t, map[string]string{
		"x/base/kustomization.yaml": "resources: [a.yaml]\n", "x/base/a.yaml": configMap,
		"x/over/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\n",
		"x/file/kustomization.yaml": "resources: [../base/a.yaml]\n", "y/README": "",
	})
	x, err := filepath.Abs("x")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("y")
	b := newBuilder(t, workspace.Flags{Kustomize: []string{x}})
	if built := b.Build(filepath.Join(x, "over")); built.Findings != nil ||
		!strings.Contains(string(built.Text), "b-a") {
		t.Errorf("Build() = %q, %v", built.Text, built.Findings)
	}
	if built := b.Build(filepath.Join(x, "file")); !strings.Contains(fmt.Sprint(built.Findings),
		"is not in or below") {
		t.Errorf("a file beside: %q, %v", built.Text, built.Findings)
	}
}

// TestTreeFiles reads through the files that a process gives kustomize, as a kustomization could
// that is not inspected.
func TestTreeFiles(t *testing.T) {
	write(t, map[string]string{"repository/.git/config": "secret",
		"repository/top/a.yaml": configMap, "outside/a.yaml": "secret"})
	for link, to := range map[string]string{"in.yaml": "a.yaml", "out.yaml": "../../outside/a.yaml",
		"absolute.yaml": os.DevNull, "git.yaml": "../.git/config"} {
		if err := os.Symlink(to, filepath.Join("repository/top", link)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	root, err := filepath.EvalSymlinks("repository")
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.Abs(root); err != nil {
		t.Fatal(err)
	}
	f := &treeFiles{tree: host.Within(host.Files{}, root)}
	for name, want := range map[string]string{
		"a.yaml": "", "in.yaml": "", "out.yaml": "is outside of the repository",
		"absolute.yaml": "is outside of the repository", "git.yaml": "is outside of the repository",
		"../.git/config":       "is outside of the repository",
		"../../outside/a.yaml": "is outside of the repository",
		".":                    "is a directory: must be a regular file",
	} {
		file := filepath.Join(root, "top", name)
		data, err := f.ReadFile(file)
		if want == "" && (err != nil || string(data) != configMap) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("ReadFile(%s) = %q, %v, want %q", name, data, err, want)
		}
		if _, _, err := f.CleanedAbs(file); (err == nil) != (want == "" || name == ".") {
			t.Errorf("CleanedAbs(%s): %v", name, err)
		}
	}
}

// TestInspect_Bounded inspects texts that are small, and grow in their reader. Each has few
// rejections.
func TestInspect_Bounded(t *testing.T) {
	long := "&a \"" + strings.Repeat("x", 1000) + "\""
	aliases := strings.Repeat(", *a", mostExpanded/1000+1)
	remote := strings.Repeat("\"http:a\", ", 10)
	for i := range 1000 {
		remote += fmt.Sprintf("\"http:%d\", ", i)
	}
	deep := strings.Repeat("a/", host.MostNested+1) + "a"
	for name, tc := range map[string]struct {
		text, want string
		count      int
	}{
		"aliases":      {"resources: [" + long + aliases + "]\n", errExpands.Error(), 1},
		"circle":       {"resources: &a [*a]\n", errExpands.Error(), 1},
		"few aliases":  {"resources: [&a a.yaml, *a]\n", `"a.yaml" does not exist`, 1},
		"remote files": {"crds: [" + remote + "]\n", "is remote", mostRejections},
		"literals": {
			"configMapGenerator: [{name: a, literals: [" + strings.ReplaceAll(remote, "=", "") +
				"]}]\n", "a literal has no =", mostRejections},
		"deep": {"resources: [" + deep + "]\n", "lies in more than 100 directories", 1},
		"missing files": {"resources: [" + strings.ReplaceAll(remote, "http:", "") + "]\n",
			"does not exist", mostRejections},
		"large": {"resources: [a.yaml]\n#" + strings.Repeat("x", mostKustomization),
			"must be at most 1 MiB", 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := (&kustomizations{
				tree: memory{
					fstest.MapFS{"kustomization.yaml": {Data: []byte(tc.text)},
						deep + "/a.yaml": {}}}}).in(".")
			if len(k.rejections) != tc.count ||
				!strings.Contains(k.rejections[0].Message, tc.want) {
				t.Errorf("%d refusals, want %d with %q: %.300v", len(k.rejections), tc.count,
					tc.want, k.rejections)
			}
		})
	}
}

// TestBuild_Names builds kustomizations in directories whose names are not words. Searching for
// them finds each, and one process builds all.
func TestBuild_Names(t *testing.T) {
	names := []string{"-x", "a b", "plain"}
	if runtime.GOOS == "linux" {
		names = append(names, "a\nb", "a\xffb", "a\x1b[31m", `a\nb`)
	}
	slices.Sort(names)
	all := map[string]string{}
	for _, name := range names {
		all[filepath.Join("all", name, "kustomization.yaml")],
			all[filepath.Join("all", name, "a.yaml")] = "resources: [a.yaml]\n", configMap
	}
	write(t, all)
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"all"}})
	dirs, found := b.Find()
	if len(dirs) != len(names) || found != nil {
		t.Errorf("Find() = %q, %v, want %q", dirs, found, names)
	}
	for _, dir := range dirs {
		if built := b.Build(dir); built.Findings != nil || len(built.Text) == 0 {
			t.Errorf("Build(%q) = %q, %v", dir, built.Text, built.Findings)
		}
	}
	if n := len(b.processes.idle); n != 1 {
		t.Errorf("%d processes build, want one for all", n)
	}
}

// TestBuild_Secrets builds what makes kustomize quote values in its messages. No message shows one.
func TestBuild_Secrets(t *testing.T) {
	const secret = "hunter2"
	for name, text := range map[string]string{
		"URL": "resources: ['https://a:hunter2@example.com/b']\npatches: [{path: " +
			"'https://hunter2@example.com/b'}]\n",
		"address": "resources: ['a:hunter2@example.com:b']\n",
		"query":   "resources: ['https://example.com/b?ref=c&access_token=hunter2']\n",
		"literal": "secretGenerator: [{name: a, literals: [hunter2]}]\n",
		"file":    "secretGenerator: [{name: a, files: [\"=hunter2=b\"]}]\n",
		"plugin literal": "generators:\n- |-\n  apiVersion: builtin\n  kind: SecretGenerator\n  " +
			"metadata: {name: a}\n  literals: [hunter2]\n",
		"inline patch": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: " +
			"'hunter2'\n",
		"broken patch": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: " +
			"'{kind: Secret, stringData: {a: hunter2}'\n",
		"no target": "resources: [a.yaml]\npatches:\n- patch: '{apiVersion: v1, kind: " +
			"Secret, metadata: {name: b}, stringData: {a: hunter2}}'\n",
		"two patches": "resources: [a.yaml]\npatches:\n- patch: \"hunter2\"\n  path: a.yaml\n",
		"JSON patch": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: " +
			"'[{op: test, path: /data, value: hunter2}]'\n",
		"no name":         "resources: [secret.yaml]\n",
		"broken resource": "resources: [broken.yaml]\n",
		"transformer": "resources: [a.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  " +
			"kind: PatchTransformer\n  metadata: {name: a}\n  patch: hunter2\n",
		"field": "secretGenerator: [{name: a, literals: {a: hunter2}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{
				"top/kustomization.yaml": text, "top/a.yaml": configMap,
				"top/broken.yaml": "kind: Secret\nstringData: {a: hunter2\n",
				"top/secret.yaml": "apiVersion: v1\nkind: Secret\nstringData: {a: hunter2}\n",
			})
			built := newBuilder(t, workspace.Flags{Kustomize: []string{"top"}}).Build("top")
			if built.Findings == nil {
				t.Errorf("Build() = %q, want a finding", built.Text)
			}
			for _, f := range built.Findings {
				if strings.Contains(f.Message+f.Remedy.Text, secret) {
					t.Errorf("a finding shows a value: %v", f)
				}
			}
		})
	}
}
