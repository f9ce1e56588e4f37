package schema_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/schema"
)

func TestParseImage(t *testing.T) {
	hex := strings.Repeat("0123456789abcdef", 8)
	const format, lower = "invalid reference format", "must be lowercase"
	for _, tc := range []struct{ image, tag, err string }{
		{image: "busybox", tag: "latest"},
		{image: "localhost/x", tag: "latest"},
		{image: "localhost:5000/x/y:1", tag: "1"},
		{image: "registry.example.com:5000/team/image:1.0", tag: "1.0"},
		{image: "docker.io/library/alpine", tag: "latest"},
		{image: "index.docker.io/alpine:3", tag: "3"},
		{image: "10.0.0.1:443/a/b", tag: "latest"},
		{image: "[fd00::1]:5000/a", tag: "latest"},
		{image: "a_b/c__d/e-f/g---h/i.j", tag: "latest"},
		{image: "Host/image:1", tag: "1"},
		{image: "x:" + strings.Repeat("t", 128), tag: strings.Repeat("t", 128)},
		{image: "x:_Tag.9-a", tag: "_Tag.9-a"},
		{image: "x@sha256:" + hex[:64]},
		{image: "x@sha384:" + hex[:96]},
		{image: "x:1@sha512:" + hex, tag: "1"},
		{image: strings.Repeat("b", 255-len("library/")), tag: "latest"},

		{image: "Foo Bar", err: lower},
		{image: "foo bar", err: format},
		{image: "registry.example.com/Team/image:1", err: lower},
		{image: "\u212a.com/x", err: lower},
		{image: "x:", err: format},
		{image: "x:" + strings.Repeat("t", 129), err: format},
		{image: "x:1:2", err: format},
		{image: "x:-1", err: format},
		{image: "x:1@", err: format},
		{image: "x@sha256:0123", err: format},
		{image: "x@sha256:" + hex[:63], err: "invalid checksum digest length"},
		{image: "x@sha512:" + hex[:64], err: "invalid checksum digest length"},
		{image: "x@sha256:" + strings.ToUpper(hex[:64]), err: "invalid checksum digest format"},
		{image: "x@md5:" + hex[:32], err: "unsupported digest algorithm"},
		{image: hex[:64], err: "cannot specify 64-byte hexadecimal strings"},
		{image: "https://registry.example.com/image:1", err: format},
		{image: "docker://busybox", err: format},
		{image: "a___b", err: format},
		{image: "a/-b", err: format},
		{image: "a..b/c", err: format},
		{image: "/x", err: format},
		{image: "x/", err: format},
		{image: "a//b", err: format},
		{image: "[fd00::1/x", err: format},
		{image: "registry.example.com:port/x", err: format},
		{image: "a/" + strings.Repeat("b", 256), err: "must not be more than 255 characters"},
		{image: "", err: format},
	} {
		tag, err := schema.ParseImage(tc.image)
		switch {
		case (err == nil) != (tc.err == ""), err != nil && !strings.Contains(err.Error(), tc.err):
			t.Errorf("ParseImage(%q): %v, want %q", tc.image, err, tc.err)
		case tag != tc.tag:
			t.Errorf("ParseImage(%q) = %q, want %q", tc.image, tag, tc.tag)
		}
	}
}
