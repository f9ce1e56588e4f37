package release_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/render/release"
)

// TestParse wants short and full versions to name a release. The error for an unknown one names the
// known ones.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{"2.0": "2.0.1", "v2.1": "2.1.0", "2.2.1": "2.2.1",
		"v2.3.0": "2.3.0", "2.4": "2.4.0"} {
		if r, err := release.Parse(text); err != nil || r.Version != want {
			t.Errorf("%s: got %v, %v, want %s", text, r, err, want)
		}
	}
	for text, want := range map[string]string{"2.2.9": "2.2", "21": "2.1", "v2,0": "2.0",
		"2.10": "", "2": "", "main": ""} {
		if _, err := release.Parse(text); err == nil ||
			strings.Contains(err.Error(), "did you mean") != (want != "") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want the hint %q", text, err, want)
		}
	}
	for _, text := range []string{"", "2", "2.5", "2.2.9", "next", "latest"} {
		r, err := release.Parse(text)
		if err == nil {
			t.Errorf("%q is read as %s", text, r.Version)
			continue
		}
		for _, known := range release.Known() {
			if !strings.Contains(err.Error(), known.Name+" ("+known.Version+")") {
				t.Errorf("%q: %q does not name %s", text, err, known.Version)
			}
		}
	}
}

// TestSwitches wants the switches, turned one by one, to lead from each release to each other one.
// Each turn must change something in the release that it names.
func TestSwitches(t *testing.T) {
	known := release.Known()
	for _, from := range known {
		for _, to := range known {
			now := from
			for _, s := range release.Switches() {
				s.Set(&now, &to)
			}
			now.Name, now.Version, now.JobSetVersion = to.Name, to.Version, to.JobSetVersion
			now.Kubernetes = to.Kubernetes
			if !reflect.DeepEqual(now, to) {
				t.Errorf("the switches from %s to %s end in %+v, want %+v", from.Name, to.Name,
					now, to)
			}
		}
	}
	var ids []string
	for _, s := range release.Switches() {
		if slices.Contains(ids, s.ID) {
			t.Errorf("two switches are called %s", s.ID)
		}
		ids = append(ids, s.ID)
		turned := map[string]bool{}
		for _, change := range s.Changes {
			turned[change.In] = true
		}
		for i := range known[1:] {
			now := known[i]
			if differs := s.Set(&now, &known[i+1]); differs != turned[known[i+1].Name] {
				t.Errorf("%s turns in %s: %t, and its table says %t", s.ID, known[i+1].Name,
					differs, turned[known[i+1].Name])
			}
		}
	}
}

// TestSince wants the release that brought a behaviour.
func TestSince(t *testing.T) {
	at := slices.IndexFunc(release.Switches(), func(s release.Switch) bool {
		return s.ID == "gang-requests"
	})
	s := release.Switches()[at]
	for in, want := range map[string]string{"2.0": "", "2.1": "", "2.2": "2.2", "2.3": "2.3"} {
		r, err := release.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if change, _ := s.Since(r); change.In != want {
			t.Errorf("%s: since %q, want %q", in, change.In, want)
		}
	}
}

// TestUnread wants a mark for each change of an unread release, and none for a compared one. Such a
// release is nobody's default.
func TestUnread(t *testing.T) {
	known := release.Known()
	for _, r := range known {
		for _, s := range release.Switches() {
			for _, change := range s.Changes {
				if marked := release.MarkOf(r.Name, s.ID) != ""; change.In == r.Name &&
					marked != r.Unread() {
					t.Errorf("%s of %s has a mark: %t", s.ID, r.Name, marked)
				}
			}
			for _, part := range s.Parts {
				if marked := release.MarkOf(r.Name, part.ID) != ""; part.In == r.Name &&
					marked != r.Unread() {
					t.Errorf("part %s of %s has a mark: %t", part.ID, r.Name, marked)
				}
			}
		}
	}
	if latest := release.Latest(); latest.Name != "2.3" || latest.Unread() ||
		!known[len(known)-1].Unread() || len(release.Compared()) != latest.Index()+1 {
		t.Errorf("the latest release is %s", latest.Name)
	}
	if got := release.Basis(known...); got != "for Trainer 2.4: by its notes and guide" {
		t.Errorf("a report on 2.4 says %q", got)
	}
	if got := release.Basis(release.Compared()...); got != "" {
		t.Errorf("a report on compared releases says %q", got)
	}
}

// TestData wants each release to have its definitions and its runtimes.
func TestData(t *testing.T) {
	for _, r := range release.Known() {
		for _, kind := range []string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime",
			"JobSet"} {
			text, err := r.Definition(kind)
			if err != nil {
				t.Fatal(err)
			}
			var crd struct {
				Spec struct{ Names struct{ Kind string } }
			}
			if err := json.Unmarshal(text, &crd); err != nil || crd.Spec.Names.Kind != kind {
				t.Errorf("%s: the definition of %s is one of %q: %v", r.Name, kind,
					crd.Spec.Names.Kind, err)
			}
		}
		text, err := r.Runtimes()
		if err != nil || !strings.Contains(string(text), `"torch-distributed"`) {
			t.Errorf("%s has no stock runtime torch-distributed: %v", r.Name, err)
		}
		if _, err := r.Definition("Pod"); err == nil {
			t.Errorf("%s defines a Pod", r.Name)
		}
	}
	for _, group := range []string{"scheduling.volcano.sh", "scheduling.x-k8s.io"} {
		if text, err := release.PodGroup(group); err != nil ||
			!strings.Contains(string(text), `"kind":"PodGroup"`) {
			t.Errorf("the PodGroup of %s is missing: %v", group, err)
		}
	}
	if _, err := release.PodGroup("scheduling.k8s.io"); err == nil {
		t.Error("there is a PodGroup of another group")
	}
	unknown := release.Release{Schema: "1.0.0"}
	if _, err := unknown.Definition("TrainJob"); err == nil ||
		!strings.Contains(err.Error(), "1.0.0") {
		t.Errorf("a release without definitions has some: %v", err)
	}
	if (*release.Release)(nil).Or().Version != release.Latest().Version {
		t.Error("no release is not the latest one")
	}
}
