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
	return regexp.MustCompile(`(?i)\bkind["']?\s*[:=]\s*([!&]\S*\s+)*["']?secret(list)?\b|^["']?secret(list)?["']?$|\b(stringData|data)["']?\s*:`)
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
	inKey, isValue := false, false
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
		line, isValue = maskedLine(line, isValue)
		shown = append(shown, line)
	}
	if more > 0 {
		shown = append(shown, fmt.Sprintf("(%s)", report.Count(more, "more line")))
	}
	return report.Printable(strings.Join(shown, " | "))
}

// maskedLine masks a line. It may be the value of a key of the line before, and reports whether it ends with such a key itself.
func maskedLine(line string, isValue bool) (shown string, endsWithKey bool) {
	if runes := []rune(line); len(runes) > mostLine {
		line = string(runes[:mostLine]) + "…"
	}
	words := strings.Fields(line)
	isSecret := isValue // the rest of the line
	isKey := false      // the word before
	for i, word := range words {
		lower := strings.ToLower(word)
		end := keyEnd(lower)
		endsWithKey = end == len(word) || isKey && strings.ContainsAny(word, ":=")
		switch {
		case isSecret:
			words[i] = mask
		case isKey && strings.ContainsAny(word, ":="): // the separator is a word, or follows one such as "is"
			isSecret = true
			if at := strings.IndexAny(word, ":="); at+1 < len(word) {
				words[i], endsWithKey = word[:at+1]+mask, false
			}
		case end > 0:
			isSecret = true
			if end < len(word) {
				words[i] = word[:end] + mask
			}
		case strings.HasPrefix(lower, "-") && isSecretKey(lower) || lower == "bearer" || lower == "basic":
			isSecret = true
		case strings.Contains(lower, "://"):
			words[i] = maskURL(word)
		case isOpaque(word):
			words[i] = mask
		}
		isKey = isSecretKey(lower)
	}
	return strings.Join(words, " "), endsWithKey
}

// keyEnd returns the end of a key that names a secret, with its separator, in a word in lower case. It returns 0 without one. The query
// of a URL has no keys here.
func keyEnd(word string) int {
	for at := 0; ; {
		next := strings.IndexAny(word[at:], ":=")
		if next == -1 || strings.HasPrefix(word[at+next:], "://") && !isSecretKey(word[:at+next]) {
			return 0
		}
		if at += next + 1; isSecretKey(word[:at-1]) {
			return at
		}
	}
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

// maskURL masks the user and the query of a URL.
func maskURL(word string) string {
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
