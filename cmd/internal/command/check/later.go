package check

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// twice returns the program for each of two runs over the same inputs: both read standard input if
// the flags name it.
func twice(p *host.Program, flags checkFlags) (first, second *host.Program, err error) {
	one, other := *p, *p
	if slices.Contains(slices.Concat(flags.Files, flags.Runtimes), manifest.Stdin) {
		text, err := io.ReadAll(p.Stdin)
		if err != nil {
			return nil, nil, err
		}
		one.Stdin, other.Stdin = bytes.NewReader(text), bytes.NewReader(text)
	}
	return &one, &other, nil
}

// isLater returns an error unless the release of --to-version is later than one of the inputs'
// releases, or than the latest one if the inputs name none.
func (flags checkFlags) isLater(now []release.Release) error {
	if flags.until == nil {
		return nil
	}
	if len(now) == 0 {
		now = []release.Release{*release.Latest()}
	}
	known := release.Known()
	rank := func(r release.Release) int {
		return slices.IndexFunc(known, func(other release.Release) bool {
			return other.Name == r.Name
		})
	}
	if slices.ContainsFunc(now, func(r release.Release) bool {
		return rank(r) < rank(*flags.until)
	}) {
		return nil
	}
	return fmt.Errorf(
		"--to-version %s: not later than Trainer %s, by which the inputs are checked: name a "+
			"later release", flags.until.Name, now[0].Name)
}

// refusedBy returns a warning for each error of the inputs in another release at a field that has
// none now. Two releases may refuse one value by different stages.
func refusedBy(ctx context.Context, p *host.Program, flags checkFlags,
	now finding.List) (finding.List, error) {
	to := *flags.until
	flags.Release, flags.counted = &to, nil
	then := report.Run{Rate: option.Severities{}.Apply}
	if _, err := checkParts(ctx, p, flags, nil, &then); err != nil {
		return nil, err
	}
	has, at := map[string]bool{}, map[fieldpath.Position]bool{}
	for _, f := range now {
		if f.Severity >= finding.Error {
			has[fmt.Sprint(f.Object, f.Path)] = true
			at[f.Position] = f.Position.Line > 0
		}
	}
	var refused finding.List
	for _, f := range then.Findings() {
		if f.Severity < finding.Error || has[fmt.Sprint(f.Object, f.Path)] || at[f.Position] {
			continue
		}
		f.Severity = finding.Warning
		if who := "Trainer " + to.Name + " refuses "; !strings.HasPrefix(f.Message, who) {
			f.Message = who + "it: " + f.Message
		}
		refused = append(refused, f)
	}
	return refused, nil
}
