package trainingjob_test

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rows reads the tables of docs/migrate.md: of each heading the names of the first column, and the
// second.
func rows(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]*)\| ([^|]*)\|$`)
	tables := map[string]map[string]string{}
	for _, section := range strings.Split(string(text), "\n### ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		tables[title] = map[string]string{}
		for _, match := range row.FindAllStringSubmatch(body, -1) {
			becomes, how := strings.TrimSpace(match[2]), strings.TrimSpace(match[3])
			if how == "how" {
				continue
			}
			if how == "" && becomes != "carried" {
				t.Errorf("%s of %s does not say how it is %q", match[1], title, becomes)
			}
			for _, name := range strings.Split(strings.TrimSpace(match[1]), ", ") {
				if _, duplicate := tables[title][name]; duplicate {
					t.Errorf("%s of %s has two rows", name, title)
				}
				tables[title][name] = becomes
			}
		}
	}
	return tables
}

// TestEveryFieldHasARow compares the tables of docs/migrate.md with the fields of the Go types. No
// row may be missing or made up.
func TestEveryFieldHasARow(t *testing.T) {
	tables := rows(t)
	seen := map[reflect.Type]bool{}
	for _, job := range []any{
		kubeflow.PyTorchJob{}, kubeflow.MPIJob{}, kubeflow.XGBoostJob{}, kubeflow.JAXJob{},
		kubeflow.TFJob{}, kubeflow.PaddleJob{},
	} {
		fields := jsonFields(reflect.TypeOf(job))
		if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(
			got, []string{"apiVersion", "kind", "metadata", "spec", "status"}) {
			t.Errorf("%T has the fields %v", job, got)
		}
		for _, name := range []string{"metadata", "spec", "status"} {
			fieldsHaveRows(t, tables, fields[name], seen)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[kubeflow.ElasticPolicy](),
		reflect.TypeFor[corev1.PodTemplateSpec](), reflect.TypeFor[metav1.ObjectMeta]()} {
		if !seen[typ] {
			t.Errorf("%s was not reached", typ)
		}
	}
}

// fieldsHaveRows checks a struct type and the types of its fields that belong to the old API.
func fieldsHaveRows(t *testing.T, tables map[string]map[string]string, typ reflect.Type,
	seen map[reflect.Type]bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || seen[typ] {
		return
	}
	old := typ.PkgPath() == reflect.TypeFor[kubeflow.RunPolicy]().PkgPath()
	if !old && typ != reflect.TypeFor[metav1.ObjectMeta]() &&
		typ != reflect.TypeFor[corev1.PodTemplateSpec]() {
		return
	}
	seen[typ] = true
	table := tables[typ.Name()]
	fields := jsonFields(typ)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		becomes, there := table[name]
		if !there {
			t.Errorf("%s of %s has no row in docs/migrate.md", name, typ.Name())
		}
		switch becomes {
		case "carried", "mapped", "rejected", "left out":
			if typ != reflect.TypeFor[kubeflow.JobStatus]() {
				fieldsHaveRows(t, tables, fields[name], seen)
			}
		case "":
			fieldsHaveRows(t, tables, fields[name], seen)
			if there && !old {
				t.Errorf("%s of %s is neither carried, mapped, rejected nor left out", name,
					typ.Name())
			}
		default:
			t.Errorf("%s of %s is %q", name, typ.Name(), becomes)
		}
		delete(table, name)
	}
	for name := range table {
		t.Errorf("docs/migrate.md has a row for %s of %s, which has no such field", name,
			typ.Name())
	}
}

// jsonFields returns the fields of a struct by their names in JSON, including the fields of inlined
// structs.
func jsonFields(typ reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			maps.Copy(fields, jsonFields(f.Type))
		} else if name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}

// TestEveryValueHasARow does the same for the values of the old API's enumerations, and for its
// labels.
func TestEveryValueHasARow(t *testing.T) {
	tables := rows(t)
	for title, want := range map[string][]string{
		"RestartPolicy": {string(kubeflow.RestartPolicyAlways),
			string(kubeflow.RestartPolicyExitCode), string(kubeflow.RestartPolicyNever),
			string(kubeflow.RestartPolicyOnFailure)},
		"CleanPodPolicy": {string(kubeflow.CleanPodPolicyAll), string(kubeflow.CleanPodPolicyNone),
			string(kubeflow.CleanPodPolicyRunning)},
		"Labels": {kubeflow.JobNameLabel, kubeflow.JobRoleLabel, kubeflow.OperatorNameLabel,
			kubeflow.ReplicaIndexLabel, kubeflow.ReplicaTypeLabel},
	} {
		if got := slices.Sorted(maps.Keys(tables[title])); !slices.Equal(got, want) {
			t.Errorf("the rows of %s are %v, want %v", title, got, want)
		}
	}
}
