package upstream_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz/oracle"
)

// rejection is a rule of the cluster's admission.
type rejection struct {
	Rule, Says string
	Codes      []finding.Code
}

// rejections are the rules of testdata/rejections.yaml.
var rejections = sync.OnceValue(func() (all struct{ Rules, Earlier []rejection }) {
	if err := oracle.Convert(readTemplate("testdata/rejections.yaml"), &all); err != nil {
		panic(err)
	}
	return all
})

// coverage counts for each rule the objects that both upstream and this project reject by it.
type coverage struct{ seen map[string]int }

// count records the rejections of both sides. It returns the rules by which upstream rejects the
// object without a finding here.
func (c *coverage) count(rejections []rejection, rejected []string,
	found finding.List) (missing []string) {
	text := strings.Join(rejected, "\n")
	for _, r := range rejections {
		if !regexp.MustCompile(r.Says).MatchString(text) {
			continue
		}
		if hasCode(found, r.Codes) {
			c.seen[r.Rule]++
		} else {
			missing = append(missing, r.Rule)
		}
	}
	return missing
}

func hasCode(found finding.List, codes []finding.Code) bool {
	for _, f := range found {
		for _, code := range codes {
			if f.Code == code && f.Severity == finding.Error {
				return true
			}
		}
	}
	return false
}

// report logs the table, and in a long run wants every rule to be in it.
func (c *coverage) report(t *testing.T, rejections []rejection, long bool) {
	t.Helper()
	for _, r := range rejections {
		t.Logf("%7d  %-30s %v", c.seen[r.Rule], r.Rule, r.Codes)
		if long && c.seen[r.Rule] == 0 {
			t.Errorf("no object of this run breaks the rule about %s: the generator misses it",
				r.Rule)
		}
	}
}
