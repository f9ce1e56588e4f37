package policy_test

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/render/policy"
)

func ExampleParse() {
	p, findings := policy.Parse("trainweld.yaml", []byte(`
managers:
  - name: kueue.x-k8s.io/manager
  - name: platform.example.com/defaults
    required: true
patches:
  - file: patches/eu.yaml
    for: {namespaces: [team-*]}
severities: {TW233: warning}
`))
	if err := findings.Err(); err != nil {
		fmt.Println(err)
		return
	}
	job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llm"}}
	for _, patch := range p.Patches() {
		fmt.Println(patch.File, patch.Applies(job))
	}
	for _, f := range p.Check(job, []trainer.RuntimePatch{{Manager: "kueue.x-k8s.io/manager"}}) {
		fmt.Printf("%s %s: %s\n", p.Severity(f), f.Code, f.Message)
	}
	// Output:
	// patches/eu.yaml true
	// warning TW233: Required value: a patch of platform.example.com/defaults (trainweld.yaml:4:5)
}
