package main

import (
	"os"
	"os/exec"
	"slices"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// contained returns the command of an image with the folder as its root, as a container runs it. Without the rights of root, the
// command is alone in a namespace of users.
func contained(folder string, config v1.Config) *exec.Cmd {
	args := slices.Concat(config.Entrypoint, config.Cmd)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = config.WorkingDir, []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: folder}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65532, Gid: 65532}
		return cmd
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Geteuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getegid(), Size: 1}}
	return cmd
}
