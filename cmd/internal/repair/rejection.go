package repair

import (
	"bytes"
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// The remedies of rejected repairs.
const (
	byHand   = "change the file by hand"
	ownPatch = "give the TrainJobs patches of their own, or change the shared patch by hand"
)

// reject records that a repair is left to the user.
func (r *pass) reject(f finding.Finding, code finding.Code, reason, help string) {
	r.rejected[idOf(f)] = finding.Finding{
		Code: code, Severity: finding.Warning, Object: f.Object, Path: f.Path, Position: f.Position, Build: f.Build,
		Message: fmt.Sprintf("%s is not repaired: %s", f.Code, reason), Remedy: finding.Remedy{Text: help},
	}
}

// generated returns a finding on a repair in a file that another program writes, or nil. It names the source.
func (r *pass) generated(f finding.Finding) *finding.Finding {
	reject := func(reason, help string) *finding.Finding {
		r.reject(f, codes.Generated, reason, help)
		return new(r.rejected[idOf(f)])
	}
	if f.Build != "" {
		return reject("the object is the output of a build", "change the sources of the build: see the position")
	}
	files := []fieldpath.Position{f.Position}
	for _, c := range f.Claims {
		files = append(files, c.Position)
	}
	for _, p := range files {
		if reason, help := r.markOf(p.File); reason != "" {
			return reject(reason, help)
		}
	}
	return nil
}

// changeBlocker states why a file must not be changed. It is empty for other files.
type changeBlocker struct{ reason, help string }

// markOf returns the reason why a file must not be changed, or "".
func (r *pass) markOf(file string) (reason, help string) {
	known, ok := r.marks[file]
	if !ok {
		known = r.newMark(file)
		r.marks[file] = known
	}
	return known.reason, known.help
}

func (r *pass) newMark(file string) changeBlocker {
	data, isFile := r.in.Data(file)
	switch {
	case file == "":
		return changeBlocker{}
	case file == manifest.Stdin:
		return changeBlocker{"standard input is not a file", "name the file"}
	case !isFile:
		return changeBlocker{file + " was not read as a file of the input", byHand}
	}
	if line, text := markedLine(data); text != "" {
		return changeBlocker{fmt.Sprintf("%s is a generated file, by line %d: %s", file, line, text), "change its source, and generate the file again"}
	}
	if list := output.ListOf(file); list != "" {
		return changeBlocker{fmt.Sprintf("trainweld wrote %s, by the list %s", file, list), "change the inputs of trainweld render, and render again"}
	}
	return changeBlocker{}
}

// The extent of the comments in which a generated file tells so, and of the part to show.
const (
	markLines = 20
	markShown = 120
)

// markedLine returns the line that says that a file is generated, with its number.
func markedLine(data []byte) (number int, text string) {
	for line := range bytes.Lines(data) {
		number++
		comment, isComment := strings.CutPrefix(strings.TrimSpace(string(line)), "#")
		if number > markLines || !isComment && comment != "" && comment != "---" {
			break
		}
		if upper := strings.ToUpper(comment); strings.Contains(upper, "DO NOT EDIT") || strings.Contains(upper, "@GENERATED") {
			text = strings.TrimSpace(comment)
			return number, text[:min(len(text), markShown)]
		}
	}
	return 0, ""
}

// isOfTrainJob reports whether a finding is on a TrainJob, not on the object of a file of patches.
func isOfTrainJob(f finding.Finding) bool { return f.Object.Kind == trainer.TrainJobKind }
