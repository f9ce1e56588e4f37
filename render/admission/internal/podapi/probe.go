package podapi

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// defaultGrace is the API server's default for the termination grace period.
const defaultGrace = 30

// checkLifecycle checks a container's probes and hooks.
func (p *podChecker) checkLifecycle(c podContainer) {
	probes := []struct {
		field string
		probe *corev1.Probe
	}{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe},
		{"startupProbe", c.StartupProbe}}
	if c.init && !c.sidecar() {
		const help = "remove it, or make the container a sidecar with restartPolicy: Always"
		message := apirule.Forbidden(
			"may not be set for init containers without restartPolicy=Always")
		// With the default features, the API server drops a stop signal, and a lifecycle that has
		// nothing else.
		if h := c.Lifecycle; h != nil &&
			(h.PostStart != nil || h.PreStop != nil || h.StopSignal == nil) {
			p.report(codes.Probe, c.at.Append(fieldpath.Field("lifecycle")), message, help)
		}
		for _, probe := range probes {
			if probe.probe != nil {
				p.report(codes.Probe, c.at.Append(fieldpath.Field(probe.field)), message, help)
			}
		}
		return
	}
	for _, probe := range probes {
		if probe.probe != nil {
			p.checkProbe(probe.probe, probe.field, c.at.Append(fieldpath.Field(probe.field)))
		}
	}
	if c.Lifecycle == nil {
		return
	}
	at := c.at.Append(fieldpath.Field("lifecycle"))
	if h := c.Lifecycle.PostStart; h != nil {
		p.checkHandler(handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep},
			at.Append(fieldpath.Field("postStart")))
	}
	if h := c.Lifecycle.PreStop; h != nil {
		p.checkHandler(handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep},
			at.Append(fieldpath.Field("preStop")))
	}
}

func (p *podChecker) checkProbe(probe *corev1.Probe, name string, at fieldpath.Path) {
	p.checkHandler(handler{probe.Exec, probe.HTTPGet, probe.TCPSocket, probe.GRPC, nil}, at)
	for _, n := range []struct {
		field string
		value int32
	}{
		{"initialDelaySeconds", probe.InitialDelaySeconds},
		{"timeoutSeconds", probe.TimeoutSeconds}, {"periodSeconds", probe.PeriodSeconds},
		{"successThreshold", probe.SuccessThreshold}, {"failureThreshold", probe.FailureThreshold},
	} {
		apirule.NonNegative(p.report, codes.Probe, at.Append(fieldpath.Field(n.field)), &n.value)
	}
	readiness := name == "readinessProbe"
	if !readiness && probe.SuccessThreshold > 1 { // 0 becomes 1
		p.report(codes.Probe, at.Append(fieldpath.Field("successThreshold")),
			apirule.Invalid(probe.SuccessThreshold, "must be 1"), "remove it")
	}
	if grace := probe.TerminationGracePeriodSeconds; grace != nil {
		path := at.Append(fieldpath.Field("terminationGracePeriodSeconds"))
		if readiness {
			p.report(codes.Probe, path,
				apirule.Invalid(*grace, "must not be set for readinessProbes"), "remove it")
		} else if *grace <= 0 {
			p.report(codes.Probe, path, apirule.Invalid(*grace, "must be greater than 0"),
				"set 1 or more")
		}
	}
}

// handler is the action of a probe or a hook.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (p *podChecker) checkHandler(h handler, at fieldpath.Path) {
	var first string
	another := func(field string) bool {
		if first == "" {
			first = field
			return false
		}
		p.report(codes.TwoSources, at.Append(fieldpath.Field(field)),
			apirule.Forbidden("may not specify more than 1 handler type"), "keep one")
		return true
	}
	if h.exec != nil && !another("exec") && len(h.exec.Command) == 0 {
		p.report(codes.Probe, at.Append(fieldpath.Fields("exec", "command")...),
			apirule.Missing(""), "set the command")
	}
	if h.http != nil && !another("httpGet") {
		p.checkHTTP(h.http, at.Append(fieldpath.Field("httpGet")))
	}
	if h.tcp != nil && !another("tcpSocket") {
		p.checkNumberOrName(h.tcp.Port, at.Append(fieldpath.Fields("tcpSocket", "port")...))
	}
	if h.grpc != nil && !another("grpc") {
		p.checkNumberOrName(intstr.FromInt32(h.grpc.Port),
			at.Append(fieldpath.Fields("grpc", "port")...))
	}
	if h.sleep != nil && !another("sleep") {
		grace := int64(defaultGrace)
		if g := p.Spec.TerminationGracePeriodSeconds; g != nil {
			grace = *g
		}
		if h.sleep.Seconds < 0 || h.sleep.Seconds > grace {
			p.report(codes.Probe, at.Append(fieldpath.Field("sleep")),
				apirule.Invalid(h.sleep.Seconds,
					fmt.Sprintf("must be non-negative and less than "+
						"terminationGracePeriodSeconds (%d)", grace)),
				"sleep less, or raise terminationGracePeriodSeconds")
		}
	}
	if first == "" {
		p.report(codes.Probe, at, apirule.Missing("must specify a handler type"),
			"set one of exec, httpGet, tcpSocket and grpc")
	}
}

func (p *podChecker) checkHTTP(http *corev1.HTTPGetAction, at fieldpath.Path) {
	p.checkNumberOrName(http.Port, at.Append(fieldpath.Field("port")))
	if http.Scheme != "" {
		apirule.OneOf(p.report, codes.Probe, at.Append(fieldpath.Field("scheme")), http.Scheme,
			corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
	}
	for i, header := range http.HTTPHeaders {
		name := at.Append(fieldpath.Field("httpHeaders"), fieldpath.Index(i),
			fieldpath.Field("name"))
		apirule.Valid(p.report, codes.Probe, name, header.Name,
			validation.IsHTTPHeaderName(header.Name), "use letters, digits and dashes")
	}
}

// checkNumberOrName checks a port, which is a number or a name from the container's ports.
func (p *podChecker) checkNumberOrName(port intstr.IntOrString, path fieldpath.Path) {
	if port.Type == intstr.Int {
		apirule.PortNumber(p.report, codes.Probe, path, port.IntVal)
		return
	}
	apirule.Valid(p.report, codes.Probe, path, port.StrVal, validation.IsValidPortName(port.StrVal),
		"use the port's number, or its name in ports")
}
