package output

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// WriteNames writes a line for each object, like kubectl with -o name: jobset.jobset.x-k8s.io/llm.
// If the cluster generates the name, the line ends with its prefix. It returns the errors of w and
// of the objects.
func WriteNames(w io.Writer, objects iter.Seq2[any, error]) error {
	buffer := bufio.NewWriterSize(w, 1<<16)
	for o, err := range objects {
		if err != nil {
			return err
		}
		line, err := nameOf(o)
		if err != nil {
			return err
		}
		if _, err := buffer.WriteString(line + "\n"); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

func nameOf(o any) (string, error) {
	object, ok := o.(runtime.Object)
	if !ok {
		return "", fmt.Errorf("%T is not an API object", o)
	}
	metadata, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	kind := object.GetObjectKind().GroupVersionKind()
	name := strings.ToLower(kind.Kind)
	if kind.Group != "" {
		name += "." + kind.Group
	}
	if metadata.GetName() == "" {
		return name + "/" + metadata.GetGenerateName(), nil
	}
	return name + "/" + metadata.GetName(), nil
}
