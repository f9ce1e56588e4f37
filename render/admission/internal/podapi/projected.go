package podapi

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// The limits for the lifetime of a token.
const (
	leastTokenSeconds   = 10 * 60
	longestTokenSeconds = 1 << 32
)

// checkProjected checks a volume with several sources.
func (p *podChecker) checkProjected(volume *corev1.ProjectedVolumeSource, at fieldpath.Path) {
	p.checkMode(volume.DefaultMode, at.Append(fieldpath.Field("defaultMode")))
	files := projectedFiles{podChecker: p, seen: map[string]bool{}}
	for i := range volume.Sources {
		files.checkSource(&volume.Sources[i],
			at.Append(fieldpath.Field("sources"), fieldpath.Index(i)))
	}
}

// projectedFiles reports duplicate paths of files.
type projectedFiles struct {
	*podChecker
	seen map[string]bool
}

func (f *projectedFiles) add(file string, path fieldpath.Path) {
	if file == "" {
		return
	}
	if f.seen[file] {
		f.report(codes.Volume, path, apirule.Invalid(file, "conflicting duplicate paths"),
			"set different paths")
	}
	f.seen[file] = true
}

func (f *projectedFiles) checkItems(name string, items []corev1.KeyToPath, at fieldpath.Path) {
	apirule.Required(f.report, codes.Volume, at.Append(fieldpath.Field("name")), name)
	for i := range items {
		item := at.Append(fieldpath.Field("items"), fieldpath.Index(i))
		f.checkFile(&items[i], item)
		f.add(items[i].Path, item.Append(fieldpath.Field("path")))
	}
}

func (f *projectedFiles) checkSource(source *corev1.VolumeProjection, at fieldpath.Path) {
	set := 0
	if s := source.Secret; s != nil {
		set++
		f.checkItems(s.Name, s.Items, at.Append(fieldpath.Field("secret")))
	}
	if c := source.ConfigMap; c != nil {
		set++
		f.checkItems(c.Name, c.Items, at.Append(fieldpath.Field("configMap")))
	}
	if d := source.DownwardAPI; d != nil {
		set++
		for i := range d.Items {
			item := at.Append(fieldpath.Fields("downwardAPI", "items")...).Append(
				fieldpath.Index(i))
			f.checkDownwardFile(&d.Items[i], item)
			f.add(d.Items[i].Path, item.Append(fieldpath.Field("path")))
		}
	}
	if t := source.ServiceAccountToken; t != nil {
		set++
		token := at.Append(fieldpath.Field("serviceAccountToken"))
		if t.ExpirationSeconds != nil { // the API server fills in an hour
			apirule.Between(f.report, codes.Volume,
				token.Append(fieldpath.Field("expirationSeconds")), *t.ExpirationSeconds,
				leastTokenSeconds, longestTokenSeconds)
		}
		f.checkFilePath(t.Path, token.Append(fieldpath.Field("path")))
	}
	if set > 1 {
		f.report(codes.TwoSources, at,
			apirule.Forbidden("may not specify more than 1 volume type per source"),
			"make each a source of its own")
	}
}
