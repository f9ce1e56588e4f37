package comparison

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// The types of this file are the report and its JSON at once. The JSON lists every differing
// TrainJob with all its changes, without groups.
type (
	// JobDiff is a TrainJob that differs.
	JobDiff struct {
		Kind        string        `json:"kind"`
		Namespace   string        `json:"namespace"`
		Name        string        `json:"name"`
		Build       string        `json:"build,omitempty"`
		State       state         `json:"state"`
		Objects     []*ObjectDiff `json:"objects" doc:"The objects that differ."`
		Rejected    []rejection   `json:"refused,omitempty" doc:"Why the cluster rejects the new version."`
		RejectedOld []rejection   `json:"refusedBefore,omitempty" doc:"Of a broken or removed TrainJob: why the old version does not render it, apart from the errors in refused."`
		Causes      []merge.Owner `json:"causes,omitempty" doc:"Who causes the rejection."`
		Existing    []string      `json:"existing,omitempty" doc:"What holds for a TrainJob that exists already."`
		UpdateEffect

		runtime  fieldpath.Object
		old, new *Job // until the effects are known; nil if created or removed
	}
	// ObjectDiff is an object that differs.
	ObjectDiff struct {
		Kind    string        `json:"kind"`
		Name    string        `json:"name"`
		State   state         `json:"state"`
		Old     any           `json:"old,omitempty" doc:"The object that is removed."`
		New     any           `json:"new,omitempty" doc:"The object that is created."`
		Changes []fieldChange `json:"changes,omitempty" doc:"The fields of a changed object that differ."`
		Kept    bool          `json:"kept,omitempty" doc:"An update does not create or remove the object: the job keeps the runtime with which it began."`

		key           Key
		by            []setter // the cause of an object that is created or removed
		old, new      any      // nil once the lines are known, and before and after as well
		before, after *diff.Owners
		alike         string // equal for objects with the same changes
	}
	fieldChange struct {
		Kind   diff.Kind      `json:"kind"`
		Path   fieldpath.Path `json:"path"`
		Old    any            `json:"old,omitempty"`
		New    any            `json:"new,omitempty"`
		From   *int           `json:"from,omitempty" doc:"The place of a list's item in the old version, from 0."`
		To     *int           `json:"to,omitempty" doc:"The place of a list's item in the new version, from 0."`
		Before []setter       `json:"before,omitempty" doc:"Who set the old value."`
		After  []setter       `json:"after,omitempty" doc:"Who set the new value."`
		Kept   bool           `json:"kept,omitempty" doc:"An update does not bring the change: the job keeps the runtime with which it began."`
	}
	rejection struct {
		Code    finding.Code `json:"code"`
		Path    string       `json:"path,omitempty"`
		Message string       `json:"message"`
		place

		causes []setter
		remedy string
	}
	setter struct {
		Layer merge.Owner `json:"layer"`
		place
	}
	place struct {
		File   string `json:"file,omitempty"`
		Line   int    `json:"line,omitempty"`
		Column int    `json:"column,omitempty"`
	}
	summary struct {
		Changed    int      `json:"changed"`
		Created    int      `json:"created"`
		Removed    int      `json:"removed"`
		Same       int      `json:"same"`
		Rejected   int      `json:"refused,omitempty"`
		Accepted   int      `json:"accepted,omitempty"`
		Unrendered int      `json:"unrendered,omitempty" doc:"TrainJobs that the new version does not render: refused ones, and broken ones."`
		Causes     []*cause `json:"causes" doc:"Who or what causes the changes, the most TrainJobs first."`
	}
	// cause is a runtime, a manager or a section of the TrainJobs that sets changed values.
	cause struct {
		Name      string         `json:"name"`
		Files     []string       `json:"files,omitempty"` // sorted
		TrainJobs jobList        `json:"trainJobs"`
		Changes   []*causeChange `json:"changes"`
		Reason

		known map[string]*causeChange
	}
	causeChange struct {
		What      string  `json:"what"`
		TrainJobs jobList `json:"trainJobs"`
	}
	effectCounts struct {
		Replaced int `json:"replaced" doc:"TrainJobs whose JobSet is replaced."`
		Rejected int `json:"refused" doc:"TrainJobs whose update the cluster rejects."`
		Kept     int `json:"kept" doc:"TrainJobs that keep what they run."`
		Delayed  int `json:"delayed" doc:"TrainJobs whose change waits for their resume."`
		Updated  int `json:"updated" doc:"TrainJobs that are updated in place."`
	}
	jsonFound struct {
		New       bool             `json:"new" doc:"The old version lacks it."`
		Severity  finding.Severity `json:"severity"`
		Kind      string           `json:"kind,omitempty"`
		Namespace string           `json:"namespace,omitempty"`
		Name      string           `json:"name,omitempty"`
		Build     string           `json:"build,omitempty"`
		rejection
		Claims []setter `json:"claims,omitempty"`
	}
)

