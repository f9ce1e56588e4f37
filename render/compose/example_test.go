package compose_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/compose"
)

func ExampleRule_Compose() {
	rule := compose.Rule{Path: fieldpath.Fields("spec", "tolerations"), Kind: compose.KindUnion}
	value, err := rule.Compose(
		merge.Claim{Layer: merge.Manager("sdk.example.com/user"), Value: []corev1.Toleration{{Key: "team.example.com/only", Operator: corev1.TolerationOpExists}}},
		merge.Claim{Layer: merge.Manager("queue.example.com/admission"), Value: []corev1.Toleration{{Key: "pool.example.com/gpu", Operator: corev1.TolerationOpExists}}},
	)
	fmt.Println(value, err)
	// Output:
	// [map[key:pool.example.com/gpu operator:Exists] map[key:team.example.com/only operator:Exists]] <nil>
}
