//go:build !unix

package ownfile

// NoFollow is empty on this system. [os.Root] and a second look at the file protect from links.
const NoFollow = 0
