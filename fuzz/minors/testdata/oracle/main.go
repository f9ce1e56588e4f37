// The oracle answers how one minor version of Kubernetes takes new Pods, Jobs and claims: with its
// own types, defaults, strategies and validation. It reads objects as JSON, one a line, and writes
// an answer for each. The recorder compiles it once for each version.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	pvcutil "k8s.io/kubernetes/pkg/api/persistentvolumeclaim"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchv1 "k8s.io/kubernetes/pkg/apis/batch/v1"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
)

// answer is what the API server does with a new object.
type answer struct {
	Undecoded string   `json:"undecoded,omitempty"` // no type takes it
	Unknown   []string `json:"unknown,omitempty"`   // fields that its types do not have
	Causes    []string `json:"causes,omitempty"`    // of a refusal, as REASON FIELD
	Dropped   []string `json:"dropped,omitempty"`   // known fields that are not stored
	Added     []string `json:"added,omitempty"`     // fields that are stored besides, with values
}

func main() {
	if err := answerAll(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerAll() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, corev1.AddToScheme,
		batch.AddToScheme, batchv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	capabilities.Setup(true, 0) // as every API server
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	write := json.NewEncoder(out)
	for in.Scan() {
		a, err := create(scheme, in.Bytes())
		if err != nil {
			return fmt.Errorf("%s: %w", in.Text(), err)
		}
		if err := write.Encode(a); err != nil {
			return err
		}
	}
	return errors.Join(in.Err(), out.Flush())
}

func create(scheme *runtime.Scheme, text []byte) (answer, error) {
	var a answer
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	decoder := codecs.UniversalDecoder(core.SchemeGroupVersion, batch.SchemeGroupVersion)
	object, kind, err := decoder.Decode(text, nil, nil)
	if runtime.IsStrictDecodingError(err) && object != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return a, err
		}
		for _, e := range strict.Errors() {
			name, found := strings.CutPrefix(e.Error(), "unknown field ")
			if !found {
				return a, err
			}
			a.Unknown = append(a.Unknown, strings.Trim(name, `"`))
		}
		slices.Sort(a.Unknown)
	} else if err != nil {
		a.Undecoded = err.Error()
		return a, nil
	}
	a.judge(scheme, object)
	encoder := codecs.EncoderForVersion(codecs.SupportedMediaTypes()[0].Serializer,
		kind.GroupVersion())
	stored, err := runtime.Encode(encoder, object)
	if err != nil {
		return a, err
	}
	return a, a.compare(text, stored)
}

// judge prepares the object as the registry does, and records the causes of a refusal.
func (a *answer) judge(scheme *runtime.Scheme, object runtime.Object) {
	defer func() {
		if crash := recover(); crash != nil {
			a.Causes = []string{"Panic"}
		}
	}()
	var found field.ErrorList
	switch o := object.(type) {
	case *core.Pod:
		if o.Spec.ServiceAccountName == "" {
			o.Spec.ServiceAccountName = "default" // by admission
		}
		podutil.DropDisabledPodFields(o, nil)
		preparePod(o)
		opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&o.Spec, nil, &o.ObjectMeta, nil)
		opts.ResourceIsPod = true
		found = corevalidation.ValidatePodCreate(o, opts)
	case *batch.Job:
		o.UID = "00000000-0000-0000-0000-000000000000"
		selectPods(o)
		prepareJob(o)
		podutil.DropDisabledTemplateFields(&o.Spec.Template, nil)
		found = validateJob(o, batchvalidation.JobValidationOptions{
			PodValidationOptions: podutil.GetValidationOptionsFromPodTemplate(
				&o.Spec.Template, nil),
			RequirePrefixedLabels: true,
		})
	case *core.PersistentVolumeClaim:
		pvcutil.DropDisabledFields(&o.Spec, nil)
		pvcutil.EnforceDataSourceBackwardsCompatibility(&o.Spec, nil)
		pvcutil.NormalizeDataSources(&o.Spec)
		found = corevalidation.ValidatePersistentVolumeClaim(o,
			corevalidation.ValidationOptionsForPersistentVolumeClaim(o, nil))
	}
	for _, e := range append(found, declared(scheme, object)...) {
		a.Causes = append(a.Causes, string(e.Type)[len("FieldValue"):]+" "+e.Field)
	}
	slices.Sort(a.Causes)
	a.Causes = slices.Compact(a.Causes)
}

// selectPods writes the labels and the selector by which a Job finds its Pods.
func selectPods(job *batch.Job) {
	if *job.Spec.ManualSelector {
		return
	}
	labels := map[string]string{batch.LegacyJobNameLabel: job.Name, batch.JobNameLabel: job.Name,
		batch.LegacyControllerUidLabel: string(job.UID), batch.ControllerUidLabel: string(job.UID)}
	for key, value := range job.Spec.Template.Labels {
		labels[key] = value
	}
	job.Spec.Template.Labels = labels
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if job.Spec.Selector.MatchLabels == nil {
		job.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, has := job.Spec.Selector.MatchLabels[batch.ControllerUidLabel]; !has {
		job.Spec.Selector.MatchLabels[batch.ControllerUidLabel] = string(job.UID)
	}
}

// empty are the values that the types omit.
var empty = []string{"{}", "[]", "null", "false", "0", `""`}

// compare records what is stored of the written object.
func (a *answer) compare(written, stored []byte) error {
	before, err := leaves(written)
	if err != nil {
		return err
	}
	after, err := leaves(stored)
	if err != nil {
		return err
	}
	for path, value := range before {
		now, kept := after[path]
		if kept && now != value && strings.HasSuffix(path, ".procMount") {
			kept = false // the default is stored instead
		}
		if !kept && !slices.Contains(empty, value) {
			a.Dropped = append(a.Dropped, path)
		}
	}
	for path, value := range after {
		if old, had := before[path]; !had || old != value {
			a.Added = append(a.Added, path+" "+value)
		}
	}
	slices.Sort(a.Dropped)
	slices.Sort(a.Added)
	return nil
}

// leaves returns the values without parts, by their paths.
func leaves(text []byte) (map[string]string, error) {
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	delete(root, "status")
	found := map[string]string{}
	var visit func(path string, value any)
	visit = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, below := range v {
				visit(path+"."+name, below)
			}
			if len(v) > 0 {
				return
			}
		case []any:
			for i, below := range v {
				visit(fmt.Sprintf("%s[%d]", path, i), below)
			}
			if len(v) > 0 {
				return
			}
		}
		text, _ := json.Marshal(value)
		found[path] = string(text)
	}
	for name, value := range root {
		visit(name, value)
	}
	return found, nil
}
