package release

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/trainweld/trainweld/render/release/minor"
)

// tested has, for each release, the oldest minor version of Kubernetes that its tests run on, and
// the one whose types it uses. The notes of 2.4 name neither: it has the oldest one of 2.3, and
// 1.37, which was the latest one when 2.4 came out.
var tested = []struct {
	release, from, to string
	mark              Mark
}{
	{"2.0", "1.29", "1.32", ""},
	{"2.1", "1.31", "1.34", ""},
	{"2.2", "1.32", "1.36", ""},
	{"2.3", "1.32", "1.36", ""},
	{"2.4", "1.32", "1.37", "inf"},
}

// On returns the release on a minor version of Kubernetes, such as "1.34". An empty one is the
// release's own. A nil release is the latest one, and stays nil with its own version.
func (r *Release) On(kubernetes string) *Release {
	if kubernetes == "" {
		return r
	}
	on := *r.Or()
	on.Kubernetes = kubernetes
	return &on
}

// ParseOn returns a release as Parse does, on the minor version of Kubernetes after a slash, as in
// 2.3/1.37. Without one, it is the release's own.
func ParseOn(version string) (*Release, error) {
	trainer, kubernetes, named := strings.Cut(version, "/")
	r, err := Parse(trainer)
	if err != nil || !named {
		return r, err
	}
	if kubernetes, err = minor.Parse(kubernetes); err != nil {
		return nil, err
	}
	return r.On(kubernetes), nil
}

// Untested says that nobody tests the release with its version of Kubernetes, or that a later one
// stands for it. It returns "" otherwise.
func (r *Release) Untested() string {
	r = r.Or()
	var why []string
	for _, t := range tested {
		if t.release != r.Name || minor.Compare(t.from, r.Kubernetes) <= 0 &&
			minor.Compare(r.Kubernetes, t.to) <= 0 {
			continue
		}
		basis := ""
		if t.mark != "" {
			basis = ", " + t.mark.Text() + ","
		}
		why = append(why, fmt.Sprintf("Trainer %s is tested with Kubernetes %s to %s%s and not with %s",
			r.Name, t.from, t.to, cmp.Or(basis, ","), r.Kubernetes))
	}
	if minor.IsEarly(r.Kubernetes) {
		why = append(why, fmt.Sprintf("Kubernetes %s is judged as %s, the oldest known version",
			r.Kubernetes, minor.Names()[0]))
	}
	return strings.Join(why, "; ")
}
