package host

import (
	"path/filepath"
)

// Rooted returns a function that returns the path of a file from the root of its repository. That
// is the repository of the working directory or, for a file outside of it, the repository that
// holds the file. The function returns the name of standard input, and of a file in no repository,
// unchanged.
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
