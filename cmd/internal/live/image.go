package live

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// This file finds the default pull policy of an image, as Kubernetes v1.36.3 (pkg/util/parsers) and its parser of image names (module
// distribution/reference v0.6.0) do.

// pullPolicy returns the default pull policy of an image. The tag latest counts also next to a digest. An image without tag and digest
// has it. An image name that does not parse has no tag.
func pullPolicy(image string) corev1.PullPolicy {
	if tag, ok := imageTag(image); ok && tag == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

const (
	hubDomain    = "docker.io"
	hubLibrary   = "library/"
	maxImagePath = 255
	maxImageTag  = 128
)

// imageTag returns the tag of an image, which is "latest" if the name has neither a tag nor a digest. It reports whether the name parses.
func imageTag(image string) (tag string, ok bool) {
	if len(image) == 64 && isAll(image, isLowerHex) {
		return "", false // the identifier of an image is no name
	}
	domain, remote := splitImage(image)
	if path, _, _ := strings.Cut(remote, ":"); strings.ToLower(path) != path {
		return "", false
	}
	name, digest, hasDigest := strings.Cut(domain+"/"+remote, "@")
	if hasDigest && !isDigest(digest) {
		return "", false
	}
	last := strings.LastIndexByte(name, '/') + 1
	base, tag, hasTag := strings.Cut(name[last:], ":")
	if hasTag && !isTag(tag) || !isImageName(name[:last]+base) {
		return "", false
	}
	if !hasTag && !hasDigest {
		tag = "latest"
	}
	return tag, true
}

// splitImage splits the name of an image into the domain of its registry, and the rest.
func splitImage(image string) (domain, remote string) {
	domain, remote, ok := strings.Cut(image, "/")
	switch {
	case !ok:
		return hubDomain, hubLibrary + image
	case domain == "index.docker.io":
		domain = hubDomain
	case domain != "localhost" && !strings.ContainsAny(domain, ".:") && strings.ToLower(domain) == domain:
		domain, remote = hubDomain, image
	}
	if domain == hubDomain && !strings.Contains(remote, "/") {
		remote = hubLibrary + remote
	}
	return domain, remote
}

// isImageName reports whether a name is a path, with or without a domain before it.
func isImageName(name string) bool {
	parts := strings.Split(name, "/")
	path := name
	if len(parts) > 1 && isDomain(parts[0]) {
		path, parts = name[len(parts[0])+1:], parts[1:]
	}
	for _, part := range parts {
		if !isPathPart(part) {
			return false
		}
	}
	return len(path) <= maxImagePath
}

// isPathPart reports whether a part of a path has words of lower case letters and digits. A dot, one or two underscores, or dashes
// separate them.
func isPathPart(part string) bool {
	isWord := func(r rune) bool { return isDigit(r) || r >= 'a' && r <= 'z' }
	if trimmed := strings.TrimFunc(part, isWord); part == "" || trimmed != "" && (!isWord(rune(part[0])) || !isWord(rune(part[len(part)-1]))) {
		return false
	}
	for _, separator := range strings.FieldsFunc(part, isWord) {
		if separator != "." && separator != "_" && separator != "__" && strings.Trim(separator, "-") != "" {
			return false
		}
	}
	return true
}

// isDomain reports whether a string is a host, with or without a port.
func isDomain(domain string) bool {
	host, port, hasPort := strings.Cut(domain, ":")
	if strings.HasPrefix(domain, "[") { // of IPv6
		address, rest, closed := strings.Cut(domain[1:], "]")
		isAddress := closed && address != "" && isAll(address, func(r rune) bool { return r == ':' || isLowerHex(r) || r >= 'A' && r <= 'F' })
		return isAddress && (rest == "" || rest[0] == ':' && len(rest) > 1 && isAll(rest[1:], isDigit))
	}
	for part := range strings.SplitSeq(host, ".") {
		isPart := isAll(part, func(r rune) bool { return r == '-' || isAlphanumeric(r) })
		if part == "" || !isPart || part[0] == '-' || part[len(part)-1] == '-' {
			return false
		}
	}
	return !hasPort || port != "" && isAll(port, isDigit)
}

func isTag(tag string) bool {
	return tag != "" && len(tag) <= maxImageTag && tag[0] != '.' && tag[0] != '-' &&
		isAll(tag, func(r rune) bool { return r == '_' || r == '.' || r == '-' || isAlphanumeric(r) })
}

func isDigest(digest string) bool {
	algorithm, encoded, _ := strings.Cut(digest, ":")
	size := map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}[algorithm]
	return size > 0 && len(encoded) == size && isAll(encoded, isLowerHex)
}

func isAll(s string, is func(rune) bool) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
}

func isDigit(r rune) bool        { return r >= '0' && r <= '9' }
func isLowerHex(r rune) bool     { return isDigit(r) || r >= 'a' && r <= 'f' }
func isAlphanumeric(r rune) bool { return isDigit(r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
