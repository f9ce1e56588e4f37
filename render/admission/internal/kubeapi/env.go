package kubeapi

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
)

// checkEnv checks a container's variables and their sources.
func (p *podChecker) checkEnv(c podContainer) {
	list := c.at.As(codes.Env).Field("env")
	steps := envSteps(c.Env)
	for i := range c.Env {
		env := &c.Env[i]
		if problems := validation.IsRelaxedEnvVarName(env.Name); len(problems) > 0 {
			list.Step(steps[i]).Field("name").variable(env.Name, problems)
		}
		if env.ValueFrom != nil {
			p.checkValueFrom(env, list.Step(steps[i]).Field("valueFrom"))
		}
	}
	p.checkEnvFrom(c)
}

// variable reports a name of a variable that is missing or has problems.
func (a *At) variable(name string, problems []string) {
	if a.Required(name) {
		a.Valid(name, problems, "use letters, digits and underscores")
	}
}

// envSteps returns the steps to variables: the name if it is unique, else the position.
func envSteps(env []corev1.EnvVar) []fieldpath.Step {
	count := make(map[string]int, len(env))
	for i := range env {
		count[env[i].Name]++
	}
	steps := make([]fieldpath.Step, len(env))
	for i := range env {
		if name := env[i].Name; name != "" && count[name] == 1 {
			steps[i] = fieldpath.Item("name", name)
		} else {
			steps[i] = fieldpath.Index(i)
		}
	}
	return steps
}

const oneAtATime = "may not have more than one field specified at a time"

func (p *podChecker) checkValueFrom(env *corev1.EnvVar, at *At) {
	from, sources := env.ValueFrom, 0
	if from.FieldRef != nil {
		sources++
		checkFieldRef(from.FieldRef, envFields, at.Field("fieldRef"))
	}
	if from.ResourceFieldRef != nil {
		sources++
		checkResourceRef(from.ResourceFieldRef, at.Field("resourceFieldRef"))
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		sources++
		checkKeyRef(ref.Name, ref.Key, at.Field("configMapKeyRef"))
	}
	if ref := from.SecretKeyRef; ref != nil {
		sources++
		checkKeyRef(ref.Name, ref.Key, at.Field("secretKeyRef"))
	}
	if ref := from.FileKeyRef; ref != nil {
		sources++
		p.checkFileRef(ref, at.Field("fileKeyRef"))
	}
	switch {
	case sources == 0:
		at.Invalid("", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "+
			"`secretKeyRef` or `fileKeyRef`", "set one of them, or set value")
	case env.Value != "":
		at.As(codes.ValueAndValueFrom).Invalid("", "may not be specified when `value` is not empty",
			"keep one of the two")
	case sources > 1:
		at.As(codes.TwoSources).Invalid("", oneAtATime, "keep one")
	}
}

// envFields and volumeFields are the Pod fields that a variable or a file can hold. Both can also
// hold single labels and annotations.
var (
	envFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP",
		"status.podIPs"}
	volumeFields = []string{"metadata.name", "metadata.namespace", "metadata.labels",
		"metadata.annotations", "metadata.uid"}
)

// checkFieldRef checks a reference to a field of the Pod.
func checkFieldRef(ref *corev1.ObjectFieldSelector, fields []string, at *At) {
	if at = at.Field("fieldPath"); !at.Required(ref.FieldPath) {
		return
	}
	if ref.APIVersion != "" && ref.APIVersion != "v1" {
		at.Invalid(ref.FieldPath, "error converting fieldPath: unsupported pod version: "+
			ref.APIVersion, "remove apiVersion")
		return
	}
	field := ref.FieldPath
	if field == "spec.host" {
		field = "spec.nodeName" // its former name
	}
	switch of, key, ok := subscript(field); {
	case ok && of == "metadata.labels":
		at.Qualified(key)
	case ok && of == "metadata.annotations":
		at.Qualified(strings.ToLower(key))
	case ok:
		at.Invalid(of, "does not support subscript", "use a label or an annotation")
	case !slices.Contains(fields, field):
		at.Reject(Unsupported(field, fields...),
			"use a supported field, or a label or annotation such as metadata.labels['app']")
	}
}

// subscript splits a path such as metadata.labels['app'] into the field and the key.
func subscript(path string) (of, key string, ok bool) {
	rest, ok := strings.CutSuffix(path, "']")
	if !ok {
		return "", "", false
	}
	of, key, ok = strings.Cut(rest, "['")
	return of, key, ok && of != ""
}

