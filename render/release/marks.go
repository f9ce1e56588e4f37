package release

import (
	"slices"
)

// Mark says what the knowledge of a change rests on. The zero value is the release's own source, which was read and compared.
type Mark string

// The marks, from the surest one.
const (
	// Commit is the source of commit 8c0f5059b of 2026-08-21, before the release.
	Commit Mark = "tag"
	// Copied is a public copy of one source file, of an unknown commit.
	Copied Mark = "idx"
	// Guide is the operator guide of the release.
	Guide Mark = "docs"
	// Notes are the release notes, which give no detail.
	Notes Mark = "notes"
	// Proposal is the enhancement proposal.
	Proposal Mark = "kep"
	// Discussed is the text of the pull request before it was merged.
	Discussed Mark = "pr"
	// Inferred is a conclusion from the others.
	Inferred Mark = "inf"
)

// Text returns what the mark stands for, as in "by its notes".
func (m Mark) Text() string {
	switch m {
	case Commit:
		return "by the source of a commit before it"
	case Copied:
		return "by a copy of a source file"
	case Guide:
		return "by its guide"
	case Notes:
		return "by its notes"
	case Proposal:
		return "by its proposal"
	case Discussed:
		return "by its pull request"
	case Inferred:
		return "as inferred"
	}
	return "by its source"
}

// marks are the marks of the releases whose source was not compared, by the switch or its part. Trainer 2.4.0 is released, but no
// module proxy serves it. Once its source says the same, the line goes: `make upstream VERSION=v2.4.0` lists such lines. A release
// without lines here is the latest one.
var marks = []struct {
	in, id string
	mark   Mark
}{
	{"2.4", "definitions", Proposal},
	{"2.4", "num-nodes", Commit},
	{"2.4", "num-proc-per-node", Commit},
	{"2.4", "claims-in-resources", Guide},
	{"2.4", "claims-of-nodes", Proposal},
	{"2.4", "claims-in-patches", Proposal},
	{"2.4", "resources-in-patches", Proposal},
	{"2.4", string(MPIPrteEnv), Discussed},
	{"2.4", string(FluxUnchecked), Commit},
	{"2.4", string(ClaimsExist), Guide},
	{"2.4", string(SnapshotUpdates), Copied},
	{"2.4", string(RuntimesDeprecated), Copied},
	{"2.4", string(ShortJobNames), Notes},
	{"2.4", "mpi-prte", Discussed},
	{"2.4", "mpi-image", Inferred},
	{"2.4", "failed-final", Commit},
	{"2.4", "claims-gate", Guide},
	{"2.4", "claims-kept", Copied},
	{"2.4", "claims-per-node", Copied},
	{"2.4", "claims-counted", Proposal},
	{"2.4", "claims-torch", Inferred},
	{"2.4", "claims-torchtune", Proposal},
	{"2.4", "claims-mpi", Proposal},
	{"2.4", "claims-xgboost", Proposal},
	{"2.4", "claims-flux", Proposal},
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

// Marked returns the reason for a change with what its knowledge rests on, such as "... (by its guide)". A change that was compared
// has its reason alone.
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

// Basis returns what the report on releases must say once, such as "for Trainer 2.4: by its notes and guide", or "" if the source
// of each was compared.
func Basis(of ...Release) string {
	at := slices.IndexFunc(of, func(r Release) bool { return r.Unread() })
	if at < 0 {
		return ""
	}
	return "for Trainer " + of[at].Name + ": by its notes and guide"
}
