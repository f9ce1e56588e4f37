package process

import (
	"os"
	"os/exec"
)

// gitSettings override the configuration of a repository, whose files may be a stranger's. Then git
// runs no program and opens no connection. A folder that only looks like a bare repository is none.
var gitSettings = []string{
	"-c", "safe.bareRepository=explicit",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "credential.helper=",
	"-c", "core.bigFileThreshold=64m", // larger files do not fit into its memory
	"--no-optional-locks",
}

// gitVariables forbid features that a repository's configuration could allow again, such as the
// protocol ext. A missing object is an error instead of a download, and an object is what its hash
// names.
var gitVariables = []string{"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
	"GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}

// inherited are the variables that git gets from the caller. They locate programs and the user's
// own configuration, which says whose repositories are safe. Every variable of git itself stays
// behind: a hook has some of another repository.
var inherited = []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "USERPROFILE", "HOMEDRIVE",
	"HOMEPATH", "SYSTEMROOT", "TEMP", "TMP"}

// Git returns a command that runs git in a directory. The command has no standard input.
func Git(dir string, args ...string) *Command {
	cmd := exec.Command("git", append(gitSettings[:len(gitSettings):len(gitSettings)], args...)...)
	cmd.Dir, cmd.Env = dir, gitVariables[:len(gitVariables):len(gitVariables)]
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}
