// This file reads the fields of configurations that the next release does not read.

package fn

import (
	"fmt"
	"io"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
)

// gone returns the warning on a field that the next release does not read.
func gone(path, name, instead string) misuse {
	return misuse{path, name + " is gone with the next release: " + instead}
}

// takeFormer moves the fields of the last release to those of today, and returns a warning for
// each.
func (o *mergeOptions) takeFormer() (used []misuse) {
	take := func(isSet bool, field, word, instead string) {
		if !isSet {
			return
		}
		if used = append(used, gone("."+field, field, "use "+instead)); word != "" {
			o.Option = append(o.Option, word)
		}
	}
	unions, defaults, order := "unions="+string(o.Unions), "defaults", "keep-order"
	if o.Defaults != "rules" {
		defaults += "=" + string(o.Defaults) // is rejected
	}
	if o.Order != "base" {
		order += "=" + string(o.Order)
	}
	take(o.Defaults != "", "defaults", defaults, "option: [defaults]")
	take(o.Managers != nil, "managers", "", "forceManagers")
	take(o.Order != "", "order", order, "option: [keep-order]")
	take(o.Precedence != "", "precedence", "", "onConflict: "+string(o.Precedence))
	take(o.ProtectedError, "protectedError", "protect-error", "option: [protect-error]")
	take(o.Unions != "", "unions", unions, "option: ["+unions+"]")
	if o.Empty != "" {
		used = append(used, gone(".empty", "empty", "leave empty strings out of the patches"))
	}
	if o.Precedence != "" {
		o.OnConflict = string(o.Precedence)
	}
	o.ForceManagers = append(o.ForceManagers, o.Managers...)
	return used
}

// warn reports fields that the next release does not read.
func warn(w io.Writer, list *resourcelist.List, former []misuse) {
	for _, m := range former {
		fmt.Fprintf(w, "trainweld: warning: %s\n", report.Printable(m.Error()))
		r := misuseResult(list.Config, m)
		r.Severity = resourcelist.Warning
		list.Results = append(list.Results, r)
	}
}
