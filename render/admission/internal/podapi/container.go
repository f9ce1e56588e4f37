package podapi

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// podContainer is a container of a Pod and its path.
type podContainer struct {
	*corev1.Container
	at   fieldpath.Path
	init bool
}

// sidecar reports whether an init container keeps running with the other containers.
func (c *podContainer) sidecar() bool {
	return c.init && c.RestartPolicy != nil &&
		*c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// containers returns the Pod's containers, init containers first. The list is shared.
func (p *podChecker) containers() []podContainer {
	if p.listed != nil {
		return p.listed
	}
	all := make([]podContainer, 0, len(p.Spec.InitContainers)+len(p.Spec.Containers))
	add := func(list string, containers []corev1.Container, init bool) {
		steps := nameSteps(len(containers), func(i int) string { return containers[i].Name })
		for i := range containers {
			all = append(
				all, podContainer{&containers[i], p.at.Append(fieldpath.Field(list), steps[i]),
					init})
		}
	}
	add("initContainers", p.Spec.InitContainers, true)
	add("containers", p.Spec.Containers, false)
	p.listed = all
	return all
}

// nameSteps returns the steps to the items of a list. A step is the name, or the position if an
// earlier item has the same name.
func nameSteps(n int, name func(i int) string) []fieldpath.Step {
	steps := make([]fieldpath.Step, n)
	seen := map[string]bool{"": true}
	for i := range steps {
		if seen[name(i)] {
			steps[i] = fieldpath.Index(i)
		} else {
			steps[i] = fieldpath.Item("name", name(i))
		}
		seen[name(i)] = true
	}
	return steps
}

func (p *podChecker) checkContainers() {
	if len(p.Spec.Containers) == 0 {
		p.report(codes.PodSpec, p.field("containers"), apirule.Missing(""), "add one")
	}
	outer := p.report
	for _, c := range p.containers() {
		p.report, c.at = apirule.Within(c.at, outer), nil
		p.checkContainer(c)
	}
	p.report = outer
	p.checkUniqueNames()
	p.checkHostPorts(false)
}

// checkUniqueNames reports duplicate names. Containers and init containers share their names.
func (p *podChecker) checkUniqueNames() {
	seen := map[string]bool{}
	// The API server reports the init container if both lists have the same name.
	all, init := p.containers(), len(p.Spec.InitContainers)
	for _, c := range slices.Concat(all[init:], all[:init]) {
		if c.Name == "" {
			continue
		}
		if seen[c.Name] {
			p.report(codes.BadName, c.at.Append(fieldpath.Field("name")), apirule.Duplicate(c.Name),
				"rename one of the containers")
		}
		seen[c.Name] = true
	}
}

func (p *podChecker) checkContainer(c podContainer) {
	if name := c.at.Append(fieldpath.Field("name")); apirule.Required(p.report, codes.BadName, name,
		c.Name) {
		apirule.DNSLabel(p.report, codes.BadName, name, c.Name)
	}
	if c.Image == "" {
		p.report(codes.NoImage, c.at.Append(fieldpath.Field("image")), apirule.Missing(""),
			"set it in the runtime, or for the trainer's container in spec.trainer.image")
	}
	if policy := c.TerminationMessagePolicy; policy != "" {
		apirule.OneOf(p.report, codes.PodSpec,
			c.at.Append(fieldpath.Field("terminationMessagePolicy")), policy,
			corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	}
	if policy := c.ImagePullPolicy; policy != "" {
		apirule.OneOf(p.report, codes.PodSpec, c.at.Append(fieldpath.Field("imagePullPolicy")),
			policy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	}
	p.checkPorts(c)
	p.checkEnv(c)
	p.checkMounts(c)
	p.checkDevices(c)
	p.checkResources(c)
	p.checkResizePolicy(c)
	p.checkContainerSecurity(c)
	p.checkContainerRestart(c)
	p.checkLifecycle(c)
}

func (p *podChecker) checkPorts(c podContainer) {
	names := map[string]bool{}
	for i, port := range c.Ports {
		at := c.at.Append(fieldpath.Field("ports"), fieldpath.Index(i))
		if port.Name != "" {
			if problems := validation.IsValidPortName(port.Name); len(problems) > 0 {
				p.report(codes.Port, at.Append(fieldpath.Field("name")),
					apirule.Invalid(port.Name, strings.Join(problems, "; ")),
					"use lower-case letters, digits and dashes, at least one letter, 15 at most")
			} else if names[port.Name] {
				p.report(codes.Port, at.Append(fieldpath.Field("name")),
					apirule.Duplicate(port.Name), "rename one of the ports")
			}
			names[port.Name] = true
		}
		apirule.PortNumber(p.report, codes.Port, at.Append(fieldpath.Field("containerPort")),
			port.ContainerPort)
		if port.HostPort != 0 {
			apirule.PortNumber(p.report, codes.Port, at.Append(fieldpath.Field("hostPort")),
				port.HostPort)
		}
		if port.Protocol != "" {
			apirule.OneOf(p.report, codes.Port, at.Append(fieldpath.Field("protocol")),
				port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		}
	}
}

// checkHostPorts reports a port of the node that two containers use. Init containers run one after
// another, so they may share ports. With hostNetwork, every port is a port of the node. The API
// server writes that into the Pod, but not into the Job's template.
func (p *podChecker) checkHostPorts(ofNode bool) {
	type hostPort struct {
		protocol corev1.Protocol
		ip       string
		port     int32
	}
	running := map[hostPort]bool{}
	for _, c := range p.containers() {
		taken := running
		if c.init {
			taken = map[hostPort]bool{}
		}
		for i, port := range c.Ports {
			number := port.HostPort
			if number == 0 && ofNode {
				number = port.ContainerPort
			}
			if number == 0 {
				continue
			}
			key := hostPort{port.Protocol, port.HostIP, number}
			if key.protocol == "" {
				key.protocol = corev1.ProtocolTCP
			}
			if taken[key] {
				p.report(codes.Port,
					c.at.Append(fieldpath.Field("ports"), fieldpath.Index(i),
						fieldpath.Field("hostPort")),
					apirule.Duplicate(fmt.Sprintf("%s/%s/%d", key.protocol, key.ip, key.port)),
					"use another port, or remove hostPort")
			}
			taken[key] = true
		}
	}
}

// The limits of a container's restart rules (Kubernetes v1.36.3 pkg/apis/core/validation).
const (
	mostRestartRules     = 20
	mostRestartExitCodes = 255
)

func (p *podChecker) checkContainerRestart(c podContainer) {
	if c.RestartPolicy == nil && len(c.RestartPolicyRules) == 0 {
		return
	}
	path := c.at.Append(fieldpath.Field("restartPolicy"))
	rules := c.at.Append(fieldpath.Field("restartPolicyRules"))
	switch {
	case c.RestartPolicy != nil && !p.since("1.34"):
		p.checkSidecar(c, path)
		return
	case c.RestartPolicy != nil:
		apirule.OneOf(p.report, codes.RestartPolicy, path, *c.RestartPolicy,
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever,
			corev1.ContainerRestartPolicyOnFailure)
	case len(c.RestartPolicyRules) > 0:
		p.report(codes.RestartPolicy, path,
			apirule.Missing("must specify restartPolicy when restart rules are used"),
			"set it, or remove the rules")
	}
	if n := len(c.RestartPolicyRules); n > mostRestartRules {
		p.report(codes.RestartPolicy, rules, apirule.TooMany(n, mostRestartRules),
			"remove some of them")
	}
	for i, rule := range c.RestartPolicyRules {
		at := rules.Append(fieldpath.Index(i))
		actions := []corev1.ContainerRestartRuleAction{corev1.ContainerRestartRuleActionRestart,
			corev1.ContainerRestartRuleActionRestartAllContainers}
		if !p.since("1.36") {
			actions = actions[:1]
		}
		apirule.OneOf(p.report, codes.RestartPolicy, at.Append(fieldpath.Field("action")),
			rule.Action, actions...)
		exit := rule.ExitCodes
		if exit == nil {
			p.report(codes.RestartPolicy, at.Append(fieldpath.Field("exitCodes")),
				apirule.Missing("must be specified"), "set the exit codes of the rule")
			continue
		}
		apirule.OneOf(p.report, codes.RestartPolicy,
			at.Append(fieldpath.Fields("exitCodes", "operator")...), exit.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn,
			corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		if n := len(exit.Values); n > mostRestartExitCodes {
			p.report(codes.RestartPolicy, at.Append(fieldpath.Fields("exitCodes", "values")...),
				apirule.TooMany(n, mostRestartExitCodes), "remove some of them")
		}
	}
}

// checkSidecar checks the restart policy of a container where only sidecars have one.
func (p *podChecker) checkSidecar(c podContainer, path fieldpath.Path) {
	if !c.init {
		p.report(codes.RestartPolicy, path,
			apirule.Forbidden("may not be set for non-init containers"), "remove it")
		return
	}
	apirule.OneOf(p.report, codes.RestartPolicy, path, *c.RestartPolicy,
		corev1.ContainerRestartPolicyAlways)
}

// HasContainer reports whether a list has a container of that name.
func HasContainer(containers []corev1.Container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}
