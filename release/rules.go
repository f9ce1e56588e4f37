package release

import "slices"

// Rule is a rule of the Trainer's or JobSet's webhooks that not all releases have. Rules that all of them have need no name.
type Rule string

const (
	// PatchedJobsExist refuses overrides and patches of replicated jobs that the runtime lacks.
	PatchedJobsExist Rule = "patched-jobs-exist"
	// PatchedOnce refuses two overrides of one job.
	PatchedOnce Rule = "patched-once"
)

// Rules is a set of rules, sorted.
type Rules []Rule

// Has reports whether the set has a rule.
func (rs Rules) Has(rule Rule) bool {
	_, found := slices.BinarySearch(rs, rule)
	return found
}

// with returns the set with the rule, or without it.
func (rs Rules) with(rule Rule, has bool) Rules {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r Rule) bool { return r == rule })
	if has {
		rs = append(rs, rule)
		slices.Sort(rs)
	}
	return rs
}

// rules are the rules, and the releases that added or dropped them.
var rules = []struct {
	rule  Rule
	title string
	turns []Turn
}{
	{PatchedJobsExist, "whether a patch may name only jobs of the runtime",
		[]Turn{{"2.3", "a patch of a job that the runtime lacks is admitted, and the TrainJob never starts", jobSet(1185)}}},
	{PatchedOnce, "whether a job may have one override only",
		[]Turn{{"2.1", "several overrides may change one job; the last one wins", trainer(2785)}}},
}

// ruleSwitches returns a switch for each rule.
func ruleSwitches() []Switch {
	var all []Switch
	for _, r := range rules {
		all = append(all, Switch{
			ID: string(r.rule), Title: r.title, Turns: r.turns,
			value: func(of *Release) string { return yes(of.Rules.Has(r.rule)) },
			turn:  func(of, to *Release) { of.Rules = of.Rules.with(r.rule, to.Rules.Has(r.rule)) },
		})
	}
	return all
}