// state is the change of a TrainJob or of an object.
type state string

const (
	stateChanged state = "changed"
	stateCreated state = "created"
	stateRemoved state = "removed"
	// Only the new version rejects the TrainJob, or only the old one, or both do.
	stateRejected state = "refused"
	stateAccepted state = "accepted"
	stateBroken   state = "broken"
)

// jobList lists TrainJobs. JSON has their number.
type jobList []*JobDiff

// MarshalJSON returns the number of TrainJobs.
func (l jobList) MarshalJSON() ([]byte, error) { return json.Marshal(len(l)) }

// with adds a TrainJob, unless it is the last one.
func (l jobList) with(j *JobDiff) jobList {
	if n := len(l); n > 0 && l[n-1] == j {
		return l
	}
	return append(l, j)
}

// WriteJSON writes the comparison for programs.
func (c *Comparison) WriteJSON(w io.Writer) error {
	return report.EncodeReport(w, struct {
		Notes     []string     `json:"notes,omitempty" doc:"What holds for the whole comparison, such as a change of a stored version."`
		Summary   summary      `json:"summary"`
		Blast     effectCounts `json:"blastRadius" doc:"What the changes do to TrainJobs that run."`
		TrainJobs []*JobDiff   `json:"trainJobs" doc:"The TrainJobs that differ."`
		Conflicts []jsonFound  `json:"conflicts,omitempty" doc:"What managers disagree on, new ones first."`
		Findings  []jsonFound  `json:"findings,omitempty" doc:"Other findings on the new version, new ones first."`
		OldErrors []rejection  `json:"oldErrors,omitempty" doc:"Errors of the old version alone that belong to no TrainJob."`
	}{c.Notes, c.summary(), c.effectCounts(), append([]*JobDiff{}, c.jobs...),
		c.conflicts.json(), c.findings.json(), rejections(c.oldErrors, nil)})
}

// json lists the findings, new ones first.
func (o *openFindings) json() []jsonFound {
	var out []jsonFound
	for i, f := range slices.Concat(o.introduced, o.preexisting) {
		out = append(out, jsonFound{
			New: i < len(o.introduced), Severity: f.Severity, Kind: f.Object.Kind,
			Namespace: f.Object.Namespace, Name: f.Object.Name, Build: f.Build,
			rejection: rejections(finding.List{f}, nil)[0], Claims: setters(f.Claims),
		})
	}
	return out
}

// rejections returns errors with their causes: by has one for each error, or the errors have their
// own.
func rejections(errs finding.List, by []merge.Claim) (out []rejection) {
	for i, f := range errs {
		causes := f.Claims
		if by != nil {
			causes = by[i : i+1]
		}
		out = append(out, rejection{f.Code, f.Path.String(), f.Message, place(f.Position),
			setters(causes), f.Remedy.Text})
	}
	return out
}

// String returns an error with its place, its code and its field.
func (r rejection) String() string {
	at := printable.Position(fieldpath.Position(r.place))
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", at, r.Code, r.Path)) +
		": " + r.Message
}

func setters(claims []merge.Claim) (out []setter) {
	for _, c := range claims {
		out = append(out, setter{c.Owner, place(c.Position)})
	}
	return out
}

func (s setter) String() string {
	at := printable.Position(fieldpath.Position(s.place))
	return strings.TrimSpace(string(s.Layer) + " " + at)
}

func owners(of []setter) (layers []merge.Owner) {
	for _, s := range of {
		layers = append(layers, s.Layer)
	}
	return layers
}

func newFieldChange(c diff.Change) fieldChange {
	f := fieldChange{Kind: c.Kind, Path: c.Path, Old: c.Old, New: c.New, Before: setters(c.Before),
		After: setters(c.After)}
	if c.From != diff.NoItem {
		f.From = &c.From
	}
	if c.To != diff.NoItem {
		f.To = &c.To
	}
	return f
}
