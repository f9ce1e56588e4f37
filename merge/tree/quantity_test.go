package tree_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/merge/tree"
)

func TestCheck(t *testing.T) {
	for text, safe := range map[string]bool{
		"": true, "1": true, "100m": true, "1E": true, "1e3": true, "1e-999": true, "1E+999": true,
		"1e0000003": true, "word": true, "1e": true,
		"1e1000": false, "1e-99999999": false, "1e99999999": false, " 1E+99999999 ": false,
		"1e0000099999":          false,
		strings.Repeat("1", 65): false, "0." + strings.Repeat("0", 63): false,
	} {
		if err := tree.CheckQuantity(text); (err == nil) != safe {
			t.Errorf("Check(%q) = %v, want safe %t", text, err, safe)
		}
	}
	for _, text := range []string{"1e99999999", "1e-99999999"} {
		if _, err := tree.ParseQuantity(text); err == nil ||
			!strings.Contains(err.Error(), "must have an exponent between -999 and 999") {
			t.Errorf("Parse(%q) = %v", text, err)
		}
	}
}

func TestMayExceed(t *testing.T) {
	for text, may := range map[string]bool{
		`{"cpu":"1e99999999"}`: true, `{"cpu": 1e-99999999}`: true, `{"cpu":1E+99999999}`: true,
		"cpu: 1e99999999": true, `{"cpu":" 1e99999999 "}`: true,
		`{"cpu":"` + strings.Repeat("9", 65) + `"}`: true, `{"cpu":"` + strings.Repeat("9", 40) +
			"." + strings.Repeat("9", 25) + `"}`: true,
		`{"cpu":"1e300"}`: false, `{"cpu":"100m","memory":"4Gi"}`: false,
		`{"image":"a@sha256:3e12345678"}`: false, `{"image":"a:ab3e12345678"}`: false,
	} {
		if got := tree.MayExceed([]byte(text)); got != may {
			t.Errorf("MayExceed(%s) = %t, want %t", text, got, may)
		}
	}
}

func TestUnmarshal(t *testing.T) {
	for text, fails := range map[string]bool{
		`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1e99999999"}}}]}`: true,
		`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1e9"}}}]}`:        false,
		`{"volumes":[{"name":"a","emptyDir":{"sizeLimit":"1e-99999999"}}]}`:         true,
		`{"containers":[{"name":"a","env":[{"name":"A","value":"1e99999999"}]}]}`:   false,
		`{"containers":[{"name":"a","resources":{"limits":{"cpu":1e99999999}}}]}`:   true,
	} {
		var pod corev1.PodSpec
		if err := tree.UnmarshalBounded([]byte(text), &pod, json.Unmarshal); (err != nil) != fails {
			t.Errorf("Unmarshal(%s) = %v, want an error: %t", text, err, fails)
		}
	}
}
