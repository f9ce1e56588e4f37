package runtimepatch_test

import (
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/trainweld/trainweld"

// typesModules are the modules that the API types bring along: the types of TrainJobs, JobSets and
// Kubernetes, and their encodings.
var typesModules = strings.Fields(`
	github.com/kubeflow/trainer/v2 sigs.k8s.io/jobset k8s.io/api k8s.io/apimachinery volcano.sh/apis
	k8s.io/klog/v2 k8s.io/kube-openapi k8s.io/utils
	sigs.k8s.io/json sigs.k8s.io/yaml sigs.k8s.io/randfill sigs.k8s.io/structured-merge-diff/v6
	github.com/emicklei/go-restful/v3 github.com/fxamacker/cbor/v2 github.com/go-logr/logr
	github.com/go-openapi/jsonpointer github.com/go-openapi/jsonreference github.com/go-openapi/swag
	github.com/google/gnostic-models github.com/josharian/intern github.com/json-iterator/go
	github.com/mailru/easyjson github.com/modern-go/concurrent github.com/modern-go/reflect2
	github.com/x448/float16 go.yaml.in/yaml/v2 go.yaml.in/yaml/v3 golang.org/x/net golang.org/x/text
	google.golang.org/protobuf gopkg.in/inf.v0 gopkg.in/yaml.v3`)

// coreModules are the modules that the core brings along whatever type it merges. They have
// quantities, the paths of errors of the API server, and the YAML of definitions.
var coreModules = strings.Fields(`
	k8s.io/apimachinery k8s.io/klog/v2 k8s.io/utils sigs.k8s.io/json sigs.k8s.io/yaml go.yaml.in/yaml/v2
	github.com/fxamacker/cbor/v2 github.com/go-logr/logr github.com/x448/float16 gopkg.in/inf.v0`)

// TestCoreBudget limits the modules that a controller links with the core for types of its own.
// They have nothing of TrainJobs and JobSets, and no API types at all.
func TestCoreBudget(t *testing.T) {
	for _, pkg := range []string{"fieldpath", "schema", "merge", "finding", "conflict"} {
		for of, name := range linkedWith(t, pkg) {
			if name != "" && !isOwn(name) && !slices.Contains(coreModules, name) {
				t.Errorf("%s links %s of %s, which is not in the core's budget", pkg, of, name)
			}
		}
	}
	if len(linkedWith(t, "merge")) < 50 {
		t.Error("the core links next to nothing; this test looks at the wrong things")
	}
}

// TestImportBudget limits the modules that a controller links with the library. They are the API
// types, the modules that these bring along, and the modules named here with a reason. They do not
// include client-go, controller-runtime and CEL.
func TestImportBudget(t *testing.T) {
	for _, tc := range []struct {
		pkg    string
		adds   []string
		reason string
	}{
		{"render/runtimepatch", nil, "a merge of TrainJobs needs their types"},
		{"render/check", nil, "so does a check of their patches"},
		{"render", []string{"k8s.io/component-helpers"},
			"requests of a Pod as the scheduler counts them"},
		{"render/manifest", nil, "it reads the types"},
	} {
		allowed := map[string]bool{}
		for _, name := range append(tc.adds, typesModules...) {
			allowed[name] = true
		}
		reached := map[string]string{}
		for pkg, name := range linkedWith(t, tc.pkg) {
			if name != "" {
				reached[name] = pkg
			}
		}
		if len(reached) < 10 {
			t.Errorf("%s reaches only %d modules; this test looks at the wrong things", tc.pkg,
				len(reached))
		}
		for name, pkg := range reached {
			if !allowed[name] && !isOwn(name) {
				t.Errorf("%s links %s of %s, which is not in its budget (%s)", tc.pkg, pkg, name,
					tc.reason)
			}
		}
		for _, name := range tc.adds {
			if reached[name] == "" {
				t.Errorf("%s no longer links %s: take it out of its budget", tc.pkg, name)
			}
		}
	}
}

// TestOnlyTheProgramLinksAdmission keeps the API server's validation out of every package except
// the program's. Commands that do not judge do not link it. For --old, render and live predict an
// apply of the API server, and comparison writes what live says. A merge judges its result, and
// what render and fn print is judged with it.
func TestOnlyTheProgramLinksAdmission(t *testing.T) {
	const heavy = module + "/render/admission"
	want := []string{"/cmd/trainweld", "/cmd/internal/cli", "/cmd/internal/command/check",
		"/cmd/internal/command/diff", "/cmd/internal/command/migrate",
		"/cmd/internal/command/render", "/cmd/internal/live",
		"/cmd/internal/comparison", "/cmd/internal/objectmerge", "/cmd/internal/pipeline",
		"/cmd/internal/podgroups",
		"/cmd/internal/command/merge", "/cmd/internal/command/fn", "/cmd/internal/command/blame",
		"/cmd/internal/command/conflicts", "/cmd/internal/command/policy", "/cmd/internal/vap"}
	links := 0
	for _, pkg := range linking(t, heavy) {
		if strings.HasPrefix(pkg, heavy) {
			continue
		}
		links++
		if !slices.Contains(want, strings.TrimPrefix(pkg, module)) {
			t.Errorf("%s links render/admission; only %q may", pkg, want)
		}
	}
	if links == 0 {
		t.Error("nothing links render/admission; this test looks at the wrong things")
	}
}

// TestOnlyTheProgramLinksKustomize keeps kustomize out of every package but the program's.
func TestOnlyTheProgramLinksKustomize(t *testing.T) {
	program := []string{"/cmd/trainweld", "/cmd/internal/cli", "/cmd/internal/build",
		"/cmd/internal/revision", "/cmd/internal/comparison", "/cmd/internal/objectmerge"}
	links := 0
	for _, pkg := range linking(t, "sigs.k8s.io/kustomize/api/krusty") {
		name := strings.TrimPrefix(pkg, module)
		if links++; !slices.Contains(program, name) &&
			!strings.HasPrefix(name, "/cmd/internal/command/") {
			t.Errorf("%s links kustomize; only the program may", pkg)
		}
	}
	if links == 0 {
		t.Error("nothing links kustomize; this test looks at the wrong things")
	}
}

// TestOnlyTestsLinkTheirSupport keeps what only tests need out of the program and the library.
func TestOnlyTestsLinkTheirSupport(t *testing.T) {
	supports := []string{module + "/internal/testenv", module + "/internal/roundrobin",
		module + "/internal/casefile"}
	for _, support := range supports {
		pkgs := linking(t, support)
		isOther := func(pkg string) bool { return !slices.Contains(supports, pkg) }
		if !slices.Contains(pkgs, support) || slices.ContainsFunc(pkgs, isOther) {
			t.Errorf("%q link %s; only %q and tests may", pkgs, support, supports)
		}
	}
}

// TestOnlyAdmissionLinksServerSideApply keeps server-side apply out of packages without admission.
func TestOnlyAdmissionLinksServerSideApply(t *testing.T) {
	const heavy, user = module + "/render/admission/serverside", module + "/render/admission"
	users := linking(t, user)
	for _, pkg := range linking(t, heavy) {
		if pkg != heavy && !slices.Contains(users, pkg) {
			t.Errorf("%s links %s without %s", pkg, heavy, user)
		}
	}
}

// linked is a package with its module and all packages that it links.
type linked struct {
	module string
	deps   []string
}

// all returns the packages of the repository and the packages that they link. The go command lists
// them once for all tests.
var all = sync.OnceValues(func() (map[string]linked, error) {
	lines, err := list("-deps", "-f",
		`{{.ImportPath}} {{with .Module}}{{.Path}}{{else}}-{{end}} {{join .Deps " "}}`,
		module+"/...")
	packages := map[string]linked{}
	for _, line := range lines {
		fields := strings.Fields(line)
		packages[fields[0]] = linked{strings.Trim(fields[1], "-"), fields[2:]}
	}
	return packages, err
})

func allPackages(t *testing.T) map[string]linked {
	t.Helper()
	packages, err := all()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// linking are the packages of the repository that a package is linked with, itself among them.
func linking(t *testing.T, pkg string) []string {
	t.Helper()
	var pkgs []string
	for name, p := range allPackages(t) {
		if isOwn(p.module) && (name == pkg || slices.Contains(p.deps, pkg)) {
			pkgs = append(pkgs, name)
		}
	}
	slices.Sort(pkgs)
	return pkgs
}

// isOwn reports whether a module is one of this repository.
func isOwn(name string) bool { return name == module || strings.HasPrefix(name, module+"/") }

// linkedWith are the packages that a package of the repository links, itself among them, with the
// module of each.
func linkedWith(t *testing.T, pkg string) map[string]string {
	t.Helper()
	packages := allPackages(t)
	of := map[string]string{module + "/" + pkg: module}
	for _, dep := range packages[module+"/"+pkg].deps {
		of[dep] = packages[dep].module
	}
	return of
}

// list runs go list, and returns its lines.
func list(args ...string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err
}
