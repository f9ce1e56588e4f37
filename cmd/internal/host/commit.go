package host

import "path/filepath"

// Commit returns the short name of the revision's commit, its day, and the repository, such as
// "1a2b3c4 of 2026-11-29 in gitops". It returns "" for a revision without a commit. A repository
// may ask for signatures to be verified, by a program that it names: none is.
func (r *GitFiles) Commit() string {
	out, err := git(r.root, "log", "-1", "--no-show-signature", "--format=%h of %cs",
		"--end-of-options", r.name, "--")
	if err != nil || len(out) == 0 {
		return ""
	}
	return line(out) + " in " + filepath.Base(r.root)
}
