package codes_test

import (
	"fmt"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

// TestJoinBuilds joins findings at one place of a source. Findings at other places, of other
// values, of other objects of a build, or of no build stay.
func TestJoinBuilds(t *testing.T) {
	at := func(build string, line int, object fieldpath.Object,
		claims ...merge.Claim) finding.Finding {
		return finding.Finding{
			Code: codes.UnknownField, Severity: finding.Error, Object: object, Message: "m",
			Build: build, Claims: claims,
			Position: fieldpath.Position{File: "base/job.yaml", Line: line, Column: 1},
		}
	}
	dev, prod := fieldpath.Object{Kind: "TrainJob", Namespace: "dev", Name: "a"},
		fieldpath.Object{Kind: "TrainJob", Namespace: "prod", Name: "a-prod"}
	value := func(v any) merge.Claim { return merge.Claim{Owner: "manager/a", Value: v} }
	found := finding.List{
		at("dev", 1, dev), at("prod", 1, prod), at("dev", 2, dev), at("test", 1, prod),
		at("test", 1, prod),
		at("dev", 3, dev, value(1)), at("prod", 3, prod, value(2)), at("dev", 4, dev),
		at("dev", 4, prod), at("prod", 4, prod), at("", 1, dev), at("", 1, dev),
		{Code: codes.BuildFailed, Build: "dev"}, {Code: codes.BuildFailed, Build: "prod"},
	}
	var got []string
	for _, f := range codes.JoinBuilds(found) {
		got = append(got, fmt.Sprintf("%d %s%v", f.Position.Line, f.Build, f.MoreBuilds))
	}
	want := "[1 dev[prod test] 2 dev[] 3 dev[] 3 prod[] 4 dev[prod] 4 dev[] 1 [] 1 [] 0 dev[] 0 " +
		"prod[]]"
	if fmt.Sprint(got) != want {
		t.Errorf("JoinBuilds() = %v, want %s", got, want)
	}
	if found[0].MoreBuilds != nil {
		t.Error("JoinBuilds() changed its list")
	}
}
