package fn

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/resourcelist"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/merge"
)

// results are findings as a ResourceList carries them, one each.
func (f *function) results(findings finding.List) []resourcelist.Result {
	var results []resourcelist.Result
	for _, found := range findings {
		if found.Severity > finding.Note || f.opts.ShowNotes {
			results = append(results, f.result(found))
		}
	}
	return results
}

func (f *function) result(finding finding.Finding) resourcelist.Result {
	r := resourcelist.Result{Message: finding.Message, Severity: resultSeverity(finding.Severity), Tags: map[string]string{"code": string(finding.Code)}}
	if help := fnHelp(finding); help != "" {
		r.Message += "; " + help
	}
	if version := f.apiVersion(finding.Object); version != "" && finding.Object.Name != "" {
		r.ResourceRef = &resourcelist.ResourceRef{APIVersion: version, Kind: finding.Object.Kind, Namespace: finding.Object.Namespace, Name: finding.Object.Name}
		if len(finding.Path) > 0 {
			r.Field = resultField(finding)
		}
	}
	r.File = f.resultFile(finding.Position, r.Tags)
	var managers []string
	for _, claim := range finding.Claims {
		// The value stands under who set it, as people read it; secrets are masked.
		r.Tags[string(claim.Layer)] = merge.FormatClaim(sourceOf(finding, claim), claim, false)
		if name, ok := claim.Layer.Manager(); ok {
			managers = append(managers, name)
		}
	}
	if managers != nil {
		r.Tags["manager"] = strings.Join(managers, ",")
	}
	return r
}

// misuseResult is a mistake in the options.
func misuseResult(config *resourcelist.Item, wrong misuse) resourcelist.Result {
	r := resourcelist.Result{Message: wrong.message, Severity: resourcelist.Error}
	if id := config.ID(); id.Name != "" {
		r.ResourceRef = &resourcelist.ResourceRef{APIVersion: id.APIVersion, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
		r.Field = &resourcelist.Field{Path: wrong.path}
	}
	if file, ok := config.File(); ok {
		r.File = &file
	}
	return r
}

func resultSeverity(severity finding.Severity) resourcelist.Severity {
	switch severity {
	case finding.Error:
		return resourcelist.Error
	case finding.Warning:
		return resourcelist.Warning
	default:
		return resourcelist.Info
	}
}

// resultField is the field of a finding. Where managers overlap, the current value is the one that wins in
// the cluster, and the proposed one that of the manager that came first: to agree on it ends the conflict.
func resultField(found finding.Finding) *resourcelist.Field {
	field := &resourcelist.Field{Path: found.Path.String()}
	if found.Code != finding.CodeOverlap || len(found.Claims) < 2 {
		return field
	}
	field.CurrentValue = resultValue(found, found.Claims[len(found.Claims)-1])
	field.ProposedValue = resultValue(found, found.Claims[0])
	return field
}

// resultValue is the value of a claim: itself where people see it whole, and otherwise what they see of it.
func resultValue(finding finding.Finding, claim engine.Claim) any {
	text := merge.FormatClaim(sourceOf(finding, claim), claim, false)
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &value); err != nil {
		return text
	}
	return value
}

func sourceOf(finding finding.Finding, claim engine.Claim) fieldpath.Path {
	if len(claim.Source) == 0 {
		return finding.Path
	}
	return claim.Source
}

// resultFile is the file of a position. In a file that was read here, the line and the column are known.
func (f *function) resultFile(at fieldpath.Position, tags map[string]string) *resourcelist.File {
	if item := f.itemAt(at); item != nil {
		if file, ok := item.File(); ok {
			return &file
		}
		return nil
	}
	if isStream(at) || at.File == "" {
		return nil
	}
	if at.Line > 0 {
		tags["line"] = strconv.Itoa(at.Line)
	}
	if at.Column > 0 {
		tags["column"] = strconv.Itoa(at.Column)
	}
	return &resourcelist.File{Path: at.File}
}

// itemAt is the item that a position is in, or nil.
func (f *function) itemAt(at fieldpath.Position) *resourcelist.Item {
	if at.File == configFile {
		return f.list.Config
	}
	n, ok := strings.CutPrefix(at.File, itemPrefix)
	if !ok {
		return nil
	}
	i, err := strconv.Atoi(n)
	if err != nil {
		return nil
	}
	return f.list.Items[i]
}

// streamPosition is a position of the stream within a message.
var streamPosition = regexp.MustCompile(itemPrefix + `(\d+)(:\d+)*`)

// told are findings whose messages name the files that people know.
func (f *function) told(findings finding.List) finding.List {
	for i := range findings {
		findings[i].Message = streamPosition.ReplaceAllStringFunc(findings[i].Message, func(at string) string {
			n := streamPosition.FindStringSubmatch(at)[1]
			if p := f.positionForPeople(fieldpath.Position{File: itemPrefix + n}); p.File != "" {
				return p.File
			}
			return fmt.Sprintf("items[%s]", n)
		})
	}
	return findings
}

// forPeople are findings with the files that people know in place of the items'.
func (f *function) forPeople(findings finding.List) finding.List {
	told := make(finding.List, len(findings))
	for i, finding := range findings {
		finding.Position = f.positionForPeople(finding.Position)
		claims := make([]engine.Claim, len(finding.Claims))
		for c, claim := range finding.Claims {
			claim.Position = f.positionForPeople(claim.Position)
			claims[c] = claim
		}
		finding.Claims = claims
		told[i] = finding
	}
	return told
}

// positionForPeople is the file that an item's annotations name, without a line: the lines of the stream are
// not those of the file.
func (f *function) positionForPeople(at fieldpath.Position) fieldpath.Position {
	if !isStream(at) {
		return at
	}
	if item := f.itemAt(at); item != nil {
		if file, ok := item.File(); ok {
			return fieldpath.Position{File: file.Path}
		}
	}
	return fieldpath.Position{}
}

// apiVersion is that of an object of a finding.
func (f *function) apiVersion(o fieldpath.Object) string {
	if version := f.versions[o]; version != "" {
		return version
	}
	switch o.Kind {
	case trainer.TrainJobKind, trainer.TrainingRuntimeKind, trainer.ClusterTrainingRuntimeKind:
		return trainer.GroupVersion.String()
	case workspace.JobSetKind:
		return jobset.GroupVersion.String()
	case "Job":
		return batchv1.SchemeGroupVersion.String()
	case "Pod", "Service", "ConfigMap", "Secret", "PersistentVolumeClaim":
		return corev1.SchemeGroupVersion.String()
	default:
		return ""
	}
}
