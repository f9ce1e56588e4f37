// Command kueue answers with the code of Kueue 0.19.2, which links Trainer 2.2.1. It returns the
// Pod sets of a TrainJob, their requests, and the patch of an admission. It is a program of its
// own, since trainweld links a later Trainer. It reads questions from standard input as JSON, one a
// line, and answers each with a line. Package upstream asks it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainercore "github.com/kubeflow/trainer/v2/pkg/runtime/core"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobs/trainjob"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/workload"
	"sigs.k8s.io/yaml"
)

// question is a TrainJob with its runtime, as they are stored. With a Workload that has an
// admission, it also asks for the patch.
type question struct {
	TrainJob *trainer.TrainJob               `json:"trainJob"`
	Runtime  *trainer.ClusterTrainingRuntime `json:"runtime"`
	Flavors  []kueue.ResourceFlavor          `json:"flavors,omitempty"`
	Workload *kueue.Workload                 `json:"workload,omitempty"`
}

type answer struct {
	PodSets []kueue.PodSet `json:"podSets,omitempty"`
	// Totals are the requests of each Pod set, in Kueue's integers.
	Totals []map[corev1.ResourceName]int64 `json:"totals,omitempty"`
	// Fits tells for each Pod set which flavors its selectors and tolerations allow.
	Fits  [][]bool              `json:"fits,omitempty"`
	Patch *trainer.RuntimePatch `json:"patch,omitempty"`
	Error string                `json:"error,omitempty"`
}

func main() {
	definitions := flag.String("definitions", "",
		"the folder of Kueue's custom resource definitions")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // a number that overflows prints a stack
	log.SetLogger(logr.Discard())
	if err := serve(*definitions); err != nil {
		fmt.Fprintf(os.Stderr, "kueue: %v\n", err)
		os.Exit(1)
	}
}

func serve(definitions string) error {
	types := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(types), trainer.AddToScheme(types),
		kueue.AddToScheme(types)); err != nil {
		return err
	}
	c := &cluster{Client: fake.NewClientBuilder().WithScheme(types).Build()}
	var err error
	if c.schema, err = workloadSchema(definitions); err != nil {
		return err
	}
	ctx := context.Background()
	if _, err := trainercore.New(ctx, c, c, nil); err != nil {
		return err
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the end of the questions
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(c.answer(ctx, q)); err != nil {
			return err
		}
	}
}

func (c *cluster) answer(ctx context.Context, q question) (a answer) {
	defer func() {
		if r := recover(); r != nil { // as controller-runtime does
			a = answer{Error: fmt.Sprintf("panic: %v", r)}
		}
	}()
	c.question = q
	job := (*trainjob.TrainJob)(q.TrainJob.DeepCopy())
	podSets, err := job.PodSets(ctx, c)
	if err != nil {
		return answer{Error: err.Error()}
	}
	a.PodSets = podSets
	wl := &kueue.Workload{Spec: kueue.WorkloadSpec{PodSets: podSets}}
	wl = wl.DeepCopy()
	workload.AdjustResources(ctx, c, wl)
	for _, set := range workload.NewInfo(wl).TotalRequests {
		a.Totals = append(a.Totals, resources.ToMap(set.Requests))
	}
	for i := range podSets {
		fits := make([]bool, len(q.Flavors))
		for k := range q.Flavors {
			fits[k] = isFit(&podSets[i].Template.Spec, &q.Flavors[k])
		}
		a.Fits = append(a.Fits, fits)
	}
	if q.Workload == nil {
		return a
	}
	q.Workload.Spec.PodSets = podSets
	infos, err := getPodSetsInfoFromStatus(ctx, c, q.Workload)
	if err == nil {
		job = (*trainjob.TrainJob)(q.TrainJob.DeepCopy())
		err = job.RunWithPodSetsInfo(ctx, c, infos)
	}
	if err != nil {
		a.Error = err.Error()
		return a
	}
	for i := range job.Spec.RuntimePatches {
		if p := &job.Spec.RuntimePatches[i]; p.Manager == "kueue.x-k8s.io/manager" {
			a.Patch = p
		}
	}
	return a
}

// isFit is the part of the flavor assigner that needs no ClusterQueue.
func isFit(spec *corev1.PodSpec, flavor *kueue.ResourceFlavor) bool {
	_, untolerated := schedulinghelpers.FindMatchingUntoleratedTaint(logr.Discard(),
		flavor.Spec.NodeTaints, append(spec.Tolerations, flavor.Spec.Tolerations...),
		func(t *corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoSchedule ||
				t.Effect == corev1.TaintEffectNoExecute
		}, true)
	selector := flavorSelector(spec, sets.KeySet(flavor.Spec.NodeLabels))
	match, err := selector.Match(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: flavor.Spec.NodeLabels}})
	return !untolerated && match && err == nil
}

// cluster is the client of an API server with the objects of a question. It has no LimitRange and
// no RuntimeClass.
type cluster struct {
	client.Client
	question
	schema *structural.Structural
}

func (c *cluster) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, into client.Object,
	_ ...client.GetOption) error {
	switch o := into.(type) {
	case *trainer.ClusterTrainingRuntime:
		c.Runtime.DeepCopyInto(o)
		return nil
	case *kueue.ResourceFlavor:
		for i := range c.Flavors {
			if c.Flavors[i].Name == key.Name {
				c.Flavors[i].DeepCopyInto(o)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
}

func (c *cluster) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return nil
}

func (c *cluster) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return nil
}

// Create fills in the defaults of the definition, as the dry run of an API server does.
func (c *cluster) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	wl, ok := o.(*kueue.Workload)
	if !ok {
		return fmt.Errorf("create of a %T", o)
	}
	data, err := json.Marshal(wl)
	if err != nil {
		return err
	}
	var stored map[string]any
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	pruning.Prune(stored, c.schema, true)
	defaulting.Default(stored, c.schema)
	if data, err = json.Marshal(stored); err != nil {
		return err
	}
	*wl = kueue.Workload{}
	return json.Unmarshal(data, wl)
}

func workloadSchema(folder string) (*structural.Structural, error) {
	data, err := os.ReadFile(filepath.Join(folder, "kueue.x-k8s.io_workloads.yaml"))
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, crd); err != nil {
		return nil, err
	}
	for _, v := range crd.Spec.Versions {
		if v.Name != kueue.SchemeGroupVersion.Version {
			continue
		}
		internal := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
			v.Schema.OpenAPIV3Schema, internal, nil); err != nil {
			return nil, err
		}
		return structural.NewStructural(internal)
	}
	return nil, errors.New("the definition lacks the version of the Go types")
}
