package kubeapi

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

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
	of, h := c.at.As(codes.Probe), c.Lifecycle
	if c.init && !c.sidecar() {
		forbid := func(at *At) {
			at.Forbid("may not be set for init containers without restartPolicy=Always",
				"remove it, or make the container a sidecar with restartPolicy: Always")
		}
		// With the default features, the API server drops a stop signal, and a lifecycle that has
		// nothing else.
		if h != nil && (h.PostStart != nil || h.PreStop != nil || h.StopSignal == nil) {
			forbid(of.Field("lifecycle"))
		}
		for _, probe := range probes {
			if probe.probe != nil {
				forbid(of.Field(probe.field))
			}
		}
		return
	}
	for _, probe := range probes {
		if probe.probe != nil {
			p.checkProbe(probe.probe, probe.field == "readinessProbe", of.Field(probe.field))
		}
	}
	if h != nil && h.PostStart != nil {
		p.checkHook(h.PostStart, of.Field("lifecycle", "postStart"))
	}
	if h != nil && h.PreStop != nil {
		p.checkHook(h.PreStop, of.Field("lifecycle", "preStop"))
	}
}

func (p *podChecker) checkProbe(probe *corev1.Probe, readiness bool, at *At) {
	h := probe.ProbeHandler
	p.checkHandler(handler{h.Exec, h.HTTPGet, h.TCPSocket, h.GRPC, nil}, at)
	for _, n := range []struct {
		field string
		value int32
	}{
		{"initialDelaySeconds", probe.InitialDelaySeconds},
		{"timeoutSeconds", probe.TimeoutSeconds}, {"periodSeconds", probe.PeriodSeconds},
		{"successThreshold", probe.SuccessThreshold}, {"failureThreshold", probe.FailureThreshold},
	} {
		NonNegative(at.Field(n.field), &n.value)
	}
	if !readiness && probe.SuccessThreshold > 1 { // 0 becomes 1
		at.Field("successThreshold").Invalid(probe.SuccessThreshold, "must be 1", "remove it")
	}
	if grace := probe.TerminationGracePeriodSeconds; grace != nil {
		at := at.Field("terminationGracePeriodSeconds")
		if readiness {
			at.Invalid(*grace, "must not be set for readinessProbes", "remove it")
		} else if *grace <= 0 {
			at.Invalid(*grace, "must be greater than 0", "set 1 or more")
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

func (p *podChecker) checkHook(h *corev1.LifecycleHandler, at *At) {
	p.checkHandler(handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep}, at)
}

func (p *podChecker) checkHandler(h handler, at *At) {
	var first string
	another := func(field string) bool {
		if first == "" {
			first = field
			return false
		}
		at.As(codes.TwoSources).Field(field).Forbid("may not specify more than 1 handler type",
			"keep one")
		return true
	}
	const help = "use the port's number"
	if h.exec != nil && !another("exec") && len(h.exec.Command) == 0 {
		at.Field("exec", "command").Missing("", "set the command")
	}
	if h.http != nil && !another("httpGet") {
		at := at.Field("httpGet")
		at.Field("port").NumberOrName(h.http.Port, help)
		EmptyOr(at.Field("scheme"), h.http.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
		for i, header := range h.http.HTTPHeaders {
			at.Field("httpHeaders").Index(i).Field("name").Valid(header.Name,
				validation.IsHTTPHeaderName(header.Name), "use letters, digits and dashes")
		}
	}
	if h.tcp != nil && !another("tcpSocket") {
		at.Field("tcpSocket", "port").NumberOrName(h.tcp.Port, help)
	}
	if h.grpc != nil && !another("grpc") {
		at.Field("grpc", "port").NumberOrName(intstr.FromInt32(h.grpc.Port), help)
	}
	if h.sleep != nil && !another("sleep") {
		grace := ptr.Deref(p.Spec.TerminationGracePeriodSeconds, defaultGrace)
		least, text := int64(0), "must be non-negative and less than "+
			"terminationGracePeriodSeconds (%d)"
		if !p.since("1.33") {
			least, text = 1, "must be greater than 0 and less than terminationGracePeriodSeconds "+
				"(%d). Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
		}
		if h.sleep.Seconds < least || h.sleep.Seconds > grace {
			at.Field("sleep").Invalid(h.sleep.Seconds, fmt.Sprintf(text, grace),
				"sleep less, or raise terminationGracePeriodSeconds")
		}
	}
	if first == "" {
		at.Missing("must specify a handler type", "set one of exec, httpGet, tcpSocket and grpc")
	}
}
