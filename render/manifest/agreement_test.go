package manifest

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// wholeJob is a valid TrainJob with values of every type that the API has.
const wholeJob = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
  creationTimestamp: "2026-01-31T09:00:00Z"
  labels: {app: llm, tier: "1"}
  finalizers: [a.io/b]
  managedFields:
  - manager: kubectl
    fieldsV1: {"f:spec": {"f:suspend": {}}}
spec:
  suspend: true
  activeDeadlineSeconds: 600
  runtimeRef: {name: torch}
  initializer:
    dataset: {storageUri: hf://a/b, secretRef: {name: token}}
  trainer:
    image: registry/train:1
    command: [python, train.py]
    args: []
    numNodes: 2
    env:
    - name: LR
      value: "0.1"
    - name: NODE
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    - name: CPU
      valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}
    resourcesPerNode:
      limits: {cpu: 4, memory: 8Gi, nvidia.com/gpu: "1"}
      claims: [{name: c}]
  runtimePatches:
  - manager: a.io/b
    time: "2026-01-31T09:00:00Z"
    trainingRuntimeSpec:
      template:
        metadata: {annotations: {a: b}}
        spec:
          replicatedJobs:
          - name: node
            template:
              metadata: {labels: {a: b}}
              spec:
                template:
                  spec:
                    serviceAccountName: sa
                    terminationGracePeriodSeconds: 0
                    nodeSelector: {pool: gpu}
                    schedulingGates: [{name: a.io/gate}]
                    imagePullSecrets: [{name: pull}]
                    securityContext: {runAsNonRoot: true, runAsUser: 1000, supplementalGroups: [1, 2], sysctls: [{name: a, value: b}]}
                    tolerations: [{key: a, operator: Exists, tolerationSeconds: 30}]
                    affinity:
                      nodeAffinity:
                        preferredDuringSchedulingIgnoredDuringExecution:
                        - weight: 1
                          preference: {matchExpressions: [{key: a, operator: In, values: [b]}]}
                    volumes:
                    - name: v
                      emptyDir: {sizeLimit: 1Gi}
                    - name: w
                      configMap: {name: c, defaultMode: 420, items: [{key: a, path: b}]}
                    - name: x
                      ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}
                    containers:
                    - name: sidecar
                      env: [{name: A, value: b}]
                      volumeMounts: [{name: v, mountPath: /v, readOnly: true}]
                      securityContext: {capabilities: {add: [NET_ADMIN]}}
