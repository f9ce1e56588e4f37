package encode

import "strings"

// isPlain says whether a string needs no quotes in YAML: every reader of YAML 1.1 and 1.2 takes it for this
// string, at any place. It says no when in doubt.
func isPlain(s string) bool {
	if s == "" || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
		return false
	}
	switch first := s[0]; {
	case 'a' <= first && first <= 'z', 'A' <= first && first <= 'Z', first == '/', first == '_', first == '$', first == '(':
		if isWord(s) {
			return false
		}
	case '0' <= first && first <= '9', first == '.', first == '-':
		if len(s) > 1 && first == '-' && (s[1] == ' ' || s[1] == '-' && !isFlag(s)) || looksNumeric(s) {
			return false
		}
	default:
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte(" -_./=+@$()%;<>^~*!&|\\?,[]{}'\"`", c) >= 0:
			// Indicators only where a value begins, or in flow style, which is not written here.
		case c == ':' && s[i+1] != ' ': // the last character is none
		case c == '#' && s[i-1] != ' ': // nor is the first
		default:
			return false
		}
	}
	return true
}

// isFlag recognizes --flag, which is no document marker.
func isFlag(s string) bool {
	return len(s) > 2 && ('a' <= s[2] && s[2] <= 'z' || 'A' <= s[2] && s[2] <= 'Z')
}

// isWord recognizes the words that some reader takes for a truth value or null.
func isWord(s string) bool {
	if len(s) > 5 {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

// looksNumeric recognizes, generously, numbers of every YAML: 1_000, 0x1F, 0o17, 1e3, 12:30:45, .5, .inf and
// dates. A text that begins like a number is none if it has a letter that no number has.
func looksNumeric(s string) bool {
	unsigned := strings.TrimPrefix(s, "-")
	switch strings.ToLower(unsigned) {
	case ".inf", ".nan":
		return true
	}
	if unsigned != "" && unsigned[0] != '.' && !('0' <= unsigned[0] && unsigned[0] <= '9') {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !('0' <= r && r <= '9') && !strings.ContainsRune("abcdefxotzABCDEFXOTZ_+-.: ", r)
	})
}
