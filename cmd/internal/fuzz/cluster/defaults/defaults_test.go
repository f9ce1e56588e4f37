// Package defaults compares the fields that the program ignores in a live object with the defaults
// of Kubernetes' own code.
package defaults

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/util/parsers"

	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/schema"
)

var (
	cases = flag.Int("cases", 2000, "how many objects of each kind are compared")
	seed  = flag.Uint64("seed", 1, "seed of the first object")
)

// TestPlain compares random Jobs with the same Jobs after Kubernetes' defaults and conversions:
// Plain makes them equal.
func TestPlain(t *testing.T) {
	for i := range uint64(*cases) {
		f := filler{rand.New(rand.NewPCG(*seed+i, 0))}
		job := &batchv1.Job{}
		f.fill(reflect.ValueOf(&job.Spec).Elem(), 0)
		// JobSet sets these of every Job.
		job.Labels = map[string]string{"jobset.sigs.k8s.io/jobset-name": "a"}
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		stored := store(t, job.DeepCopy())
		want, got := live.Plain(job), live.Plain(stored.(metav1.Object))
		live.Admitted(got, want)
		if difference := cmp.Diff(asJSON(t, want), asJSON(t, got)); difference != "" {
			t.Fatalf("seed %d: the Job differs (-written +stored):\n%s", *seed+i, difference)
		}
	}
}

// TestFill compares random Pod templates and Jobs that the core fills with Kubernetes' own
// defaults. The counts and labels of a Job follow from others of its fields, and are not filled.
func TestFill(t *testing.T) {
	rules := schema.PodRules(reflect.TypeFor[struct {
		Job      batchv1.Job
		Template corev1.PodTemplate
	}]())
	for i := range uint64(*cases) {
		f := filler{rand.New(rand.NewPCG(*seed+i, 2))}
		job, template := &batchv1.Job{}, &corev1.PodTemplate{}
		f.fill(reflect.ValueOf(&job.Spec).Elem(), 0)
		f.fill(reflect.ValueOf(&template.Template.Spec).Elem(), 0)
		job.Labels, job.Spec.Parallelism, job.Spec.Completions = map[string]string{"a": "b"},
			new(int32(1)), new(int32(1))
		for _, object := range []runtime.Object{job, template} {
			want := store(t, object.DeepCopyObject())
			rules.Defaults.Fill(object)
			if difference := cmp.Diff(asJSON(t, want), asJSON(t, object)); difference != "" {
				t.Fatalf("seed %d: %T differs (-Kubernetes +filled):\n%s", *seed+i, object,
					difference)
			}
		}
	}
}

