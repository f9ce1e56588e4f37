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

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// results returns the findings as results of a ResourceList.
func (f *function) results(findings finding.List,
	help func(finding.Finding) string) []resourcelist.Result {
	var results []resourcelist.Result
	for _, found := range codes.JoinRuntimes(findings) {
		if found.Severity > finding.Note || f.opts.All || codes.AssumesRuntime(found) {
			results = append(results, f.result(found, help))
		}
	}
	return results
}

func (f *function) result(finding finding.Finding,
	helpOf func(finding.Finding) string) resourcelist.Result {
	r := resourcelist.Result{Message: finding.Message, Severity: resultSeverity(finding.Severity),
		Tags: map[string]string{"code": string(finding.Code)}}
	if help := helpOf(finding); help != "" {
		r.Message += "; " + help
	}
	if version := f.apiVersion(finding.Object); version != "" && finding.Object.Name != "" {
		r.ResourceRef = &resourcelist.ID{APIVersion: version, Kind: finding.Object.Kind,
			Namespace: finding.Object.Namespace, Name: finding.Object.Name}
		if len(finding.Path) > 0 {
			r.Field = resultField(finding)
		}
	}
	if r.File = f.resultFile(finding.Position, r.Tags); r.File == nil {
		r.File = f.fileOf(finding.Object)
	}
	var managers []string
	for _, claim := range finding.Claims {
		// The layer labels the value; secrets are masked.
		r.Tags[string(claim.Owner)] = runtimepatch.FormatClaim(sourceOf(finding, claim), claim,
			false)
		if name, ok := claim.Owner.Manager(); ok {
			managers = append(managers, name)
		}
	}
	if managers != nil {
		r.Tags["manager"] = strings.Join(managers, ",")
	}
	return r
}

// misuseResult returns an error in the options as a result.
func misuseResult(config *resourcelist.Item, wrong misuse) resourcelist.Result {
	r := resourcelist.Result{Message: wrong.message, Severity: finding.Error.String()}
	if id := config.ID(); id.Name != "" {
		r.ResourceRef = &id
		r.Field = &resourcelist.Field{Path: wrong.path}
	}
	if file, ok := config.File(); ok {
		r.File = &file
	}
	return r
}

func resultSeverity(severity finding.Severity) string {
	if severity == finding.Note {
		return "info"
	}
	return severity.String()
}

// resultField returns the field of a finding. On an overlap, the current value is the winner in the
// cluster, and the proposed value is the first manager's. Agreeing on the proposed value ends the
// conflict.
func resultField(found finding.Finding) *resourcelist.Field {
	field := &resourcelist.Field{Path: found.Path.String()}
	if found.Code != codes.Overlap || len(found.Claims) < 2 {
		return field
	}
	field.CurrentValue = resultValue(found, found.Claims[len(found.Claims)-1])
	field.ProposedValue = resultValue(found, found.Claims[0])
	return field
}

// resultValue returns the value of a claim, or its masked or shortened form as people see it.
func resultValue(finding finding.Finding, claim merge.Claim) any {
	text := runtimepatch.FormatClaim(sourceOf(finding, claim), claim, false)
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &value); err != nil {
		return text
	}
	return value
}

func sourceOf(finding finding.Finding, claim merge.Claim) fieldpath.Path {
	if len(claim.At) == 0 {
		return finding.Path
	}
	return claim.At
}

// resultFile returns the file of a position. For a file that this program read, it includes the
// line and the column.
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

// fileOf returns the file of an object, or of the TrainJob that a JobSet is rendered from.
func (f *function) fileOf(o fieldpath.Object) *resourcelist.File {
	item := f.items[o]
	if o.Kind == workspace.JobSetKind && item == nil {
		item = f.items[fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: o.Namespace,
			Name: o.Name}]
	}
	if item != nil {
		if file, ok := item.File(); ok {
			return &file
		}
	}
	return nil
}

// itemAt returns the item of a position, or nil.
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

// streamPosition matches a position of the stream in a message. There the name of an item is quoted
// for its first character.
var streamPosition = regexp.MustCompile(
	regexp.QuoteMeta(strings.TrimSuffix(printable.Name(itemPrefix), `"`)) + `(\d+)"(:\d+)*`)

// messagesWithFiles replaces item positions in the messages of findings by the files that people
// know.
func (f *function) messagesWithFiles(findings finding.List) finding.List {
	for i := range findings {
		findings[i].Message = streamPosition.ReplaceAllStringFunc(findings[i].Message,
			func(at string) string {
				n := streamPosition.FindStringSubmatch(at)[1]
				if p := f.filePosition(fieldpath.Position{File: itemPrefix + n}); p.File != "" {
					return p.File
				}
				return fmt.Sprintf("items[%s]", n)
			})
	}
	return findings
}

// withFiles returns the findings with the files that people know instead of items.
func (f *function) withFiles(findings finding.List) finding.List {
	copied := make(finding.List, len(findings))
	for i, finding := range findings {
		finding.Position = f.filePosition(finding.Position)
		claims := make([]merge.Claim, len(finding.Claims))
		for c, claim := range finding.Claims {
			claim.Position = f.filePosition(claim.Position)
			claims[c] = claim
		}
		finding.Claims = claims
		copied[i] = finding
	}
	return copied
}

// filePosition returns the file that an item's annotations name. It has no line, since the lines of
// the stream differ from the file's lines.
func (f *function) filePosition(at fieldpath.Position) fieldpath.Position {
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

// apiVersion returns the apiVersion of a finding's object.
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

// mergeHelp returns the remedy of a finding, with the option that applies it.
func mergeHelp(f finding.Finding) string {
	switch {
	case f.Code == codes.Overlap:
		return "set the field in one patch only"
	case f.Code == codes.SameKey:
		return "set the whole list in one patch, with $patch: replace"
	case f.Code == codes.UnknownVersion:
		return "use a version that the definition serves"
	}
	return f.Remedy.Text
}
