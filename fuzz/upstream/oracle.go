// Package upstream compares trainweld with the code of each release of the Trainer and of its
// JobSet.
//
// The code runs behind package oracle. The latest release runs in this program. An earlier one runs
// in a separate program, in the folders of fuzz/releases:
//
//	u, err := upstream.Latest(modules)    // or upstream.Start("2.2", "../..", dir)
//	if err != nil {
//		return err
//	}
//	outcome, err := u.Render(trainJob, runtime) // both as JSON objects
//
// The package's tests compare trainweld's renderings with it. The inputs are the TrainJobs of the
// module's own examples, the cases of a folder, and generated pairs. A failure prints the smallest
// pair that still differs and the command to repeat it:
//
//	TRAINWELD_PAIR=42 go test -run TestPairs .      one pair
//	TRAINWELD_SEED=7 go test -run TestPairs .       another series of pairs
//	TRAINWELD_PAIRS=20000 go test -run TestPairs .  a longer one
//	go test -run TestPairs . -release 2.2           an earlier release
//
// Another comparison asks an API server whether it accepts generated and mutated objects. The
// server has the definitions and the webhooks of the release. The comparison covers new objects and
// changes, and compares package admission's verdict:
//
//	TRAINWELD_VERDICT=42 go test -run TestVerdicts .                            one case
//	TRAINWELD_SEED=5000 TRAINWELD_VERDICTS=5000 go test -run TestVerdicts .     the cases 5000 to 9999
//
// It is a module of its own, so that programs with trainweld link no controller.
package upstream

import (
	"context"
	"fmt"
	"path/filepath"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"

	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/oracle/jobs"
	"github.com/trainweld/trainweld/fuzz/oracle/training"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// Object is an object as JSON.
type Object = oracle.Object

// Upstream is the code of one release. Its methods must not run concurrently.
type Upstream struct {
	// Release is the release that the code is of.
	Release *release.Release
	// Modules are the directories of its modules.
	Modules oracle.Modules
	// API decodes objects by the release. It is nil for the latest one, as without
	// --trainer-version.
	API *manifest.API

	// Warnings are the webhooks' warnings about the last object that Apply created or updated.
	Warnings []string

	trainer, jobSet asker
}

// asker is an oracle in this program, or one in another.
type asker interface {
	Ask(oracle.Question) (oracle.Answer, error)
}

// New returns the latest release's code in this program.
func New(modules oracle.Modules) (*oracle.Oracle, error) {
	trainer := training.Code{
		Types: []func(*apiruntime.Scheme) error{coscheduling.AddToScheme, volcano.AddToScheme},
		Runtimes: func(ctx context.Context, c client.Client,
			indexer client.FieldIndexer) (map[string]trainerruntime.Runtime, error) {
			return core.New(ctx, c, indexer, &configapi.Configuration{})
		},
		Labeled: true,
	}
	jobSet := jobs.Code{
		Webhooks: webhooks.Setup,
		Reconciler: func(c client.Client, scheme *apiruntime.Scheme) reconcile.Reconciler {
			return controllers.NewJobSetReconciler(c, scheme, events.NewFakeRecorder(1000))
		},
	}
	return oracle.New(trainer, jobSet, modules)
}

// Latest returns the latest release, in this program.
func Latest(modules oracle.Modules) (*Upstream, error) {
	o, err := New(modules)
	return &Upstream{Release: release.Latest(), Modules: modules, trainer: o, jobSet: o}, err
}

// programs are the modules of the earlier releases. The last one of a release has its JobSet.
// fuzz/releases/renew makes those in bin.
var programs = map[string][]string{
	"2.0": {"bin/releases/v20"}, "2.1": {"bin/releases/v21"},
	"2.2": {"fuzz/releases/v22", "fuzz/releases/v22jobset"},
}

// Start builds the programs of an earlier release into a directory, and starts them. Their modules
// are in the repository.
func Start(version, repository, dir string) (*Upstream, error) {
	r, err := release.Parse(version)
	if err != nil {
		return nil, err
	}
	if programs[r.Name] == nil {
		reason := "it is linked, and needs no program"
		if r.Unread() {
			reason = "its source was not read; see docs/CONTRIBUTING.md"
		}
		return nil, fmt.Errorf("no program runs Trainer %s: %s", r.Version, reason)
	}
	var started []*oracle.Process
	for _, program := range programs[r.Name] {
		p, err := oracle.Start(filepath.Join(repository, filepath.FromSlash(program)), dir)
		if err != nil {
			return nil, err
		}
		started = append(started, p)
	}
	first, last := started[0], started[len(started)-1]
	return &Upstream{
		Release: r, API: manifest.NewAPI(r, nil), trainer: first, jobSet: last,
		Modules: oracle.Modules{Trainer: first.Modules.Trainer, JobSet: last.Modules.JobSet},
	}, nil
}

// Stop ends the programs.
func (u *Upstream) Stop() (err error) {
	for i, a := range []asker{u.trainer, u.jobSet} {
		if p, ok := a.(*oracle.Process); ok && (i == 0 || a != u.trainer) {
			if failed := p.Stop(); failed != nil {
				err = failed
			}
		}
	}
	return err
}

// Render handles a TrainJob as a cluster with the runtime does: see oracle.Oracle.
func (u *Upstream) Render(trainJob, runtime Object, later ...Object) (oracle.Outcome, error) {
	a, err := u.trainer.Ask(
		oracle.Question{Render: &oracle.Pair{TrainJob: trainJob, Runtime: runtime, Later: later}})
	if err != nil {
		return oracle.Outcome{}, err
	}
	return *a.Outcome, nil
}

// Prune returns the object without the fields that the release lacks.
func (u *Upstream) Prune(object Object) (Object, error) {
	a, err := u.of(object).Ask(oracle.Question{Prune: object})
	return a.Object, err
}

// Hold makes the cluster hold stored objects, and nothing else.
func (u *Upstream) Hold(objects ...Object) error {
	_, err := u.trainer.Ask(oracle.Question{Hold: &oracle.Held{Objects: objects}})
	return err
}

// Apply creates an object, or updates old. It returns the object as stored, or the reasons for
// which it is rejected.
func (u *Upstream) Apply(object, old Object) (stored Object, rejected []string, err error) {
	a, err := u.of(object).Ask(oracle.Question{Apply: &oracle.Request{Object: object, Old: old}})
	u.Warnings = a.Warnings
	return a.Object, a.Rejected, err
}

// Form reports whether the API server rejects a new object for its form, before any webhook.
func (u *Upstream) Form(object Object) (rejected bool, err error) {
	a, err := u.of(object).Ask(oracle.Question{Form: object})
	return len(a.Rejected) > 0, err
}

// Children returns a JobSet as it is stored, and what its controller creates.
func (u *Upstream) Children(jobSet Object) (*oracle.Children, error) {
	a, err := u.jobSet.Ask(oracle.Question{Children: jobSet})
	return a.Children, err
}

// Pod returns a new Pod as JobSet's webhook leaves it.
func (u *Upstream) Pod(pod Object) (Object, error) {
	a, err := u.jobSet.Ask(oracle.Question{Pod: pod})
	return a.Object, err
}

func (u *Upstream) of(object Object) asker {
	if object["kind"] == "JobSet" {
		return u.jobSet
	}
	return u.trainer
}
