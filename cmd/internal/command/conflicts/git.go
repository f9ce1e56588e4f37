package conflicts

import (
	"fmt"

	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// conflictsInGit returns the values of a build's objects that kustomizations set differently, and
// the number of the objects. Those of a Secret stay hidden.
func conflictsInGit(built *workspace.Built) (found finding.List, objects int, err error) {
	trace, err := built.Trace("")
	if err != nil {
		return nil, 0, err
	}
	for object := range built.Objects() {
		f := finding.Finding{Object: object}
		for path, claims := range trace.Fields(objects) {
			before, accident, ok := trace.Replaced(claims)
			if !ok {
				continue
			}
			f.Path = path
			f.Claims = trace.Claims([]origins.Claim{before, claims[len(claims)-1]})
			for i, c := range f.Claims {
				if object.Kind == "Secret" && c.Value != nil {
					f.Claims[i].Value = "***"
				}
			}
			found = append(found, inGit(f, accident))
		}
		objects++
	}
	return found, objects, nil
}

// inGit completes the finding on a value that the second of two claims replaces.
func inGit(f finding.Finding, accident bool) finding.Finding {
	old, last := f.Claims[0].Owner, f.Claims[1].Owner
	f.Position = f.Claims[1].Position
	f.Code, f.Severity = codes.GitOverride, finding.Note
	f.Message = fmt.Sprintf("%s overrides %s", last, old)
	if accident {
		f.Code, f.Severity = codes.GitOrder, finding.Warning
		f.Message = fmt.Sprintf("%s and %s set different values, and the order in Git decides",
			old, last)
		f.Remedy.Text = "set the field in the overlay that lists them"
	}
	return f
}
