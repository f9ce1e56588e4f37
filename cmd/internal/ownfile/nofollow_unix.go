//go:build unix

package ownfile

import "syscall"

// NoFollow holds the flags for opening a file that may have become a link or a pipe meanwhile.
const NoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
