package host

import (
	"os"
	"path/filepath"
)

// Rooted returns a function that names a file by its path from the root of the repository around
// the working directory. It returns other files, and those of standard input, as they are. Without
// a repository it returns nil.
func Rooted() func(file string) string {
	here, err := Files{}.Real(".")
	if err != nil {
		return nil
	}
	root := here
	for ; ; root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			return nil
		}
	}
	return func(file string) string {
		name := file
		if !filepath.IsAbs(name) {
			name = filepath.Join(here, name)
		}
		relative, err := filepath.Rel(root, name)
		if err != nil || !filepath.IsLocal(relative) || file == "-" {
			return file
		}
		return filepath.ToSlash(relative)
	}
}
