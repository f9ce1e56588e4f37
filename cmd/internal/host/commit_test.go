package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommit_Signature names the commit of a repository that asks for its signatures to be verified
// by a program of its own. The program does not run.
func TestCommit_Signature(t *testing.T) {
	dir := t.TempDir()
	plainGit(t, dir, "", "init", "-q")
	tree := strings.TrimSpace(plainGit(t, dir, "", "write-tree"))
	signed := "tree " + tree + "\nauthor a <a@example.com> 1000000000 +0000\n" +
		"committer a <a@example.com> 1000000000 +0000\n" +
		"gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n\nsigned\n"
	id := strings.TrimSpace(plainGit(t, dir, signed, "hash-object", "-t", "commit", "-w", "--stdin"))
	plainGit(t, dir, "", "update-ref", "HEAD", id)
	ran := filepath.Join(dir, "ran")
	program := filepath.Join(dir, "verify")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n: >'"+ran+"'\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	plainGit(t, dir, "", "config", "gpg.program", program)
	plainGit(t, dir, "", "config", "log.showSignature", "true")
	t.Chdir(dir)
	rev, err := OpenRevision("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rev.Commit(), id[:7]+" of 2001-09-09 in "+filepath.Base(dir); got != want {
		t.Errorf("Commit() = %q, want %q", got, want)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the repository's program has run")
	}
}
