package podapi

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// checkEnv checks a container's variables and their sources.
func (p *podChecker) checkEnv(c podContainer) {
	list := c.at.Append(fieldpath.Field("env"))
	steps := envSteps(c.Env)
	for i := range c.Env {
		env := &c.Env[i]
		if problems := validation.IsRelaxedEnvVarName(env.Name); len(problems) > 0 {
			name := list.Append(steps[i], fieldpath.Field("name"))
			if apirule.Required(p.report, codes.Env, name, env.Name) {
				apirule.Valid(p.report, codes.Env, name, env.Name, problems,
					"use letters, digits and underscores")
			}
		}
		if env.ValueFrom != nil {
			p.checkValueFrom(env, list.Append(steps[i], fieldpath.Field("valueFrom")))
		}
	}
	p.checkEnvFrom(c)
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

func (p *podChecker) checkValueFrom(env *corev1.EnvVar, at fieldpath.Path) {
	from, sources := env.ValueFrom, 0
	if from.FieldRef != nil {
		sources++
		p.checkFieldRef(from.FieldRef, envFields, codes.Env, at.Append(fieldpath.Field("fieldRef")))
	}
	if from.ResourceFieldRef != nil {
		sources++
		p.checkResourceRef(from.ResourceFieldRef, false, codes.Env,
			at.Append(fieldpath.Field("resourceFieldRef")))
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		sources++
		p.checkKeyRef(ref.Name, ref.Key, at.Append(fieldpath.Field("configMapKeyRef")))
	}
	if ref := from.SecretKeyRef; ref != nil {
		sources++
		p.checkKeyRef(ref.Name, ref.Key, at.Append(fieldpath.Field("secretKeyRef")))
	}
	if ref := from.FileKeyRef; ref != nil {
		sources++
		p.checkFileRef(ref, at.Append(fieldpath.Field("fileKeyRef")))
	}
	switch {
	case sources == 0:
		p.report(codes.Env, at,
			apirule.Invalid(
				"", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "+
					"`secretKeyRef` or `fileKeyRef`"), "set one of them, or set value")
	case env.Value != "":
		p.report(codes.ValueAndValueFrom, at,
			apirule.Invalid("", "may not be specified when `value` is not empty"),
			"keep one of the two")
	case sources > 1:
		p.report(codes.TwoSources, at,
			apirule.Invalid("", "may not have more than one field specified at a time"), "keep one")
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
func (p *podChecker) checkFieldRef(ref *corev1.ObjectFieldSelector, fields []string,
	code finding.Code, at fieldpath.Path) {
	path := at.Append(fieldpath.Field("fieldPath"))
	if !apirule.Required(p.report, code, path, ref.FieldPath) {
		return
	}
	if ref.APIVersion != "" && ref.APIVersion != "v1" {
		p.report(code, path,
			apirule.Invalid(ref.FieldPath,
				fmt.Sprintf("error converting fieldPath: unsupported pod version: %s",
					ref.APIVersion)), "remove apiVersion")
		return
	}
	field := ref.FieldPath
	if field == "spec.host" {
		field = "spec.nodeName" // its former name
	}
	if of, key, ok := subscript(field); ok {
		if of != "metadata.labels" && of != "metadata.annotations" {
			p.report(code, path, apirule.Invalid(of, "does not support subscript"),
				"use a label or an annotation")
			return
		}
		if of == "metadata.annotations" {
			key = strings.ToLower(key)
		}
		apirule.QualifiedName(p.report, code, path, key)
		return
	}
	if !slices.Contains(fields, field) {
		p.report(code, path, apirule.Unsupported(field, fields...),
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

func (p *podChecker) checkResourceRef(ref *corev1.ResourceFieldSelector, file bool,
	code finding.Code, at fieldpath.Path) {
	path := at.Append(fieldpath.Field("resource"))
	hugePages := strings.HasPrefix(ref.Resource, "limits.hugepages-") ||
		strings.HasPrefix(ref.Resource, "requests.hugepages-")
	switch {
	case file && ref.ContainerName == "":
		p.report(code, at.Append(fieldpath.Field("containerName")), apirule.Missing(""),
			"name the container")
	case !apirule.Required(p.report, code, path, ref.Resource):
	case !slices.Contains(containerResources, ref.Resource) && !hugePages:
		p.report(code, path, apirule.Unsupported(ref.Resource, containerResources...),
			"use a supported resource")
	}
	if zero := (resource.Quantity{}); ref.Divisor.Cmp(zero) == 0 {
		return
	}
	divisors := []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi",
		"1Ei"}
	if strings.HasSuffix(ref.Resource, ".cpu") {
		divisors = []string{"1m", "1"}
	}
	if (hugePages || slices.Contains(containerResources, ref.Resource)) &&
		!slices.Contains(divisors, ref.Divisor.String()) {
		kind := strings.ReplaceAll(ref.Resource[strings.Index(ref.Resource, ".")+1:],
			"ephemeral-storage", "local ephemeral storage")
		if hugePages {
			kind = "hugepages"
		}
		allowed := strings.Join(divisors, ", ")
		if kind == "cpu" {
			allowed = "1m and 1"
		}
		p.report(code, at.Append(fieldpath.Field("divisor")),
			apirule.Invalid(ref.Resource,
				fmt.Sprintf("only divisor's values %s are supported with the %s resource", allowed,
					kind)), "use one of these divisors")
	}
}

func (p *podChecker) checkKeyRef(name, key string, at fieldpath.Path) {
	apirule.DNSSubdomain(p.report, codes.Env, at.Append(fieldpath.Field("name")), name)
	if !apirule.Required(p.report, codes.Env, at.Append(fieldpath.Field("key")), key) {
		return
	}
	apirule.Valid(p.report, codes.Env, at.Append(fieldpath.Field("key")), key,
		validation.IsConfigMapKey(key), "use letters, digits, dashes, underscores and dots")
}

// checkFileRef checks a variable from a file that an init container wrote.
func (p *podChecker) checkFileRef(ref *corev1.FileKeySelector, at fieldpath.Path) {
	if apirule.Required(p.report, codes.Env, at.Append(fieldpath.Field("key")), ref.Key) {
		apirule.Valid(p.report, codes.Env, at.Append(fieldpath.Field("key")), ref.Key,
			validation.IsRelaxedEnvVarName(ref.Key), "use letters, digits and underscores")
	}
	if apirule.Required(p.report, codes.Env, at.Append(fieldpath.Field("path")), ref.Path) {
		apirule.NoWayUp(p.report, codes.Env, at.Append(fieldpath.Field("path")), ref.Path)
	}
	volume := at.Append(fieldpath.Field("volumeName"))
	if !apirule.Required(p.report, codes.Env, volume, ref.VolumeName) {
		return
	}
	i := slices.IndexFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == ref.VolumeName
	})
	switch {
	case i < 0:
		p.report(codes.Env, volume, apirule.NotFound(ref.VolumeName),
			"use a volume of the Pod that is an emptyDir")
	case p.Spec.Volumes[i].EmptyDir == nil && len(sources(&p.Spec.Volumes[i])) > 0:
		p.report(codes.Env, volume,
			apirule.Invalid(ref.VolumeName, "referenced volume must be of type emptyDir"),
			"use a volume that is an emptyDir")
	}
}

func (p *podChecker) checkEnvFrom(c podContainer) {
	for i := range c.EnvFrom {
		from := &c.EnvFrom[i]
		at := c.at.Append(fieldpath.Field("envFrom"), fieldpath.Index(i))
		if from.Prefix != "" {
			apirule.Valid(p.report, codes.Env, at.Append(fieldpath.Field("prefix")), from.Prefix,
				validation.IsRelaxedEnvVarName(from.Prefix), "use letters, digits and underscores")
		}
		if ref := from.ConfigMapRef; ref != nil {
			p.checkSourceName(ref.Name, at.Append(fieldpath.Fields("configMapRef", "name")...))
		}
		if ref := from.SecretRef; ref != nil {
			p.checkSourceName(ref.Name, at.Append(fieldpath.Fields("secretRef", "name")...))
		}
		switch {
		case from.ConfigMapRef == nil && from.SecretRef == nil:
			p.report(codes.Env, at,
				apirule.Invalid("", "must specify one of: `configMapRef` or `secretRef`"),
				"set configMapRef or secretRef")
		case from.ConfigMapRef != nil && from.SecretRef != nil:
			p.report(codes.TwoSources, at,
				apirule.Invalid("", "may not have more than one field specified at a time"),
				"keep one")
		}
	}
}

func (p *podChecker) checkSourceName(name string, path fieldpath.Path) {
	if !apirule.Required(p.report, codes.Env, path, name) {
		return
	}
	if n := len(name); n > 1 && name[n-1] == '-' {
		name = name[:n-2] + "a" // the API server allows a final dash, as in a prefix of a name
	}
	apirule.DNSSubdomain(p.report, codes.Env, path, name)
}
