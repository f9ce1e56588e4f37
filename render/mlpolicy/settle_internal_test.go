package mlpolicy

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestSettlePorts compares with a search for the first port of equal number or name, among few
// numbers and names.
func TestSettlePorts(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := make([]corev1.ContainerPort, r.IntN(9))
		for i := range list {
			list[i] = corev1.ContainerPort{ContainerPort: r.Int32N(5), HostPort: int32(i),
				Name: strconv.Itoa(r.IntN(5))}
		}
		want := slices.Clone(list)
		for i := range want {
			for k := range i {
				if want[k].ContainerPort == want[i].ContainerPort || want[k].Name == want[i].Name {
					want[k] = want[i]
					break
				}
			}
		}
		got := slices.Clone(list)
		if settlePorts(got); !slices.Equal(got, want) {
			t.Fatalf("seed %d: settlePorts(%v) = %v, want %v", seed, list, got, want)
		}
	}
}
