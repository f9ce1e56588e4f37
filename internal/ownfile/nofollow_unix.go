//go:build unix

package ownfile

import "syscall"

// NoFollow are the flags with which a file is opened that might have become a link or a pipe since it was looked at.
const NoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
