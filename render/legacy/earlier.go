package legacy

import "k8s.io/apimachinery/pkg/util/intstr"

// Earlier holds the fields of a TrainJob and its runtime that earlier releases read. The Go types of Trainer 2.3 lack them or
// hold them as another type. Overrides are not among them: they are layers. spec.mlPolicy.torch.elasticPolicy is not, either:
// no controller read it.
type Earlier struct {
	// NumProcPerNode is spec.trainer.numProcPerNode of Trainer 2.0 and 2.1: an integer, or auto, cpu or gpu. If it is set, the
	// field of the Go type is nil.
	NumProcPerNode *intstr.IntOrString
	// TorchNumProcPerNode is spec.mlPolicy.torch.numProcPerNode of the runtime, with its default, in Trainer 2.0 and 2.1.
	TorchNumProcPerNode *intstr.IntOrString
}
