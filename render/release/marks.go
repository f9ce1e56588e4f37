package release

import "slices"

// Mark says what the knowledge of a change rests on. The zero value is the release's own source,
// which was read and compared.
type Mark string

// bases are what the marks stand for, as in "by its notes". docs/versions.md says more of each.
var bases = map[Mark]string{
	"":      "by its source",
	"tag":   "by the source of a commit before it", // 8c0f5059b of 2026-08-21
	"idx":   "by a copy of a source file",          // of an unknown commit
	"docs":  "by its guide",
	"notes": "by its notes",
	"kep":   "by its proposal",
	"pr":    "by its pull request", // before it was merged
	"inf":   "as inferred",         // from the others
}

// Text returns what the mark stands for.
func (m Mark) Text() string { return bases[m] }

// marks are the marks of the releases whose source was not compared, by the switch or its part.
// Trainer 2.4.0 is released, but no module proxy serves it. Once its source says the same, the line
// goes: `make upstream VERSION=v2.4.0` lists such lines. A release without lines here is the latest
// one.
var marks = []struct {
	in, id string
	mark   Mark
}{
	{"2.4", "definitions", "kep"},
	{"2.4", "num-nodes", "tag"},
	{"2.4", "num-proc-per-node", "tag"},
	{"2.4", "claims-in-resources", "docs"},
	{"2.4", "claims-of-nodes", "kep"},
	{"2.4", "claims-in-patches", "kep"},
	{"2.4", "resources-in-patches", "kep"},
	{"2.4", string(MPIPrteEnv), "pr"},
	{"2.4", string(FluxUnchecked), "tag"},
	{"2.4", string(ClaimsExist), "docs"},
	{"2.4", string(SnapshotUpdates), "idx"},
	{"2.4", string(RuntimesDeprecated), "idx"},
	{"2.4", string(ShortJobNames), "notes"},
	{"2.4", "mpi-prte", "pr"},
	{"2.4", "mpi-image", "inf"},
	{"2.4", "failed-final", "tag"},
	{"2.4", "claims-gate", "docs"},
	{"2.4", "claims-kept", "idx"},
	{"2.4", "claims-per-node", "idx"},
	{"2.4", "claims-counted", "kep"},
	{"2.4", "claims-torch", "inf"},
	{"2.4", "claims-torchtune", "kep"},
	{"2.4", "claims-mpi", "kep"},
	{"2.4", "claims-xgboost", "kep"},
	{"2.4", "claims-flux", "kep"},
}

// MarkOf returns the mark of a switch, or of a part of one, in the minor version of a release.
func MarkOf(in, id string) Mark {
	for _, m := range marks {
		if m.in == in && m.id == id {
			return m.mark
		}
	}
	return ""
}

// Marked returns the reason for a change with what its knowledge rests on, such as "... (by its
// guide)". A change that was compared has its reason alone.
func Marked(why, in, id string) string {
	if m := MarkOf(in, id); m != "" {
		return why + " (" + m.Text() + ")"
	}
	return why
}

// Unread reports whether what is known of the release rests on other sources than its own.
func (r *Release) Unread() bool {
	for _, m := range marks {
		if m.in == r.Name {
			return true
		}
	}
	return false
}

// Basis returns what the report on releases must say once, such as "for Trainer 2.4: by its notes
// and guide", or "" if the source of each was compared.
func Basis(of ...Release) string {
	at := slices.IndexFunc(of, func(r Release) bool { return r.Unread() })
	if at < 0 {
		return ""
	}
	return "for Trainer " + of[at].Name + ": by its notes and guide"
}
