package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
)

// liveDeployment returns the Deployment of the script.
func liveDeployment(t *testing.T) string {
	t.Helper()
	live := casefile.Read(
		t, filepath.Join(testdata, "script", "blame_managed_fields.txtar"))[0].Text("live.yaml")
	if live == nil {
		t.Fatal("the script has no live.yaml")
	}
	return string(live)
}

// TestBlameManaged_Limits reads managed fields that are deep, and whose paths take more than a run
// may.
func TestBlameManaged_Limits(t *testing.T) {
	if testenv.Race {
		t.Skip("one goroutine, and thousands of fields")
	}
	object := func(levels, fields int) string {
		var b strings.Builder
		b.WriteString(
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","managedFields":[{"manager":"m","operation":"Apply","fieldsV1":`)
		b.WriteString(strings.Repeat(`{"f:a":`, levels) + `{"f:b":{}`)
		for i := range fields {
			fmt.Fprintf(&b, `,"f:%d":{}`, i)
		}
		b.WriteString(strings.Repeat("}", levels+1) + "}]}}")
		return b.String()
	}
	for _, tc := range []struct {
		name           string
		levels, fields int
		status         int
		want           string
	}{
		{"deep", 900, 10, exit.Done, ".a.a.b\n"},
		{"too deep", 2000, 10, exit.Findings, "TW100"},
		{"deep and wide", 900, 50_000, exit.Findings,
			"TW100: the paths of the managed fields exceed 64 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, stdout, stderr := ran(object(tc.levels, tc.fields), "blame", "-f", "-")
			if status != tc.status || !strings.Contains(stdout+stderr, tc.want) {
				t.Errorf("blame = status %d, want %d and %q\n%.2000s", status, tc.status, tc.want,
					stderr)
			}
		})
	}
}

// TestBlameManaged_Hostile escapes names that a terminal acts on.
func TestBlameManaged_Hostile(t *testing.T) {
	object := `{"apiVersion": "v1", "kind": "Secret\u001b[1m", "metadata": {"name": "a\u001b[2J", "managedFields": [
		{"manager": "::error::\u001b[1m", "operation": "\u202e", "time": "\u0007", "subresource": "\u001b", "fieldsV1": {"f:\u001b[1m": {}, "v:\"\\u001b\"": {}}},
		{"manager": "m", "fieldsType": "\u001b[1m"}, {"manager": "m", "fieldsV1": {"\u001b[1m": {}}}, "\u001b"]}}`
	for _, args := range [][]string{nil, {"-o", "json"}, {`["\x1b[1m"]`}, {"x"}} {
		_, stdout, stderr := ran(object, append([]string{"blame", "-f", "-"}, args...)...)
		format := ""
		if len(args) == 2 {
			format = "json"
		}
		tame(t, args, "stdout", stdout, format)
		tame(t, args, "stderr", stderr, "")
		if shows := len(args) != 1 || args[0] != "x"; (stdout != "") != shows || stderr == "" {
			t.Errorf("blame %q writes %q", args, stdout)
		}
	}
}
