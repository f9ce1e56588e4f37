package tree_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge/tree"
)

// syntax matches quantities. The parser rejects other strings at once.
var syntax = regexp.MustCompile(`^[+-]?[0-9.]+([eE][+-]?[0-9]+|[KMGTPEnumk]i?)?$`)

// FuzzParseQuantity reads any quantity in bounded time. It gives the value that Kubernetes
// gives, and what CheckQuantity rejects, MayExceed sees.
func FuzzParseQuantity(f *testing.F) {
	for _, seed := range []string{
		"", "1", "1.5Gi", "-0.1m", "+1e3", "1E999", "1e1000", "1e-99999999", "9223372036854775808",
		"1e", "e9", " 1 ", "0x1", "1Ei", "1n", ".5", "5.", "1e+0000000000000000001",
		"1234567890123456789012345678901234567890123456789012345678901234567890", "\xff",
		"1e9e99999", "0.00000000000000000000000000000001",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		start := testenv.ProcessorTime()
		got, err := tree.ParseQuantity(text)
		if took := testenv.ProcessorTime() - start; took > 5*time.Second {
			t.Errorf("Parse(%q) takes %s", text, took)
		}
		encoded, _ := json.Marshal(text)
		if tree.CheckQuantity(text) != nil {
			if err == nil {
				t.Errorf("Parse(%q) = %s, want the error of Check", text, &got)
			}
			if syntax.MatchString(text) && !tree.MayExceed(encoded) {
				t.Errorf("MayExceed(%s) = false, but Check rejects it", encoded)
			}
			return
		}
		want, wantErr := resource.ParseQuantity(text)
		if (err == nil) != (wantErr == nil) || err == nil && got.Cmp(want) != 0 {
			t.Errorf("Parse(%q) = %s, %v, want %s, %v", text, &got, err, &want, wantErr)
		}
		var holder struct{ Limits map[string]resource.Quantity }
		document, _ := json.Marshal(map[string]map[string]string{"Limits": {"cpu": text}})
		if decodeErr := tree.UnmarshalBounded(document, &holder, json.Unmarshal); decodeErr == nil &&
			wantErr == nil {
			if of := holder.Limits["cpu"]; of.Cmp(want) != 0 {
				t.Errorf("Unmarshal(%s) = %s, want %s", document, &of, &want)
			}
		}
	})
}
