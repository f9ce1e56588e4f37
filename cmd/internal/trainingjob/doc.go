// Package trainingjob converts a training job of kubeflow.org/v1 to a TrainJob and its
// TrainingRuntime. The job is a PyTorchJob, MPIJob, XGBoostJob, JAXJob, TFJob or PaddleJob.
//
//	result, findings := trainingjob.Convert(job, trainingjob.Options{})
//	if err := findings.Err(); err != nil {
//		return err // every field that cannot be converted, with the reason
//	}
//	err := manifest.Encode(out, manifest.YAML, result.Objects()...)
//
// # Guarantees
//
// The new TrainJob has the Pods of the old API: the same number, images, commands, resources and
// volumes. It has every environment variable of the old controller under its old name.
// docs/migrate.md lists each field and each variable. It gives the reason why each is kept,
// converted or rejected. A changed meaning is a warning. A field that cannot be converted is an
// error. Convert then returns no result.
//
// # Two layouts
//
// If there is one replica type, or master and worker agree, all Pods are of one kind. They become
// one replicated job called node, under the policy of their framework. The TrainJob's spec.trainer
// holds the values that change between runs. Otherwise each replica type becomes a replicated job
// without a policy, and the runtime holds all values. The reason is that no policy of Trainer 2.3
// counts the nodes of two jobs.
//
//	trainingjob.go  Convert
//	rules.yaml      what it reports, by the names of rules.go
//	source.go       the old job: its replica types, and the checks of the old API
//	role.go         a replicated job, and the addresses of its Pods
//	pod.go          the Pod templates with new names
//	policy.go       restarts, deadlines and the end of a job
//	gang.go         gang scheduling
//	pytorch.go …    one kind each: its variables, its policy and its end
//	assemble.go     the runtime and the TrainJob
//
// The types of the old API and the facts about its controllers come from
// github.com/kubeflow/training-operator v1.9.3.
//
// Its first file to read is trainingjob.go.
package trainingjob
