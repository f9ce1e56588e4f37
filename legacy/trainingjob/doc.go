// Package trainingjob answers what a training job of kubeflow.org/v1 is today: a PyTorchJob, MPIJob,
// XGBoostJob, JAXJob, TFJob or PaddleJob becomes a TrainJob and the TrainingRuntime that it runs on.
//
//	result, findings := trainingjob.Convert(job, trainingjob.Options{})
//	if err := findings.Err(); err != nil {
//		return err // every field that cannot be carried, and why
//	}
//	err := manifest.Encode(out, manifest.YAML, result.Objects()...)
//
// # What is kept
//
// The Pods of the new TrainJob are those that the old API promised: as many, with the same images,
// commands, resources and volumes, and with every environment variable that the old controller set, under
// its old name. docs/migrate.md has a row for each field and each variable, and says which are carried,
// which are mapped and how, and which are refused and why. What changes its meaning on the way is a
// warning, what cannot be carried an error: then there is no result.
//
// # Two layouts
//
// Where all Pods are of one kind, because there is one replica type or because master and worker agree,
// they become one replicated job called node, under the policy of their framework, and what changes from run
// to run stands in spec.trainer of the TrainJob. Else each replica type becomes a replicated job of its own,
// without a policy, and the runtime says everything: no policy of Trainer 2.3 counts the nodes of two jobs.
//
//	trainingjob.go  Convert
//	source.go       the old job: its replica types, and what the old API itself refuses
//	role.go         a replicated job, and where its Pods are found
//	pod.go          the Pod templates, and the names within them that changed
//	policy.go       restarts, deadlines and the end of a job
//	gang.go         gang scheduling
//	pytorch.go …    a kind each: its variables, its policy, when it is done
//	assemble.go     the runtime and the TrainJob
//	existing.go     the TrainJob on a runtime that exists
//
// The types of the old API are those of github.com/kubeflow/training-operator v1.9.3, and what is said of
// its controllers is read from that version.
package trainingjob
