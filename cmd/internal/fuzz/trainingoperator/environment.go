package trainingoperator

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Environment returns the environment of a process in the Pod. The later of two variables with one
// name counts. References to earlier variables are replaced, as by the kubelet. Values that only a
// node or another object knows remain references.
func Environment(pod *corev1.Pod, env []corev1.EnvVar) map[string]string {
	out := map[string]string{}
	for _, e := range env {
		switch from := e.ValueFrom; {
		case from == nil:
			out[e.Name] = expand(e.Value, out)
		case from.FieldRef != nil:
			out[e.Name] = fieldOf(pod, from.FieldRef.FieldPath)
		default:
			out[e.Name] = encoded(from)
		}
	}
	return out
}

// encoded returns a source as an API server stores it: two forms of one quantity are the same
// there.
func encoded(from *corev1.EnvVarSource) string {
	text, err := json.Marshal(from)
	if err != nil {
		return fmt.Sprintf("<%v: %v>", from, err)
	}
	return string(text)
}

// fieldOf returns the label or annotation that a field reference names, or "" if the Pod has none.
// It returns other references as they are.
func fieldOf(pod *corev1.Pod, path string) string {
	for prefix, values := range map[string]map[string]string{
		"metadata.labels['": pod.Labels, "metadata.annotations['": pod.Annotations} {
		if name, ok := strings.CutPrefix(path, prefix); ok {
			return values[strings.TrimSuffix(name, "']")]
		}
	}
	return "<" + path + ">"
}

// expand replaces $(NAME) if the name is known. $$ is a dollar sign.
func expand(text string, known map[string]string) string {
	var out strings.Builder
	for len(text) > 0 {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 == len(text) {
			break
		}
		out.WriteString(text[:i])
		text = text[i:]
		switch text[1] {
		case '$':
			out.WriteByte('$')
			text = text[2:]
		case '(':
			end := strings.IndexByte(text, ')')
			if end < 0 {
				out.WriteString(text)
				return out.String()
			}
			if value, ok := known[text[2:end]]; ok {
				out.WriteString(value)
			} else {
				out.WriteString(text[:end+1])
			}
			text = text[end+1:]
		default:
			out.WriteByte('$')
			text = text[1:]
		}
	}
	out.WriteString(text)
	return out.String()
}
