package fieldpath_test

import (
	"fmt"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
)

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		got  fmt.Stringer
		want string
	}{
		{fieldpath.Object{Kind: "TrainJob", Namespace: "team-a", Name: "llm"}, "TrainJob team-a/llm"},
		{fieldpath.Object{Kind: "ClusterTrainingRuntime", Name: "torch"}, "ClusterTrainingRuntime torch"},
		{fieldpath.Object{Kind: "TrainJob"}, "TrainJob"},
		{fieldpath.Object{}, ""},
		{fieldpath.Position{File: "a.yaml", Line: 3, Column: 7}, "a.yaml:3:7"},
		{fieldpath.Position{File: "a.yaml", Line: 3}, "a.yaml:3"},
		{fieldpath.Position{File: "a.yaml"}, "a.yaml"},
		{fieldpath.Position{}, ""},
	} {
		if got := tc.got.String(); got != tc.want {
			t.Errorf("%#v: %q, want %q", tc.got, got, tc.want)
		}
	}
}
