package jsonschema_test

import (
	"testing"

	"github.com/trainweld/trainweld/render/jsonschema"
)

const findings = "../../docs/json/findings.schema.json"

// rejected counts what Check reports.
type rejected struct {
	testing.TB
	n int
}

func (r *rejected) Helper()               {}
func (r *rejected) Errorf(string, ...any) { r.n++ }

func TestCheck(t *testing.T) {
	const finding = `{"code":"TW300","severity":"error","object":"","path":"","message":"m","help":"","file":"","line":1,"column":1,"claims":[{"layer":"runtime","value":null,"file":"","line":0,"column":0}]}`
	for _, tc := range []struct {
		name, text string
		rejected   int
	}{
		{"none", `{"schemaVersion":1,"findings":[]}`, 0},
		{"one", `{"schemaVersion":1,"findings":[` + finding + `]}`, 0},
		{"no JSON", `{"schemaVersion":1,"findings":`, 1},
		{"no findings", `{}`, 1},
		{"a further field", `{"schemaVersion":1,"findings":[], "x": 1}`, 1},
		{"half a finding", `{"schemaVersion":1,"findings":[{"code":"TW300"}]}`, 1},
		{"a wrong type", `{"schemaVersion":1,"findings":{}}`, 1},
		{"an unknown severity", `{"schemaVersion":1,"findings":[{"code":"TW300","severity":"fatal","object":"","path":"","message":"m","help":"","file":"","line":1,"column":1,"claims":[]}]}`, 1},
	} {
		r := &rejected{TB: t}
		jsonschema.Check(r, findings, []byte(tc.text))
		if r.n != tc.rejected {
			t.Errorf("Check(%s) reports %d errors, want %d", tc.name, r.n, tc.rejected)
		}
	}
}