`

// TestAgreesWithLibrary breaks valid objects at random. Kubernetes' decoder, the tree of the nodes
// and the walk all find an error, or give the same object.
func TestAgreesWithLibrary(t *testing.T) {
	cases, seed := int(testenv.Cases(t, 1000)), testenv.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	broken := 0
	// The codec leaves recorded owners to JSON.
	head, rest, _ := strings.Cut(wholeJob, "  managedFields:")
	_, rest, _ = strings.Cut(rest, "\nspec:")
	jobs := []string{wholeJob, head + "spec:" + rest}
	for i := range cases {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(jobs[i%2]), &document); err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(2) {
			mutate(rng, document.Content[0])
		}
		text, err := yaml.Marshal(&document)
		if err != nil {
			continue // a tree that has no text
		}
		var want trainer.TrainJob
		converted, err := sigsyaml.YAMLToJSONStrict(text)
		fails := err != nil || unmarshalSafe(converted, &want) != nil
		s := &source.Source{File: &source.File{Name: "job.yaml"}, Text: text, Line: 1, Column: 1}
		root, parseErr := s.Nodes()
		if parseErr != nil {
			if !fails {
				t.Errorf("the library takes what cannot be parsed: %v\n%s", parseErr, text)
			}
			continue
		}
		if root == nil {
			continue // an empty document
		}
		o := &objectNode{Reading: source.NewReading(s), node: root,
			kind: &readable{make: func() any { return new(trainer.TrainJob) }}}
		o.tree, _, err = o.Tree(root)
		got, pruned := new(trainer.TrainJob), new(trainer.TrainJob)
		if found := err != nil || !o.decodes(got); found != fails {
			t.Errorf("the library fails: %t; the tree: %t, %v\n%s", fails, found, err, text)
		}
		findings := diagnose(s, fieldpath.Object{}, root, reflect.TypeFor[trainer.TrainJob](),
			maxFindings)
		if finds := findings.Err() != nil; finds != fails {
			t.Fatalf("the library fails: %t; the walk finds: %v\n%s", fails, findings.Err(), text)
		}
		if fails {
			broken++
			continue
		}
		if err := o.decodePruned(pruned); err != nil {
			t.Fatalf("the nodes do not decode, the text does: %v\n%s", err, text)
		}
		if want := generic(&want); !reflect.DeepEqual(generic(got), want) ||
			!reflect.DeepEqual(generic(pruned), want) {
			t.Errorf("library: %v\ntree: %v\nwalk: %v\n%s", want, generic(got), generic(pruned),
				text)
		}
	}
	t.Logf("%d of %d were broken", broken, cases)
	if broken < cases/10 || broken > cases*19/20 {
		t.Errorf("%d of %d cases were broken: the mutations no longer test both answers", broken,
			cases)
	}
}

// generic is the object as encoding/json sees it, so that raw JSON is compared by what it says.
func generic(object any) (value any) {
	j, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(j, &value); err != nil {
		return err
	}
	return value
}

// mutate changes one random node of the tree.
func mutate(rng *rand.Rand, root *yaml.Node) {
	var nodes []*yaml.Node
	var collect func(n *yaml.Node)
	collect = func(n *yaml.Node) {
		nodes = append(nodes, n)
		for _, child := range n.Content {
			collect(child)
		}
	}
	collect(root)
	n := nodes[rng.IntN(len(nodes))]
	words := []string{"y", "no", "On", "true", "FALSE", "null", "~", "1", "-1", "1.0", "1.5", "1e3",
		"0777", "0x1F", "1_000", "+1",
		"99999999999", "1e400", ".inf", ".nan", "abc", "8Gi", "2026-01-31T09:00:00Z", "2026-01-31",
		"12:30", "", "=", "a b", "-", "yes please", "0b1", "08"}
	switch rng.IntN(8) {
	case 0, 1: // another word, bare
		*n = yaml.Node{Kind: yaml.ScalarNode, Value: words[rng.IntN(len(words))]}
	case 2: // another word, quoted
		*n = yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle,
			Value: words[rng.IntN(len(words))]}
	case 3: // another word, tagged
		tags := []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!local", "!!timestamp",
			"!!binary"}
		*n = yaml.Node{Kind: yaml.ScalarNode, Style: yaml.TaggedStyle | yaml.DoubleQuotedStyle,
			Tag: tags[rng.IntN(len(tags))], Value: words[rng.IntN(len(words))]}
	case 4: // wrapped in a list or an object
		inner := *n
		if rng.IntN(2) == 0 {
			*n = yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&inner}}
		} else {
			*n = yaml.Node{
				Kind:    yaml.MappingNode,
				Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "name"}, &inner}}
		}
	case 5: // emptied
		n.Content = nil
	case 6: // an entry or item twice, or a key changed
		if len(n.Content) < 2 {
			return
		}
		if n.Kind == yaml.MappingNode {
			i := 2 * rng.IntN(len(n.Content)/2)
			n.Content = append(n.Content, n.Content[i], n.Content[i+1])
		} else {
			n.Content = append(n.Content, n.Content[0])
		}
	case 7: // another node of the tree
		other := *nodes[rng.IntN(len(nodes))]
		if !contains(&other, n) {
			*n = other
		}
	}
}

func contains(n, m *yaml.Node) bool {
	if n == m {
		return true
	}
	for _, child := range n.Content {
		if contains(child, m) {
			return true
		}
	}
	return false
}
