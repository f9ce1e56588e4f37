// Command generate packs the definitions and the stock runtimes of each release, and the
// definitions of gangs:
//
//	go generate ./render/release
//
// It takes them from the modules of the Trainer, of JobSet and of the gang schedulers. Package
// release names their versions. The definitions lose their descriptions, and the runtimes
// their comments; NOTICE in each archive names the source and its licence. The same modules give
// the same bytes.
//
// Its first file to read is main.go.
package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render/release"
)

func main() {
	version := flag.String("version", "",
		"take a release's own module, and list how what was known differs: v2.4.0")
	flag.Parse()
	for _, r := range release.Known() {
		own := !r.Unread()
		if r.Version == strings.TrimPrefix(*version, "v") {
			own = true
			defer compareWith(r)()
		}
		if err := pack(r, own); err != nil {
			fmt.Fprintf(os.Stderr, "generate: Trainer %s: %v\n", r.Version, err)
			os.Exit(1)
		}
	}
	if err := packPodGroups(); err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}

// pack writes the archive of a release, from its own module or as known.
func pack(r release.Release, own bool) error {
	version, differ, err := source(r, own)
	if err != nil {
		return err
	}
	trainer, err := module("github.com/kubeflow/trainer/v2@v" + version)
	if err != nil {
		return err
	}
	jobSet, err := module("sigs.k8s.io/jobset@v" + r.JobSetVersion)
	if err != nil {
		return err
	}
	files := map[string][]byte{"NOTICE": notice(r, own)}
	definitions, err := filepath.Glob(
		filepath.Join(trainer, "manifests/base/crds/trainer.kubeflow.org_*s.yaml"))
	if err != nil {
		return err
	}
	for _, file := range append(
		definitions, filepath.Join(
			jobSet, "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml")) {
		_, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		crd, err := readDefinition(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := differ.apply(crd); err != nil {
			return fmt.Errorf("the definitions of Trainer %s: %w", r.Version, err)
		}
		if files[plural+".json"], err = undescribed(crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if own {
		if files["runtimes.json"], err = runtimes(trainer); err != nil {
			return err
		}
	}
	return write(filepath.Join("data", r.Version+".zip"), files)
}

// packPodGroups writes the archive of the definitions of PodGroup.
func packPodGroups() error {
	files := map[string][]byte{
		"NOTICE": fmt.Appendf(
			nil, `The definitions of PodGroup are those of Volcano %s, https://github.com/volcano-sh/volcano,
and of scheduler-plugins %s, https://github.com/kubernetes-sigs/scheduler-plugins.
Both projects are under the Apache License 2.0, http://www.apache.org/licenses/LICENSE-2.0.
Descriptions were removed.
`, release.VolcanoVersion, release.SchedulerPluginsVersion)}
	for version, file := range map[string]string{
		"volcano.sh/volcano@v" +
			release.VolcanoVersion: "config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml",
		"sigs.k8s.io/scheduler-plugins@v" +
			release.SchedulerPluginsVersion: "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml",
	} {
		dir, err := module(version)
		if err != nil {
			return err
		}
		crd, err := readDefinition(filepath.Join(dir, file))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if files[crd.Spec.Group+".json"], err = undescribed(crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return write(filepath.Join("data", "podgroups.zip"), files)
}

// module returns the directory of a module's version.
func module(version string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", version)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var downloaded struct{ Dir, Error string }
	if failed := json.Unmarshal(out, &downloaded); err == nil {
		err = failed
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", version, err, downloaded.Error)
	}
	return downloaded.Dir, nil
}

func notice(r release.Release, own bool) []byte {
	if !own {
		return fmt.Appendf(
			nil, "The definitions are those of Kubeflow Trainer %s, Apache License 2.0, with the "+
				"fields that its guide and notes\nname for %s. See "+
				"https://github.com/kubeflow/trainer.\n", release.Latest().Version, r.Version)
	}
	return fmt.Appendf(
		nil, `The definitions of TrainJob and of the runtimes, and the runtimes, are those of
Kubeflow Trainer %s, https://github.com/kubeflow/trainer.
The definition of JobSet is that of JobSet %s, https://github.com/kubernetes-sigs/jobset.
Both projects are under the Apache License 2.0, http://www.apache.org/licenses/LICENSE-2.0.
Descriptions and comments were removed.
`, r.Version, r.JobSetVersion)
}

// readDefinition returns the definition in a file.
func readDefinition(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	return crd, yaml.UnmarshalStrict(text, crd)
}

// undescribed returns a definition as JSON, without descriptions. It removes them from crd as well.
func undescribed(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	for _, version := range crd.Spec.Versions {
		dropDescriptions(version.Schema.OpenAPIV3Schema)
	}
	return json.Marshal(map[string]any{
		"apiVersion": crd.APIVersion, "kind": crd.Kind,
		"metadata": map[string]any{"name": crd.Name}, "spec": crd.Spec,
	})
}

func dropDescriptions(s *apiextensionsv1.JSONSchemaProps) {
	if s == nil {
		return
	}
	s.Description = ""
	for name, property := range s.Properties {
		dropDescriptions(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		dropDescriptions(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		dropDescriptions(s.AdditionalProperties.Schema)
	}
}

// kustomization holds the parts that the Trainer's overlay of runtimes uses.
type kustomization struct {
	Labels []struct {
		Pairs map[string]string `json:"pairs"`
	} `json:"labels"`
	Images []struct {
		Name   string `json:"name"`
		NewTag string `json:"newTag"`
	} `json:"images"`
}

// runtimes returns the stock runtimes as the release's overlay installs them, ordered by name.
func runtimes(trainer string) ([]byte, error) {
	var overlay kustomization
	text, err := os.ReadFile(
		filepath.Join(trainer, "manifests/overlays/runtimes/kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &overlay); err != nil {
		return nil, err
	}
	var items []unstructured.Unstructured
	err = filepath.WalkDir(filepath.Join(trainer, "manifests/base/runtimes"),
		func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" ||
				filepath.Base(path) == "kustomization.yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			// One file of the Trainer has a separator at its start.
			for document := range strings.SplitSeq("\n"+string(text), "\n---\n") {
				var item unstructured.Unstructured
				if err := yaml.Unmarshal([]byte(document), &item.Object); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				if item.GetKind() == "ClusterTrainingRuntime" {
					overlay.apply(&item)
					items = append(items, item)
				}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, errors.New("the module has no runtimes")
	}
	slices.SortFunc(items, func(a, b unstructured.Unstructured) int {
		return cmp.Compare(a.GetName(), b.GetName())
	})
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

// apply sets the labels of the overlay, and the tags of its images.
func (k kustomization) apply(item *unstructured.Unstructured) {
	for _, l := range k.Labels {
		labels := map[string]string{}
		maps.Copy(labels, item.GetLabels())
		maps.Copy(labels, l.Pairs)
		item.SetLabels(labels)
	}
	k.tag(item.Object)
}

func (k kustomization) tag(value any) {
	switch v := value.(type) {
	case map[string]any:
		if image, ok := v["image"].(string); ok {
			bare, _, _ := strings.Cut(image, ":")
			for _, i := range k.Images {
				if i.Name == bare {
					v["image"] = bare + ":" + i.NewTag
				}
			}
		}
		for _, entry := range v {
			k.tag(entry)
		}
	case []any:
		for _, item := range v {
			k.tag(item)
		}
	}
}

// write packs the files, without times.
func write(name string, files map[string][]byte) error {
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: file, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := w.Write(files[file]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o644)
}
