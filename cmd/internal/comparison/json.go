package comparison

import (
	"io"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// The JSON of a comparison. It lists every differing TrainJob with all its changes, without groups.
type (
	jsonDiff struct {
		Notes     []string        `json:"notes,omitempty" doc:"What holds for the whole comparison, such as a change of a stored version."`
		Summary   jsonSummary     `json:"summary"`
		Blast     jsonEffects     `json:"blastRadius" doc:"What the changes do to TrainJobs that run."`
		TrainJobs []jsonJob       `json:"trainJobs" doc:"The TrainJobs that differ."`
		Conflicts []jsonFound     `json:"conflicts,omitempty" doc:"What managers disagree on, new ones first."`
		Findings  []jsonFound     `json:"findings,omitempty" doc:"Other findings on the new version, new ones first."`
		OldErrors []jsonRejection `json:"oldErrors,omitempty" doc:"Errors of the old version alone that belong to no TrainJob."`
	}
	jsonFound struct {
		New       bool             `json:"new" doc:"The old version lacks it."`
		Severity  finding.Severity `json:"severity"`
		Kind      string           `json:"kind,omitempty"`
		Namespace string           `json:"namespace,omitempty"`
		Name      string           `json:"name,omitempty"`
		Build     string           `json:"build,omitempty"`
		jsonRejection
		Claims []jsonSetter `json:"claims,omitempty"`
	}
	jsonEffects struct {
		Replaced int `json:"replaced" doc:"TrainJobs whose JobSet is replaced."`
		Rejected int `json:"refused" doc:"TrainJobs whose update the cluster rejects."`
		Kept     int `json:"kept" doc:"TrainJobs that keep what they run."`
		Delayed  int `json:"delayed" doc:"TrainJobs whose change waits for their resume."`
		Updated  int `json:"updated" doc:"TrainJobs that are updated in place."`
	}
	jsonSummary struct {
		Changed    int         `json:"changed"`
		Created    int         `json:"created"`
		Removed    int         `json:"removed"`
		Same       int         `json:"same"`
		Rejected   int         `json:"refused,omitempty"`
		Accepted   int         `json:"accepted,omitempty"`
		Unrendered int         `json:"unrendered,omitempty" doc:"TrainJobs that the new version does not render: refused ones, and broken ones."`
		Causes     []jsonCause `json:"causes" doc:"Who or what causes the changes, the most TrainJobs first."`
	}
	jsonCause struct {
		Name      string       `json:"name"`
		Files     []string     `json:"files,omitempty"`
		TrainJobs int          `json:"trainJobs"`
		Changes   []jsonChange `json:"changes"`
		Reason    string       `json:"reason,omitempty" doc:"Why a release changes them, and link is the thread."`
		Link      string       `json:"link,omitempty"`
		Before    string       `json:"before,omitempty" doc:"What to do before the upgrade."`
	}
	jsonChange struct {
		What      string `json:"what"`
		TrainJobs int    `json:"trainJobs"`
	}
	jsonJob struct {
		Kind        string          `json:"kind"`
		Namespace   string          `json:"namespace"`
		Name        string          `json:"name"`
		Build       string          `json:"build,omitempty"`
		State       state           `json:"state"`
		Objects     []jsonObject    `json:"objects" doc:"The objects that differ."`
		Rejected    []jsonRejection `json:"refused,omitempty" doc:"Why the cluster rejects the new version."`
		RejectedOld []jsonRejection `json:"refusedBefore,omitempty" doc:"Of a broken or removed TrainJob: why the old version does not render it, apart from the errors in refused."`
		Causes      []merge.Owner   `json:"causes,omitempty" doc:"Who causes the rejection."`
		Existing    []string        `json:"existing,omitempty" doc:"What holds for a TrainJob that exists already."`
		Update      Update          `json:"update,omitempty" doc:"What an update does to a TrainJob that exists."`
		Frozen      []string        `json:"frozen,omitempty" doc:"The fields that an update does not change."`
		Effects     []live.Effect   `json:"effects,omitempty" doc:"The changes of the objects that a cluster has: the JobSet, then its Jobs."`
	}
	jsonRejection struct {
		Code    finding.Code `json:"code"`
		Path    string       `json:"path,omitempty"`
		Message string       `json:"message"`
		File    string       `json:"file,omitempty"`
		Line    int          `json:"line,omitempty"`
		Column  int          `json:"column,omitempty"`
	}
	jsonObject struct {
		Kind    string      `json:"kind"`
		Name    string      `json:"name"`
		State   state       `json:"state"`
		Old     any         `json:"old,omitempty" doc:"The object that is removed."`
		New     any         `json:"new,omitempty" doc:"The object that is created."`
		Changes []jsonField `json:"changes,omitempty" doc:"The fields of a changed object that differ."`
		Kept    bool        `json:"kept,omitempty" doc:"An update does not create or remove the object: the job keeps the runtime with which it began."`
	}
	jsonField struct {
		Kind   diff.Kind      `json:"kind"`
		Path   fieldpath.Path `json:"path"`
		Old    any            `json:"old,omitempty"`
		New    any            `json:"new,omitempty"`
		From   *int           `json:"from,omitempty" doc:"The place of a list's item in the old version, from 0."`
		To     *int           `json:"to,omitempty" doc:"The place of a list's item in the new version, from 0."`
		Before []jsonSetter   `json:"before,omitempty" doc:"Who set the old value."`
		After  []jsonSetter   `json:"after,omitempty" doc:"Who set the new value."`
		Kept   bool           `json:"kept,omitempty" doc:"An update does not bring the change: the job keeps the runtime with which it began."`
	}
	jsonSetter struct {
		Layer  merge.Owner `json:"layer"`
		File   string      `json:"file,omitempty"`
		Line   int         `json:"line,omitempty"`
		Column int         `json:"column,omitempty"`
	}
)

// WriteJSON writes the comparison for programs.
func (c *Comparison) WriteJSON(w io.Writer) error {
	s := c.summary()
	out := jsonDiff{
		Summary: jsonSummary{
			Changed: s.counts[stateChanged], Created: s.counts[stateCreated],
			Removed: s.counts[stateRemoved], Same: s.same,
			Rejected: s.counts[stateRejected], Accepted: s.counts[stateAccepted],
			Unrendered: s.unrendered,
			Causes:     []jsonCause{},
		},
		Blast:     c.effects().json(),
		TrainJobs: []jsonJob{}, Notes: c.new.Notes,
		Conflicts: c.conflicts.json(), Findings: c.findings.json(),
		OldErrors: rejectionsOf(c.oldErrors),
	}
	for _, by := range s.causes {
		cause := jsonCause{Name: by.name, Files: by.files, TrainJobs: len(by.jobs), Reason: by.Text,
			Link: by.Link, Before: by.Before}
		for _, row := range by.rows {
			cause.Changes = append(cause.Changes, jsonChange{row.what, len(row.jobs)})
		}
		out.Summary.Causes = append(out.Summary.Causes, cause)
	}
	for _, j := range c.Jobs {
		job := jsonJob{Kind: j.ID.Kind, Namespace: j.ID.Namespace, Name: j.ID.Name, Build: j.Build,
			State: j.state, Objects: []jsonObject{},
			Causes: distinctLayers(layersOf(j.rejectionCauses())), Existing: j.queueChange(),
			Update: j.updateEffect.Update, Frozen: j.updateEffect.Frozen,
			Effects: j.updateEffect.Fields}
		job.Rejected, job.RejectedOld = rejectionsOf(j.rejected), rejectionsOf(j.rejectedOld)
		for _, o := range j.Objects {
			object, err := c.jsonObject(o)
			if err != nil {
				return err
			}
			job.Objects = append(job.Objects, object)
		}
		out.TrainJobs = append(out.TrainJobs, job)
	}
	return report.EncodeReport(w, out)
}

// rejectionCauses returns the layers that cause the errors of the TrainJob.
func (j *JobDiff) rejectionCauses() []merge.Claim {
	var claims []merge.Claim
	for i := range j.rejected {
		claims = append(claims, j.causesOf(i)...)
	}
	return claims
}

func rejectionsOf(errs finding.List) []jsonRejection {
	var out []jsonRejection
	for _, f := range errs {
		out = append(out, rejectionOf(f))
	}
	return out
}

func rejectionOf(f finding.Finding) jsonRejection {
	return jsonRejection{f.Code, f.Path.String(), f.Message, f.Position.File, f.Position.Line,
		f.Position.Column}
}

// json lists the findings, new ones first.
func (c *openFindings) json() []jsonFound {
	var out []jsonFound
	for i, f := range slices.Concat(c.introduced, c.preexisting) {
		out = append(out, jsonFound{
			New: i < len(c.introduced), Severity: f.Severity, Kind: f.Object.Kind,
			Namespace: f.Object.Namespace, Name: f.Object.Name, Build: f.Build,
			jsonRejection: rejectionOf(f), Claims: jsonClaims(f.Claims),
		})
	}
	return out
}

func (b *effectList) json() jsonEffects {
	return jsonEffects{Replaced: b.count(Replaced), Rejected: b.count(Rejected),
		Kept: b.count(Kept), Delayed: b.count(Delayed), Updated: b.count(Updated)}
}

func (b *effectList) count(u Update) int {
	return len(b.by[effect{u, byRules}]) + len(b.by[effect{u, byFrozen}]) +
		len(b.by[effect{u, byStuck}]) +
		len(b.by[effect{u, byObserved}])
}

func (c *Comparison) jsonObject(o *ObjectDiff) (jsonObject, error) {
	object := jsonObject{Kind: o.Key.Kind, Name: o.Key.Name, State: o.state}
	object.Kept = o.state != stateChanged && o.isKept()
	if o.state != stateChanged {
		var err error
		object.Old, object.New, err = c.values(o)
		return object, err
	}
	for _, change := range o.changes {
		field := jsonField{
			Kind: change.Kind, Path: change.Path, Old: change.Old, New: change.New,
			Before: jsonClaims(change.Before), After: jsonClaims(change.After),
			Kept: o.keeps(change.Path),
		}
		if change.From != diff.NoItem {
			field.From = &change.From
		}
		if change.To != diff.NoItem {
			field.To = &change.To
		}
		object.Changes = append(object.Changes, field)
	}
	return object, nil
}

// values returns both versions of an object: masked and decoded from JSON, or unchanged if values
// are shown.
func (c *Comparison) values(o *ObjectDiff) (old, new any, err error) {
	if !c.mask {
		return o.Old, o.New, nil
	}
	return diff.Mask(o.Old, o.New, c.options(o))
}

func jsonClaims(claims []merge.Claim) []jsonSetter {
	out := make([]jsonSetter, len(claims))
	for i, c := range claims {
		out[i] = jsonSetter{c.Owner, c.Position.File, c.Position.Line, c.Position.Column}
	}
	return out
}

// distinctLayers returns the layers, each once, in the order of the first of each.
func distinctLayers(layers []merge.Owner) []merge.Owner {
	var out []merge.Owner
	for _, l := range layers {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}