// containerResources are the resources of a container that a variable or a file can hold.
var containerResources = []string{
	"limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu", "requests.memory",
	"requests.ephemeral-storage",
}

// checkResourceRef checks a reference to a resource of a container.
func checkResourceRef(ref *corev1.ResourceFieldSelector, at *At) {
	if _, known := resourceKind(ref); at.Field("resource").Required(ref.Resource) && !known {
		at.Field("resource").Reject(Unsupported(ref.Resource, containerResources...),
			"use a supported resource")
	}
	checkDivisor(ref, at)
}

// resourceKind returns the name of a resource in the API server's words, and whether there is one.
func resourceKind(ref *corev1.ResourceFieldSelector) (kind string, known bool) {
	if strings.HasPrefix(ref.Resource, "limits.hugepages-") ||
		strings.HasPrefix(ref.Resource, "requests.hugepages-") {
		return "hugepages", true
	}
	_, kind, _ = strings.Cut(ref.Resource, ".")
	return strings.ReplaceAll(kind, "ephemeral-storage", "local ephemeral storage"),
		slices.Contains(containerResources, ref.Resource)
}

func checkDivisor(ref *corev1.ResourceFieldSelector, at *At) {
	kind, known := resourceKind(ref)
	if zero := (resource.Quantity{}); !known || ref.Divisor.Cmp(zero) == 0 {
		return
	}
	divisors, allowed := []string{"1m", "1"}, "1m and 1"
	if kind != "cpu" {
		divisors = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti",
			"1Pi", "1Ei"}
		allowed = strings.Join(divisors, ", ")
	}
	if !slices.Contains(divisors, ref.Divisor.String()) {
		at.Field("divisor").Invalid(ref.Resource,
			fmt.Sprintf("only divisor's values %s are supported with the %s resource", allowed,
				kind), "use one of these divisors")
	}
}

func checkKeyRef(name, key string, at *At) {
	at.Field("name").Subdomain(name)
	if at = at.Field("key"); at.Required(key) {
		at.Valid(key, validation.IsConfigMapKey(key),
			"use letters, digits, dashes, underscores and dots")
	}
}

// checkFileRef checks a variable from a file that an init container wrote.
func (p *podChecker) checkFileRef(ref *corev1.FileKeySelector, at *At) {
	at.Field("key").variable(ref.Key, validation.IsRelaxedEnvVarName(ref.Key))
	if path := at.Field("path"); path.Required(ref.Path) {
		path.NoWayUp(ref.Path)
	}
	if at = at.Field("volumeName"); !at.Required(ref.VolumeName) {
		return
	}
	i := slices.IndexFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == ref.VolumeName
	})
	switch {
	case i < 0:
		at.Reject(notFound(ref.VolumeName), "use a volume of the Pod that is an emptyDir")
	case p.Spec.Volumes[i].EmptyDir == nil && len(sources(&p.Spec.Volumes[i])) > 0:
		at.Invalid(ref.VolumeName, "referenced volume must be of type emptyDir",
			"use a volume that is an emptyDir")
	}
}

func (p *podChecker) checkEnvFrom(c podContainer) {
	for i := range c.EnvFrom {
		from := &c.EnvFrom[i]
		at := c.at.As(codes.Env).Field("envFrom").Index(i)
		if from.Prefix != "" {
			at.Field("prefix").variable(from.Prefix, validation.IsRelaxedEnvVarName(from.Prefix))
		}
		if ref := from.ConfigMapRef; ref != nil {
			checkSourceName(ref.Name, at.Field("configMapRef", "name"))
		}
		if ref := from.SecretRef; ref != nil {
			checkSourceName(ref.Name, at.Field("secretRef", "name"))
		}
		switch {
		case from.ConfigMapRef == nil && from.SecretRef == nil:
			at.Invalid("", "must specify one of: `configMapRef` or `secretRef`",
				"set configMapRef or secretRef")
		case from.ConfigMapRef != nil && from.SecretRef != nil:
			at.As(codes.TwoSources).Invalid("", oneAtATime, "keep one")
		}
	}
}

func checkSourceName(name string, at *At) {
	if !at.Required(name) {
		return
	}
	if n := len(name); n > 1 && name[n-1] == '-' {
		name = name[:n-2] + "a" // the API server allows a final dash, as in a prefix of a name
	}
	at.Subdomain(name)
}
