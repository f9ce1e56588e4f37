package schema

import (
	"regexp"
	"strings"
	"sync"
)

// This file finds the default pull policy of an image, as Kubernetes does. The sources are Kubernetes v1.36.3 (pkg/util/parsers) and
// its parser of image names (module distribution/reference v0.6.0).

// pullPolicy returns the default pull policy of an image. The tag latest counts also next to a digest. An image without tag and digest
// has it. An image name that does not parse has no tag.
func pullPolicy(image string) string {
	name, _, hasDigest := strings.Cut(image, "@")
	_, tag, hasTag := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	if tag == "latest" || !hasTag && !hasDigest { // else the answer is one, whether the name parses or not
		if tag, ok := imageTag(image); ok && tag == "latest" {
			return "Always"
		}
	}
	return "IfNotPresent"
}

const (
	hubDomain    = "docker.io"
	hubLibrary   = "library/"
	maxImagePath = 255
)

// imageName matches the name of an image. It has an optional domain, a path, and an optional tag and digest.
var imageName = sync.OnceValue(func() *regexp.Regexp {
	const (
		host   = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
		domain = `(?:` + host + `(?:\.` + host + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
		part   = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
		digest = `sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}`
	)
	return regexp.MustCompile(`^(?:` + domain + `/)?(` + part + `(?:/` + part + `)*)(?::([a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}))?(?:@(` + digest + `))?$`)
})

// imageID matches the identifier of an image, which is not a name.
var imageID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-f0-9]{64}$`) })

// imageTag returns the tag of an image, which is "latest" if the name has neither a tag nor a digest. It reports whether the name parses.
func imageTag(image string) (tag string, ok bool) {
	domain, remote := splitImage(image)
	if path, _, _ := strings.Cut(remote, ":"); strings.ToLower(path) != path || imageID().MatchString(image) {
		return "", false
	}
	m := imageName().FindStringSubmatch(domain + "/" + remote)
	if m == nil || len(m[1]) > maxImagePath {
		return "", false
	}
	if m[2] == "" && m[3] == "" {
		return "latest", true
	}
	return m[2], true
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
