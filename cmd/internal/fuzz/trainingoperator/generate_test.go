package trainingoperator_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/trainingjob"
	"github.com/trainweld/trainweld/fuzz"
)

//go:embed testdata/jobs.yaml
var jobsText []byte

type object = map[string]any

var templates = sync.OnceValue(func() (all object) {
	text, err := yaml.YAMLToJSON(jobsText)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, &all)
	}
	if err != nil {
		panic(err)
	}
	return all
})

// newJob makes the job of a number: the same job of the same number.
func newJob(number uint64) apiruntime.Object {
	r := rand.New(rand.NewPCG(number, 7))
	kinds := templates()["kinds"].(object)
	kind := slices.Sorted(maps.Keys(kinds))[r.IntN(len(kinds))]
	k := fuzz.Expand(r, kinds[kind]).(object)
	draw := func(part string) object { return fuzz.Expand(r, templates()[part]).(object) }
	made, replicas := draw("job"), object{}
	spec := made["spec"].(object)
	maps.Copy(spec, k["spec"].(object))
	spec[k["replicas"].(string)] = replicas
	var first object
	alike := r.IntN(2) == 0
	for _, of := range k["types"].([]any) {
		replica := draw("replica")
		if alike && first != nil {
			replica = maps.Clone(first)
		}
		first = replica
		delete(replica, "replicas")
		if of == k["lead"] {
			replica["replicas"] = 1
		} else if r.IntN(4) > 0 {
			replica["replicas"] = 1 + r.IntN(4)
		}
		replicas[of.(string)] = replica
	}
	text, err := json.Marshal(made)
	name, index := made["metadata"].(object)["name"].(string), "replica-index"
	if kind == kubeflow.MPIJobKind {
		index = "job-name" // the operator gives a launcher no index
	}
	host := fmt.Sprintf("%s-%s-%d", name, []string{"worker", "master", "chief", "ps"}[r.IntN(4)],
		r.IntN(3))
	job := trainingjob.New(kind)
	if err == nil {
		err = json.Unmarshal([]byte(strings.NewReplacer("NAME-", name+"-", "HOST", host, "MAIN",
			k["main"].(string), "PORT", k["port"].(string), "INDEX", index).Replace(string(text))), job)
	}
	if err != nil {
		panic(err)
	}
	if mpi, ok := job.(*kubeflow.MPIJob); ok {
		withWorkers(r, mpi)
	}
	return job
}

// withWorkers gives the workers of an MPIJob a command that waits, or none.
func withWorkers(r *rand.Rand, job *kubeflow.MPIJob) {
	worker := job.Spec.MPIReplicaSpecs["Worker"]
	containers := worker.Template.Spec.Containers
	containers[0].Command, containers[0].Args = nil, nil
	waits := [][]string{{"/usr/sbin/sshd", "-De"}, {"sleep", "infinity"}}
	if r.IntN(3) == 0 {
		containers[0].Command = waits[r.IntN(2)]
	}
	if len(containers) > 1 && r.IntN(2) == 0 {
		job.Spec.MainContainer, containers[1].Command = containers[1].Name, waits[0]
	}
	if r.IntN(6) == 0 {
		worker.Replicas = new(int32(0))
	}
}
