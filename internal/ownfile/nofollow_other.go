//go:build !unix

package ownfile

// NoFollow is empty: an [os.Root] and a second look at the file have to do.
const NoFollow = 0
