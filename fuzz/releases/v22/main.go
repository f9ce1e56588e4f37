// Command v22 answers with the code of Trainer 2.2.1: see package oracle. The code of JobSet 0.11
// does not compile with the libraries of this Trainer: command v22jobset has it.
package main

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"

	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/oracle/training"
)

func main() {
	trainer := training.Code{
		Types:    []func(*apiruntime.Scheme) error{coscheduling.AddToScheme, volcano.AddToScheme},
		Runtimes: runtimes,
	}
	oracle.Main(trainer, nil)
}

func runtimes(ctx context.Context, c client.Client,
	indexer client.FieldIndexer) (map[string]trainerruntime.Runtime, error) {
	return core.New(ctx, c, indexer, &configapi.Configuration{})
}
