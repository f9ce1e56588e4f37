package kubeapi

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/render/codes"
)

// podContainer is a container of a Pod and its place.
type podContainer struct {
	*corev1.Container
	at   *At
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
			all = append(all, podContainer{&containers[i], p.at.Field(list).Step(steps[i]), init})
		}
	}
	add("initContainers", p.Spec.InitContainers, true)
	add("containers", p.Spec.Containers, false)
	p.listed = all
	return all
}

func (p *podChecker) checkContainers() {
	if len(p.Spec.Containers) == 0 {
		p.at.Field("containers").Missing("", "add one")
	}
	for _, c := range p.containers() {
		p.checkContainer(c)
	}
	p.checkUniqueNames()
	p.checkHostPorts(false)
}

// checkUniqueNames reports duplicate names. Containers and init containers share their names.
func (p *podChecker) checkUniqueNames() {
	seen := map[string]bool{"": false}
	// The API server reports the init container if both lists have the same name.
	all, init := p.containers(), len(p.Spec.InitContainers)
	for _, c := range slices.Concat(all[init:], all[:init]) {
		if seen[c.Name] {
			c.at.As(codes.BadName).Field("name").Duplicate(c.Name, "rename one of the containers")
		}
		seen[c.Name] = c.Name != ""
	}
}

func (p *podChecker) checkContainer(c podContainer) {
	c.at.As(codes.BadName).Field("name").NamedBy(c.Name)
	if c.Image == "" {
		c.at.As(codes.NoImage).Field("image").Missing("",
			"set it in the runtime, or for the trainer's container in spec.trainer.image")
	}
	EmptyOr(c.at.Field("terminationMessagePolicy"), c.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	EmptyOr(c.at.Field("imagePullPolicy"), c.ImagePullPolicy, corev1.PullAlways,
		corev1.PullIfNotPresent, corev1.PullNever)
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
		at := c.at.As(codes.Port).Field("ports").Index(i)
		if port.Name != "" {
			problems := validation.IsValidPortName(port.Name)
			at.Field("name").Valid(port.Name, problems, portHelp)
			if len(problems) == 0 && names[port.Name] {
				at.Field("name").Duplicate(port.Name, "rename one of the ports")
			}
			names[port.Name] = true
		}
		at.Field("containerPort").Port(port.ContainerPort)
		if port.HostPort != 0 {
			at.Field("hostPort").Port(port.HostPort)
		}
		checkProtocol(at, port.Protocol)
	}
}

func checkProtocol(port *At, protocol corev1.Protocol) {
	EmptyOr(port.Field("protocol"), protocol, corev1.ProtocolTCP, corev1.ProtocolUDP,
		corev1.ProtocolSCTP)
}

// checkHostPorts reports a port of the node that two containers use. Init containers run one after
// another, so they may share ports. With hostNetwork, every port is a port of the node. The API
// server writes that into the Pod, but not into the Job's template.
func (p *podChecker) checkHostPorts(ofNode bool) {
	running := map[string]bool{}
	for _, c := range p.containers() {
		taken := running
		if c.init {
			taken = map[string]bool{}
		}
		for i, port := range c.Ports {
			number := port.HostPort
			if number == 0 && ofNode {
				number = port.ContainerPort
			}
			if number == 0 {
				continue
			}
			protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
			key := fmt.Sprintf("%s/%s/%d", protocol, port.HostIP, number)
			if taken[key] {
				c.at.As(codes.Port).Field("ports").Index(i).Field("hostPort").Duplicate(key,
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
	of := c.at.As(codes.RestartPolicy)
	at, rules := of.Field("restartPolicy"), of.Field("restartPolicyRules")
	switch {
	case c.RestartPolicy != nil && p.since("1.34"):
		OneOf(at, *c.RestartPolicy, corev1.ContainerRestartPolicyAlways,
			corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	case c.RestartPolicy != nil && c.init: // only sidecars have one
		OneOf(at, *c.RestartPolicy, corev1.ContainerRestartPolicyAlways)
		return
	case c.RestartPolicy != nil:
		at.Forbid("may not be set for non-init containers", "remove it")
		return
	default:
		at.Missing("must specify restartPolicy when restart rules are used",
			"set it, or remove the rules")
	}
	rules.TooMany(len(c.RestartPolicyRules), mostRestartRules)
	for i, rule := range c.RestartPolicyRules {
		at := rules.Index(i)
		actions := []corev1.ContainerRestartRuleAction{corev1.ContainerRestartRuleActionRestart,
			corev1.ContainerRestartRuleActionRestartAllContainers}
		if !p.since("1.36") {
			actions = actions[:1]
		}
		OneOf(at.Field("action"), rule.Action, actions...)
		exit, at := rule.ExitCodes, at.Field("exitCodes")
		if exit == nil {
			at.Missing("must be specified", "set the exit codes of the rule")
			continue
		}
		OneOf(at.Field("operator"), exit.Operator, corev1.ContainerRestartRuleOnExitCodesOpIn,
			corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		at.Field("values").TooMany(len(exit.Values), mostRestartExitCodes)
	}
}

// HasContainer reports whether a list has a container of that name.
func HasContainer(containers []corev1.Container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}
