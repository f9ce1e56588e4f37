package kubeapi

import (
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/internal/testenv"
)

// TestPlain draws keys and values of labels. Kubernetes accepts each plainly valid one.
func TestPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	parts := []string{"a", "B", "0", "-", "_", ".", "/", "é", " ", "\n", "example.com",
		strings.Repeat("a", 30), "", "jobset.sigs.k8s.io/"}
	plain := 0
	for range 20_000 {
		var text string
		for range r.IntN(9) {
			text += parts[r.IntN(len(parts))]
		}
		if isPlainKey(text) {
			plain++
			if problems := append(validation.IsQualifiedName(text),
				validation.IsQualifiedName(strings.ToLower(text))...); len(problems) > 0 {
				t.Fatalf("isPlainKey(%q) = true, but %v", text, problems)
			}
		}
		if isPlainWord(text) {
			if problems := validation.IsValidLabelValue(text); len(problems) > 0 {
				t.Fatalf("isPlainWord(%q) = true, but %v", text, problems)
			}
		}
	}
	if plain == 0 {
		t.Error("no key is plain")
	}
	for _, key := range []string{"jobset.sigs.k8s.io/jobset-name", "batch.kubernetes.io/job-name",
		"job-name", "app"} {
		if !isPlainKey(key) {
			t.Errorf("isPlainKey(%q) = false", key)
		}
	}
}
