//go:build !js

package build

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/trainweld/trainweld/cmd/internal/report"
)

// The part of a command's messages that a finding shows.
const (
	mostLines = 5
	mostLine  = 300 // characters
)

const mask = "***"

// secretStart finds a line of a Secret, or of its data, in YAML or JSON of any form.
var secretStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bkind["']?\s*[:=]\s*["']?secret\b|\b(stringData|data)["']?\s*:`)
})

// messages returns the end of a finding with the first lines that a command has written to standard error.
func messages(stderr []byte) string {
	text := masked(string(stderr))
	if text == "" {
		return ""
	}
	return ": " + text
}

// masked returns the first lines of a message on one line. It masks values that may be secret. They follow a key with a word such as
// password or token, or lie within a key in PEM. It also masks the user and the query of a URL, and long words that mix letters and digits.
// From a line on that may belong to a Secret, it shows nothing.
func masked(text string) string {
	var shown []string
	inKey := false
	more := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "-----BEGIN"):
			inKey = true
		case strings.HasPrefix(line, "-----END"):
			inKey = false
			continue
		case inKey:
			continue
		case secretStart().MatchString(line):
			return report.Printable(strings.Join(append(shown, "(the rest may hold values of a Secret, and is not shown)"), " | "))
		}
		if len(shown) == mostLines {
			more++
			continue
		}
		shown = append(shown, maskedLine(line))
	}
	if more > 0 {
		shown = append(shown, fmt.Sprintf("(%s)", report.Count(more, "more line")))
	}
	return report.Printable(strings.Join(shown, " | "))
}

func maskedLine(line string) string {
	if runes := []rune(line); len(runes) > mostLine {
		line = string(runes[:mostLine]) + "…"
	}
	words := strings.Fields(line)
	secret := false // the rest of the line
	for i, word := range words {
		lower := strings.ToLower(word)
		key := lower
		at := strings.IndexAny(word, ":=")
		if at != -1 {
			key = lower[:at]
		}
		switch {
		case secret:
			words[i] = mask
		case isSecretKey(key) && (at != -1 || strings.HasPrefix(key, "-")):
			if secret = true; at != -1 && at+1 < len(word) {
				words[i] = word[:at+1] + mask
			}
		case strings.Contains(lower, "://"):
			words[i] = plainURL(word)
		case lower == "bearer" || lower == "basic":
			secret = true
		case isOpaque(word):
			words[i] = mask
		}
	}
	return strings.Join(words, " ")
}

// isSecretKey reports whether a key names a secret.
func isSecretKey(key string) bool {
	for _, word := range []string{"passw", "pwd", "auth", "secret", "token", "credential", "apikey", "api_key", "api-key", "private", "accesskey", "access_key", "access-key", "passphrase"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

// plainURL masks the user and the query of a URL.
func plainURL(word string) string {
	if at := strings.IndexAny(word, "?#"); at != -1 {
		word = word[:at+1] + mask
	}
	return withoutUser(word)
}

// withoutUser masks the user of an address, whose password may hold any character. Without a scheme or a password, the user is one such as git.
func withoutUser(address string) string {
	start := 0
	if at := strings.Index(address, "://"); at != -1 {
		start = at + len("://")
	}
	if at := strings.LastIndexByte(address, '@'); at >= start && (start > 0 || strings.Contains(address[:at], ":")) {
		return address[:start] + mask + address[at:]
	}
	return address
}

// isOpaque reports whether a word looks like a key, a hash or base64, rather than a path or a name.
func isOpaque(word string) bool {
	word = strings.Trim(word, `"'`+"`,;()[]{}")
	if strings.HasSuffix(word, "=") {
		return len(word) >= 20
	}
	if len(word) < 20 || strings.ContainsAny(word, "./:") {
		return false
	}
	has := func(is func(rune) bool) bool { return strings.ContainsFunc(word, is) }
	lower, upper := has(unicode.IsLower), has(unicode.IsUpper)
	return has(unicode.IsDigit) && (lower && upper || (lower || upper) && !strings.ContainsAny(word, "-_"))
}
