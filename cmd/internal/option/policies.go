package option

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// Policies are the options of a merge, as flags and configurations give them.
type Policies struct {
	Unions, Empty, Order, Precedence, Defaults string
	Managers                                   []string
	Protected                                  []fieldpath.Path
	ProtectedError                             bool
}

// The API server's words for an error, which begin its message.
const (
	forbidden   = "Forbidden"
	unsupported = "Unsupported value"
)

// Wrong returns the error of a word that a policy does not have, or of policies that contradict
// each other, or nil.
func (p Policies) Wrong() *merge.OptionError {
	for _, of := range []struct {
		option, value string
		words         []string
	}{
		{"Order", p.Order, []string{"base"}},
		{"Unions", p.Unions, []string{"last", "error"}},
		{"Empty", p.Empty, []string{"skip", "zero"}},
		{"Precedence", p.Precedence, []string{"first", "base"}},
		{"Defaults", p.Defaults, []string{"rules"}},
	} {
		if of.value == "" || slices.Contains(of.words, of.value) {
			continue
		}
		for i, word := range of.words {
			of.words[i] = strconv.Quote(word)
		}
		return &merge.OptionError{
			Option: of.option,
			Err: fmt.Errorf("%s: %q: supported values: %s", unsupported, of.value,
				strings.Join(of.words, ", "))}
	}
	switch {
	case len(p.Managers) > 0 && p.Precedence != "":
		return &merge.OptionError{
			Option: "Managers",
			Err:    fmt.Errorf("%s: may not be set when Precedence is %q", forbidden, p.Precedence)}
	case p.ProtectedError && len(p.Protected) == 0:
		return &merge.OptionError{
			Option: "ProtectedError",
			Err:    fmt.Errorf("%s: may not be set when Protected is empty", forbidden)}
	}
	return nil
}

// Options returns the options of known words.
func (p Policies) Options() (all []merge.Option) {
	add := func(is bool, option merge.Option) {
		if is {
			all = append(all, option)
		}
	}
	add(p.Order == "base", merge.KeepOrder())
	add(p.Unions != "", merge.Unions(merge.UnionPolicy(p.Unions)))
	add(p.Empty == "skip", merge.SkipEmpty())
	add(p.Empty == "zero", merge.SkipZero())
	add(p.Precedence == "first", merge.First())
	add(p.Precedence == "base", merge.BaseWins())
	add(p.Defaults == "rules", merge.Defaults())
	add(len(p.Managers) > 0, merge.Prefer(p.Managers...))
	add(len(p.Protected) > 0, merge.Protect(p.Protected...))
	add(p.ProtectedError, merge.ProtectError())
	return all
}

// PolicyOf returns the policy of an option of package merge.
func PolicyOf(option string) string {
	return cmp.Or(map[string]string{
		"First": "Precedence", "BaseWins": "Precedence", "Prefer": "Managers",
		"Protect": "Protected", "ProtectError": "ProtectedError",
		"SkipEmpty": "Empty", "SkipZero": "Empty", "KeepOrder": "Order", "Live": "Managed",
	}[option], option)
}
