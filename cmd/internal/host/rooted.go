package host

import (
	"path/filepath"
)

// Rooted returns a function that names a file by its path from the root of a repository: the one
// around the working directory, or for a file outside of that, the one around the file. The function
// returns a file of no repository, and standard input, as they are.
func Rooted() func(file string) string {
	here, err := Files{}.Real(".")
	if err != nil {
		return func(file string) string { return file }
	}
	around := repositoryOf(here, ".")
	roots := map[string]string{} // by directory
	return func(file string) string {
		name := absolute(here, file)
		root := around
		if dir := filepath.Dir(name); root == "" || !within(root, name) {
			if _, known := roots[dir]; !known {
				roots[dir] = repositoryOf(here, dir)
			}
			root = roots[dir]
		}
		relative, err := filepath.Rel(root, name)
		if root == "" || err != nil || !filepath.IsLocal(relative) || file == "-" {
			return file
		}
		return filepath.ToSlash(relative)
	}
}
