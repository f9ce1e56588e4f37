package mlpolicy

import (
	"fmt"
	"io"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Object is a companion: an object that the controller applies in addition to the JobSet.
type Object interface {
	runtime.Object
	metav1.Object
}

// Payload is the input for companions that neither the TrainJob nor its runtime contains.
// Companions omits an object without its payload, with a warning that names the object.
type Payload struct {
	// Secrets is a source of cryptographic randomness for keys, such as crypto/rand.Reader. If it
	// is nil, Companions omits the Secrets.
	Secrets io.Reader
	// FluxTemplates is the folder pkg/runtime/framework/plugins/flux/templates of the module
	// github.com/kubeflow/trainer/v2, in the version of the release. If it is nil, Companions omits
	// the ConfigMap of Flux.
	FluxTemplates fs.FS
}

// Companions returns the companions that the policies make, without owner references. They are
// *corev1.ConfigMap, *corev1.Secret, Volcano's *v1beta1.PodGroup, and the PodGroup of
// scheduler-plugins as *unstructured.Unstructured. Call it after Enforce and Schedule. It does not
// change the JobSet, and reports omitted or failed objects in j.Findings.
func Companions(j *Job, payload Payload) []Object {
	var objects []Object
	policy := j.source()
	if policy.MPI != nil {
		if hosts := j.hostfile(); hosts != nil {
			objects = append(objects, hosts)
		}
		if payload.Secrets == nil {
			j.reportOmittedSecret("mpi", j.sshSecretName(), "the launcher's key pair for the nodes")
		} else if secret, err := j.sshSecret(payload.Secrets); err != nil {
			j.noSecret("mpi", j.sshSecretName(), err)
		} else {
			objects = append(objects, secret)
		}
	}
	if policy.Flux != nil {
		if payload.FluxTemplates == nil {
			j.reportOmittedScripts()
		} else if templates, err := j.readFluxTemplates(payload.FluxTemplates); err != nil {
			j.noScripts(err)
		} else {
			objects = append(objects, j.fluxScripts(templates))
		}
		if payload.Secrets == nil {
			j.reportOmittedSecret("flux", j.curveSecretName(), "the certificate of the brokers")
		} else if secret, err := j.curveSecret(payload.Secrets); err != nil {
			j.noSecret("flux", j.curveSecretName(), err)
		} else {
			objects = append(objects, secret)
		}
	}
	if j.StatusServer != nil {
		if j.StatusServer.CA == "" {
			j.reportOmittedCertificate()
		} else {
			objects = append(objects, j.statusConfig())
		}
	}
	if groups := j.Runtime.PodGroupPolicy; groups != nil {
		if groups.Coscheduling != nil {
			objects = append(objects, j.coschedulingGroup())
		}
		if groups.Volcano != nil {
			objects = append(objects, j.volcanoGroup())
		}
	}
	return objects
}

func (j *Job) reportOmittedSecret(policy, name, what string) {
	j.reportOmitted(policy, finding.Finding{
		Message: fmt.Sprintf("the output omits Secret %s/%s with %s, which the controller creates",
			j.TrainJob.Namespace, name, what),
		Remedy: finding.Remedy{Do: finding.Provide, Options: []string{"Secret"},
			Text: "generate the Secret"},
	})
}

func (j *Job) noSecret(policy, name string, err error) {
	j.reportRuntime(codes.Payload, finding.Error, fieldpath.Fields("spec", "mlPolicy", policy),
		fmt.Sprintf("cannot generate Secret %s/%s: %v", j.TrainJob.Namespace, name, err),
		"pass a working source of random bytes")
}

func (j *Job) reportOmittedScripts() {
	j.reportOmitted("flux", finding.Finding{
		Message: fmt.Sprintf("the output omits ConfigMap %s/%s with the Trainer's scripts",
			j.TrainJob.Namespace, j.fluxScriptsName()),
		Remedy: finding.Remedy{
			Do: finding.Provide, Options: []string{"ConfigMap"},
			Text: "name their folder " + j.fluxFolder(),
		},
	})
}

// reportOmitted reports an omitted object of a policy. A program may add how to include it.
func (j *Job) reportOmitted(policy string, f finding.Finding) {
	f.Code, f.Severity, f.Object, f.Path = codes.LeftOut, finding.Warning, j.RuntimeID,
		fieldpath.Fields("spec", "mlPolicy", policy)
	j.report(f)
}

func (j *Job) noScripts(err error) {
	j.reportRuntime(codes.Payload, finding.Error, fieldpath.Fields("spec", "mlPolicy", "flux"),
		fmt.Sprintf("cannot render ConfigMap %s/%s from the Flux templates: %v",
			j.TrainJob.Namespace, j.fluxScriptsName(), err),
		"name the folder "+j.fluxFolder())
}

func (j *Job) fluxFolder() string {
	return "pkg/runtime/framework/plugins/flux/templates of the module " +
		"github.com/kubeflow/trainer/v2 v" + j.Release.Version
}

func (j *Job) reportOmittedCertificate() {
	j.reportTrainJob(codes.LeftOut, finding.Warning, nil,
		fmt.Sprintf("the output omits ConfigMap %s/%s with the certificate of the controller's "+
			"status server", j.TrainJob.Namespace, j.statusConfigName()),
		"apply the TrainJob: the controller creates it")
}
