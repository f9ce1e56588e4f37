package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
)

// jobSetYAML is a JobSet of one job, called node, with one container. The texts go into the spec,
// the Job's spec, the Pod's spec and the container.
func jobSetYAML(spec, job, pod, container string) string {
	return `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: llm, namespace: default}
spec:
` + spec + `	replicatedJobs:
	- name: node
		template:
			spec:
				completions: 2
				parallelism: 2
` + job + `				template:
					spec:
` + pod + `						containers:
						- name: node
` + container + `							image: "pytorch:2"
`
}

// Each row breaks one rule of the JobSet's definition, of its webhook or of the Job API.
func TestJobSet(t *testing.T) {
	const (
		inJob       = "\t\t\t\t"
		inPod       = "\t\t\t\t\t\t"
		inContainer = "\t\t\t\t\t\t\t"
	)
	for _, c := range []struct {
		name                      string
		spec, job, pod, container string
		want                      string // code of the only error, or of each
		path                      string
		reason                    string
	}{
		{name: "right", reason: "the JobSet that the others are made of"},
		{name: "rule of the definition", spec: "\tstartupPolicy: {startupPolicyOrder: Sideways}\n",
			want: "TW501", path: ".spec.startupPolicy.startupPolicyOrder",
			reason: "an enumeration"},
		{name: "subdomain", spec: "\tnetwork: {subdomain: a.b}\n", want: "TW531",
			path: ".spec.network.subdomain", reason: "it is also the name of a Service"},
		{name: "managedBy", spec: "\tmanagedBy: mine\n", want: "TW536", path: ".spec.managedBy",
			reason: "it names a domain"},
		{name: "success target",
			spec: "\tsuccessPolicy: {operator: Any, targetReplicatedJobs: [ghost]}\n",
			want: "TW533", path: ".spec.successPolicy.targetReplicatedJobs[0]",
			reason: "the JobSet lacks this job"},
		{name: "failure rules",
			spec: "\tfailurePolicy: {rules: [{name: 1st, action: FailJobSet}, {name: r, action: " +
				"FailJobSet, onJobFailureReasons: [Boredom]}, {name: r, action: FailJobSet}]}\n",
			want: "TW533", path: ".spec.failurePolicy.rules[2].name",
			reason: "names have a form and are unique, and reasons exist"},
		{name: "alpha action", spec: "\tfailurePolicy: {rules: [{name: r, action: RestartJob}]}\n",
			want: "TW537", path: ".spec.failurePolicy.rules[0].action",
			reason: "the gate RestartJob is off"},
		{name: "alpha strategy", spec: "\tfailurePolicy: {restartStrategy: InPlaceRestart}\n",
			want: "TW537", path: ".spec.failurePolicy.restartStrategy",
			reason: "the gate InPlaceRestart is off"},
		{name: "coordinator", spec: "\tcoordinator: {replicatedJob: node, podIndex: 2}\n",
			want: "TW534", path: ".spec.coordinator.podIndex",
			reason: "two Pods have the indexes 0 and 1"},
		{name: "claim without a mount",
			spec: "\tvolumeClaimPolicies: [{templates: [{metadata: {name: data}, spec: " +
				"{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}]\n",
			want: "TW535", path: ".spec.replicatedJobs", reason: "nobody would use it"},
		{name: "claim",
			spec: "\tvolumeClaimPolicies: [{templates: [{metadata: {name: data}, spec: " +
				"{resources: {requests: {storage: 0}}}}]}]\n",
			container: inContainer + "volumeMounts: [{name: data, mountPath: /data}]\n",
			want:      "TW614", path: ".spec.accessModes", reason: "a claim has a mode and a size"},
		{name: "first job depends", job: "", spec: "", want: "TW532",
			path:   `.spec.replicatedJobs[name="node"].dependsOn`,
			reason: "the first job can depend on none"},

		{name: "depends on itself", want: "TW423",
			path:   `.spec.replicatedJobs[name="late"].dependsOn`,
			reason: "the webhook lets a job wait for itself"},

		{name: "no replicas", reason: "the controller makes no Job of it, whatever its Pods are"},

		{name: "negative", job: inJob + "backoffLimit: -1\n", want: "TW606",
			path: ".spec.backoffLimit", reason: "no count is below zero"},
		{name: "limit per index", job: inJob + "completionMode: NonIndexed\n" + inJob +
			"backoffLimitPerIndex: 1\n", want: "TW606", path: ".spec.backoffLimitPerIndex",
			reason: "without indexes there is none"},
		{name: "pod failure policy",
			job: inJob + "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: " +
				"In, values: [0, 3, 2]}}]}\n", want: "TW606 TW607",
			path:   ".spec.template.spec.restartPolicy",
			reason: "it needs Never; exit codes are sorted, and 0 is none"},
		{name: "success policy", job: inJob + "successPolicy: {rules: [{succeededIndexes: 1-5}]}\n",
			want: "TW606", path: ".spec.successPolicy.rules[0].succeededIndexes",
			reason: "there are two completions"},
		{name: "selector", job: inJob + "selector: {matchLabels: {a: b}}\n", want: "TW609",
			path: ".spec.selector", reason: "the Job API makes it"},
		{name: "reserved label", job: "", pod: "", want: "TW609",
			path:   `.spec.template.metadata.labels["batch.kubernetes.io/job-name"]`,
			reason: "the Job API sets it"},
		{name: "restart policy", pod: inPod + "restartPolicy: Always\n", want: "TW607",
			path: ".spec.template.spec.restartPolicy", reason: "Jobs end"},

		{name: "image", container: inContainer + "image: \"\"\n", want: "TW600",
			path:   `.spec.template.spec.containers[name="node"].image`,
			reason: "a container needs one"},
		{name: "container name",
			pod:  inPod + "initContainers: [{name: Bad_Name, image: a}, {name: node, image: a}]\n",
			want: "TW601", path: `.spec.template.spec.initContainers[name="node"].name`,
			reason: "names are DNS labels, and unique among all containers"},
		{name: "mount", container: inContainer + "volumeMounts: [{name: ghost, mountPath: /a}]\n",
			want:   "TW603",
			path:   `.spec.template.spec.containers[name="node"].volumeMounts[mountPath="/a"].name`,
			reason: "the Pod lacks this volume"},
		{name: "volume", pod: inPod + "volumes: [{name: v, nfs: {server: s, path: data}}]\n",
			want: "TW604", path: `.spec.template.spec.volumes[name="v"].nfs.path`,
			reason: "the path is absolute"},
		{name: "two sources",
			pod:  inPod + "volumes: [{name: v, emptyDir: {}, hostPath: {path: /a}}]\n",
			want: "TW207", path: `.spec.template.spec.volumes[name="v"].hostPath`,
			reason: "a volume is one thing"},
		{name: "variable",
			container: inContainer +
				"env: [{name: A=B}, {name: C, valueFrom: {}}, {name: D, valueFrom: {fieldRef: " +
				"{fieldPath: spec.nope}}}]\n", want: "TW605",
			path:   `.spec.template.spec.containers[name="node"].env[name="C"].valueFrom`,
			reason: "names and sources"},
		{name: "value twice",
			container: inContainer +
				"env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]\n",
			want:   "TW205",
			path:   `.spec.template.spec.containers[name="node"].env[name="A"].valueFrom`,
			reason: "a variable has one value"},
		{name: "request over limit",
			container: inContainer + "resources: {limits: {cpu: 1}, requests: {cpu: 2}}\n",
			want:      "TW602",
			path:      `.spec.template.spec.containers[name="node"].resources.requests["cpu"]`,
			reason:    "the limit bounds the request"},
		{name: "GPU without limit",
			container: inContainer + "resources: {requests: {nvidia.com/gpu: 1}}\n", want: "TW602",
			path:   `.spec.template.spec.containers[name="node"].resources.limits["nvidia.com/gpu"]`,
			reason: "extended resources cannot be overcommitted"},
		{name: "part of a GPU",
			container: inContainer + "resources: {limits: {nvidia.com/gpu: 500m}}\n", want: "TW602",
			path:   `.spec.template.spec.containers[name="node"].resources.limits["nvidia.com/gpu"]`,
			reason: "devices are whole"},
		{name: "whole Pod", pod: inPod + "resources: {requests: {cpu: 1}}\n",
			container: inContainer + "resources: {requests: {cpu: 2}}\n", want: "TW602",
			path:   `.spec.template.spec.resources.requests["cpu"]`,
			reason: "a Pod has room for its containers"},
		{name: "toleration", pod: inPod + "tolerations: [{key: a, operator: Exists, value: b}]\n",
			want: "TW610", path: ".spec.template.spec.tolerations[0].operator",
			reason: "Exists has no value"},
		{name: "affinity",
			pod: inPod + "affinity: {podAffinity: " +
				"{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \"\"}]}}\n",
			want: "TW610",
			path: ".spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey", reason: "together where?"},
		{name: "spread",
			pod: inPod + "topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, " +
				"whenUnsatisfiable: DoNotSchedule}]\n", want: "TW610",
			path:   ".spec.template.spec.topologySpreadConstraints[0].maxSkew",
			reason: "a skew is at least 1"},
		{name: "probe", container: inContainer + "livenessProbe: {periodSeconds: 5}\n",
			want: "TW611", path: `.spec.template.spec.containers[name="node"].livenessProbe`,
			reason: "a probe does something"},
		{name: "port", container: inContainer + "ports: [{containerPort: 70000}]\n", want: "TW612",
			path:   `.spec.template.spec.containers[name="node"].ports[0].containerPort`,
			reason: "ports end at 65535"},
		{name: "ports of the node", pod: inPod + "hostNetwork: true\n" + inPod +
			"initContainers: [{name: side, image: a, restartPolicy: Always, ports: " +
			"[{containerPort: 1}]}, {name: side2, image: a, ports: [{containerPort: 1}]}]\n",
			container: inContainer + "ports: [{containerPort: 1, protocol: UDP}]\n",
			reason: "init containers run one after another, and protocols have ports of their " +
				"own"},
		{name: "user", pod: inPod + "securityContext: {runAsUser: -1}\n", want: "TW613",
			path: ".spec.template.spec.securityContext.runAsUser", reason: "ids are not negative"},
		{name: "DNS", pod: inPod + "dnsPolicy: None\n", want: "TW615",
			path: ".spec.template.spec.dnsConfig.nameservers", reason: "None needs a server"},
		{name: "image with a space", container: inContainer + "image: \" a\"\n", want: "TW600",
			path:   `.spec.containers[name="node"].image`,
			reason: "the Job API takes it, and the Pod API does not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := jobSetYAML(c.spec, c.job, c.pod, c.container)
			if strings.Contains(c.container, "image:") {
				text = strings.Replace(text, inContainer+"image: \"pytorch:2\"\n", "", 1)
			}
			switch c.name {
			case "first job depends":
				text = strings.Replace(text, "\t- name: node\n",
					"\t- name: node\n\t\tdependsOn: [{name: other, status: Ready}]\n", 1)
			case "depends on itself":
				text += "\t- name: late\n\t\tdependsOn: [{name: late, status: " +
					"Ready}]\n\t\ttemplate: {spec: {template: {spec: {containers: [{name: a, " +
					"image: a}]}}}}\n"
			case "no replicas":
				text += "\t- name: none\n\t\treplicas: 0\n\t\ttemplate: {spec: {template: {spec: " +
					"{containers: [{name: a, image: a, volumeMounts: [{name: ghost, mountPath: " +
					"/a}]}]}}}}\n"
			case "reserved label":
				text = strings.Replace(text, "\t\t\t\ttemplate:\n",
					"\t\t\t\ttemplate:\n\t\t\t\t\tmetadata: {labels: "+
						"{batch.kubernetes.io/job-name: mine}}\n", 1)
			}
			found := admission.AdmitJobSet(t.Context(), nil, object(t, text), "")
			if got := strings.Join(codesOf(found), " "); got != c.want {
				t.Errorf("%q, want %q: %s\n%v", got, c.want, c.reason, found)
			}
			at := func(f finding.Finding) bool {
				return f.Severity == finding.Error && f.Path.String() == c.path
			}
			if c.path != "" && !slices.ContainsFunc(found, at) {
				t.Errorf("no error at %s: %s\n%v", c.path, c.reason, found)
			}
		})
	}
}