// store returns an object with its defaults, after its conversion to the internal version and back.
func store(t *testing.T, object runtime.Object) runtime.Object {
	t.Helper()
	version := object.GetObjectKind().GroupVersionKind().GroupVersion()
	switch object.(type) {
	case *batchv1.Job:
		version = batchv1.SchemeGroupVersion
	case *corev1.PodTemplate:
		version = corev1.SchemeGroupVersion
	}
	legacyscheme.Scheme.Default(object)
	hub, err := legacyscheme.Scheme.ConvertToVersion(object, runtime.InternalGroupVersioner)
	if err != nil {
		t.Fatal(err)
	}
	back, err := legacyscheme.Scheme.ConvertToVersion(hub, version)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// asJSON returns an object as the API encodes it, without null and empty objects and lists.
func asJSON(t *testing.T, object any) any {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	delete(value, "kind")
	delete(value, "apiVersion")
	return value
}

// filler fills values at random.
type filler struct{ *rand.Rand }

var (
	names     = []string{"a", "b", "default", "main"}
	resources = []string{"cpu", "memory", "hugepages-2Mi", "hugepages-1Gi", "nvidia.com/gpu",
		"ephemeral-storage"}
	images = []string{"a", "a:latest", "a:1", "A", "a/B:latest", "", "host:5000/a",
		"localhost/a:latest", strings.Repeat("a", 256), "a@sha256:" + strings.Repeat("0", 64),
		"a:latest@sha256:" + strings.Repeat("0", 64), "a:latest@sha256:0"}
)

func (f filler) of(list []string) string { return list[f.IntN(len(list))] }

func (f filler) fill(v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*p = resource.MustParse(f.of([]string{"0", "1", "2", "500m", "1Gi"}))
		return
	case *corev1.ResourceList:
		*p = corev1.ResourceList{}
		for range f.IntN(4) {
			(*p)[corev1.ResourceName(f.of(resources))] = resource.MustParse(
				f.of([]string{"0", "1", "2", "500m"}))
		}
		return
	case *intstr.IntOrString:
		*p = intstr.FromInt32(f.Int32N(3))
		return
	case *metav1.Time:
		*p = metav1.Unix(1, 0)
		return
	case *corev1.VolumeSource:
		if f.IntN(8) > 0 {
			field := v.Field(f.IntN(v.NumField()))
			field.Set(reflect.New(field.Type().Elem()))
			f.fill(field.Elem(), depth+1)
		}
		return
	case *metav1.LabelSelector:
		for range f.IntN(2) {
			p.MatchLabels = map[string]string{f.of(names): f.of(names)}
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			switch tag := field.Tag.Get("json"); {
			case field.Name == "ManualSelector" || field.Name == "DeprecatedServiceAccount" ||
				field.Name == "EphemeralContainers":
			case field.Name == "Image" && field.Type.Kind() == reflect.String ||
				field.Name == "Reference":
				v.Field(i).SetString(f.of(images))
			case strings.Contains(tag, "omitempty") && f.IntN(1+depth/2) > 0 &&
				!slices.Contains([]string{"containers", "volumes"}, tag):
			default:
				f.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if f.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for range f.IntN(3) {
			item := reflect.New(v.Type().Elem()).Elem()
			f.fill(item, depth+1)
			v.Set(reflect.Append(v, item))
		}
	case reflect.Map:
		for range f.IntN(2) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(value, depth+1)
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		if f.IntN(3) > 0 {
			v.SetString(f.of(names))
		}
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(f.Int64N(4))
	}
}

// TestPullPolicy compares random image names with the results of the kubelet's parser: the errors,
// and the default pull policy.
func TestPullPolicy(t *testing.T) {
	hex := strings.Repeat("0123456789abcdef", 8)
	parts := []string{
		"a", "b1", "latest", "A", "localhost", "docker.io", "index.docker.io", "library", ".", ":",
		"/", "@", "-", "--", "_", "__", "___", "[::1]", "[", "]", "5000", "é", "É", "\u212a", " ",
		"sha256:", "sha512:", "SHA256:", "sha384:", hex[:64], hex[:63], hex[:96], hex,
		strings.ToUpper(hex[:64]), strings.Repeat("a", 120), strings.Repeat("b/", 60), ":latest",
		"example.com", "@sha256:" + hex[:64], "@sha256:", "@sha512:", "@md5+x:", ":1",
	}
	r, parsed := rand.New(rand.NewPCG(*seed, 1)), 0
	for range *cases * 100 {
		var b strings.Builder
		for range 1 + r.IntN(9) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		image := b.String()
		_, tag, _, err := parsers.ParseImageName(image)
		if err == nil {
			parsed++
		}
		if ours, got := schema.ParseImage(image); fmt.Sprint(got) != fmt.Sprint(err) ||
			err == nil && ours != tag {
			t.Errorf("ParseImage(%q) = %q, %v; want %q, %v", image, ours, got, tag, err)
		}
		want := corev1.PullIfNotPresent
		if tag == "latest" {
			want = corev1.PullAlways
		}
		job := &batchv1.Job{}
		job.Spec.Template.Spec.Containers = []corev1.Container{
			{Image: image, ImagePullPolicy: want}}
		plain := live.Plain(job).(*batchv1.Job).Spec.Template.Spec
		if plain.Containers[0].ImagePullPolicy != "" {
			t.Errorf("the default pull policy of %q is not %s (%v)", image, want, err)
		}
	}
	if parsed < *cases {
		t.Errorf("only %d names parse", parsed)
	}
}
