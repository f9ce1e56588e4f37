package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// This file parses the names of images as the kubelet does. The sources are Kubernetes v1.36.3
// (pkg/util/parsers) and its parsers of names and digests (module distribution/reference v0.6.0,
// module go-digest v1.0.0).

// pullPolicy returns the default pull policy of an image. The tag latest counts also next to a
// digest. An image without tag and digest has it. An image name that does not parse has no tag.
func pullPolicy(image string) string {
	name, _, hasDigest := strings.Cut(image, "@")
	_, tag, hasTag := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	// else the answer is one, whether the name parses or not
	if tag == "latest" || !hasTag && !hasDigest {
		if tag, err := ParseImage(image); err == nil && tag == "latest" {
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

// imageName matches the name of an image. It has an optional domain, a path, and an optional tag
// and digest.
var imageName = sync.OnceValue(func() *regexp.Regexp {
	const (
		host   = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
		domain = `(?:` + host + `(?:\.` + host + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
		part   = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
		tag    = `[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}`
		word   = `[A-Za-z][A-Za-z0-9]*`
		digest = word + `(?:[-_+.]` + word + `)*:[a-fA-F0-9]{32,}`
	)
	return regexp.MustCompile(`^(?:` + domain + `/)?(` + part + `(?:/` + part + `)*)(?::(` + tag +
		`))?(?:@(` + digest + `))?$`)
})

// imageID matches the identifier of an image, which is not a name.
var imageID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-f0-9]{64}$`) })

// ParseImage returns the tag of an image, which is "latest" if the name has neither a tag nor a
// digest. The error is the kubelet's. The kubelet pulls no image whose name does not parse.
func ParseImage(image string) (tag string, err error) {
	tag, err = parseImage(image)
	if err != nil {
		return "", fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	return tag, nil
}

func parseImage(image string) (tag string, err error) {
	if imageID().MatchString(image) {
		return "", fmt.Errorf(
			"invalid repository name (%s), cannot specify 64-byte hexadecimal strings", image)
	}
	domain, remote := splitImage(image)
	if path, _, _ := strings.Cut(remote, ":"); strings.ToLower(path) != path {
		return "", fmt.Errorf("invalid reference format: repository name (%s) must be lowercase",
			path)
	}
	name := domain + "/" + remote
	m := imageName().FindStringSubmatch(name)
	switch {
	case m == nil && imageName().MatchString(strings.ToLower(name)): // letters of other scripts
		return "", errors.New("repository name must be lowercase")
	case m == nil:
		return "", errors.New("invalid reference format")
	case len(m[1]) > maxImagePath:
		return "", fmt.Errorf("repository name must not be more than %d characters", maxImagePath)
	case m[3] != "":
		return m[2], checkDigest(m[3])
	case m[2] == "":
		return "latest", nil
	}
	return m[2], nil
}

// checkDigest returns an error for a digest of an unknown algorithm, or of another length.
func checkDigest(digest string) error {
	algorithm, hex, _ := strings.Cut(digest, ":")
	length := map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}[algorithm]
	switch {
	case strings.ToLower(algorithm) != algorithm, length == len(hex) && strings.ToLower(hex) != hex:
		return errors.New("invalid checksum digest format")
	case length == 0:
		return errors.New("unsupported digest algorithm")
	case length != len(hex):
		return errors.New("invalid checksum digest length")
	}
	return nil
}

// splitImage splits the name of an image into the domain of its registry, and the rest.
func splitImage(image string) (domain, remote string) {
	domain, remote, ok := strings.Cut(image, "/")
	switch {
	case !ok:
		return hubDomain, hubLibrary + image
	case domain == "index.docker.io":
		domain = hubDomain
	case domain != "localhost" && !strings.ContainsAny(domain, ".:") &&
		strings.ToLower(domain) == domain:
		domain, remote = hubDomain, image
	}
	if domain == hubDomain && !strings.Contains(remote, "/") {
		remote = hubLibrary + remote
	}
	return domain, remote
}
