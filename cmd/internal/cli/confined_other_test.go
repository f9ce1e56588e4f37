//go:build !linux || !(amd64 || arm64)

package cli

// confinements are empty where the kernel has no such filters.
func confinements() map[string]func() { return map[string]func(){} }
