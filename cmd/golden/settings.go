package golden

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
)

// Setting is an option of an options.yaml. Its name is the name of a flag of trainweld render.
type Setting struct {
	Name, Doc string
	// Words are the only values, if there are any. Truth marks true and false, Number a value that
	// may be a number.
	Words         []string
	Truth, Number bool
	// List marks an option that also takes a list of values.
	List bool
	// Instead is what to use instead of an option of the last release. It is still read, with a
	// warning.
	Instead string
}

// Settings returns the options that an options.yaml may set, in the order of their names, without
// those of the last release.
func Settings() []Setting {
	var all []Setting
	for _, s := range settings() {
		if s.Instead == "" {
			all = append(all, s.Setting)
		}
	}
	slices.SortFunc(all, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// setting is an option with the function that sets its value. Text has the value of an option that
// is no list.
type setting struct {
	Setting
	set func(r *optionsReader, n *yaml.Node, text string) error
}

// read returns the value of an option as text, or an error. It returns "" for a list.
func (s Setting) read(n *yaml.Node) (string, error) {
	switch {
	case s.Words != nil:
		return word(n, s.Words...)
	case s.Truth:
		value, err := truth(n)
		return strconv.FormatBool(value), err
	case s.List:
		return "", nil
	}
	return scalarText(n)
}

// settings returns all options.
func settings() []setting {
	isTrue := strconv.FormatBool(true)
	return []setting{
		{Setting{Name: "to", Doc: "The objects to render.",
			Words: []string{"jobset", "jobs", "pods"}},
			func(r *optionsReader, _ *yaml.Node, text string) error {
				r.opts.to = text
				return nil
			}},
		{Setting{Name: "as",
			Doc:   "Render objects as they are applied, or as the API server stores them.",
			Words: []string{"applied", "stored"}},
			func(r *optionsReader, _ *yaml.Node, text string) error {
				r.opts.jobSet.As = render.Applied
				if text == "stored" {
					r.opts.jobSet.As = render.Stored
				}
				return nil
			}},
		{Setting{Name: "on-conflict",
			Doc: "What happens if managers disagree: the case fails, or the last patch wins as " +
				"in the cluster.", Words: []string{"fail", "last"}},
			func(r *optionsReader, _ *yaml.Node, text string) error {
				r.opts.jobSet.OnConflict = render.Fail
				if text == "last" {
					r.opts.jobSet.OnConflict = render.Last
				}
				return nil
			}},
		{Setting{Name: "trainer-version",
			Doc: "The release of the Trainer, such as 2.3. Without it, a trainweld.yaml of the " +
				"folder or above it names the release.", Number: true},
			func(r *optionsReader, _ *yaml.Node, text string) (err error) {
				r.opts.jobSet.Release, err = release.Parse(text)
				return err
			}},
		{Setting{Name: "kubernetes-version",
			Doc: "The minor version of Kubernetes, such as 1.36. Without it, that of a " +
				"trainweld.yaml, or of the release.", Number: true},
			func(r *optionsReader, _ *yaml.Node, text string) (err error) {
				r.opts.kubernetes, err = minor.Parse(text)
				return err
			}},
		{Setting{Name: "namespace", Doc: "The namespace of objects without one."},
			func(r *optionsReader, _ *yaml.Node, text string) error {
				r.opts.namespace = text
				return nil
			}},
		{Setting{Name: "patch",
			Doc: "A file of managers' patches, or a list of files, relative to the folder of the " +
				"options.", List: true}, func(r *optionsReader, n *yaml.Node, _ string) error {
			r.opts.patches = nil
			for _, file := range scalarOrItems(n) {
				name, err := r.path(file)
				if err != nil {
					return err
				}
				r.opts.patches = append(r.opts.patches, name)
			}
			return nil
		}},
		{Setting{Name: "force-manager",
			Doc: "The manager that wins every conflict, or a list of managers.", List: true},
			func(r *optionsReader, n *yaml.Node, _ string) error {
				r.opts.jobSet.ForceManagers = nil
				for _, manager := range scalarOrItems(n) {
					name, err := scalarText(manager)
					if err != nil {
						return err
					}
					r.opts.jobSet.ForceManagers = append(r.opts.jobSet.ForceManagers, name)
				}
				return nil
			}},
		{Setting{Name: "feature-gates",
			Doc: "The feature gates of the Trainer, such as TrainJobStatus=true."},
			func(r *optionsReader, _ *yaml.Node, text string) (err error) {
				r.opts.jobSet.FeatureGates, err = render.ParseFeatureGates(text)
				return err
			}},
		{Setting{Name: "flux-templates",
			Doc: "The folder of the Trainer's scripts for Flux, relative to the folder of the " +
				"options."}, func(r *optionsReader, n *yaml.Node, _ string) error {
			folder, err := r.path(n)
			if err == nil {
				r.opts.jobSet.FluxTemplates, err = fs.Sub(r.c.fsys, folder)
			}
			return err
		}},
		{Setting{Name: "owner-references", Doc: "Render the owner references of the objects.",
			Truth: true}, func(r *optionsReader, _ *yaml.Node, text string) error {
			r.opts.jobSet.OwnerReferences = text == isTrue
			return nil
		}},
		{Setting{Name: "all", Doc: "Record notes in findings.txt.", Truth: true},
			func(r *optionsReader, _ *yaml.Node, text string) error {
				r.opts.showNotes = text == isTrue
				return nil
			}},
		{Setting{Name: "job",
			Doc: "The Pods to render: JOB, JOB/INDEX or /INDEX, with the index N, N..M or all."},
			func(r *optionsReader, _ *yaml.Node, text string) error {
				return r.opts.pods.Select(text)
			}},
		{Setting{Name: "show-notes", Truth: true, Instead: "all"},
			func(r *optionsReader, _ *yaml.Node, text string) error {
				r.opts.showNotes = text == isTrue
				return nil
			}},
		{Setting{Name: "index", Number: true, Instead: "job: JOB/INDEX"},
			func(r *optionsReader, _ *yaml.Node, text string) (err error) {
				r.opts.pods.Indexes, err = render.ParseIndexRange(text)
				return err
			}},
		{Setting{Name: "all-indexes", Truth: true, Instead: "job: JOB/all"},
			func(r *optionsReader, _ *yaml.Node, text string) error {
				r.opts.pods.AllIndexes = text == isTrue
				return nil
			}},
		{Setting{Name: "jobset-uid", Doc: "The uid for labels that contain it."},
			func(r *optionsReader, _ *yaml.Node, text string) error {
				r.opts.pods.JobSetUID = types.UID(text)
				return nil
			}},
	}
}
