package encode

import "strings"

// isPlain reports whether every reader of YAML 1.1 and 1.2 reads an unquoted string unchanged, in
// any place. It returns false in doubt.
func isPlain(s string) bool {
	if s == "" || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
		return false
	}
	switch first := s[0]; {
	case 'a' <= first && first <= 'z', 'A' <= first && first <= 'Z', first == '/', first == '_',
		first == '$', first == '(':
		if isWord(s) {
			return false
		}
	case '0' <= first && first <= '9', first == '.', first == '-':
		if len(s) > 1 && first == '-' && (s[1] == ' ' || s[1] == '-' && !isFlag(s)) ||
			looksNumeric(s) {
			return false
		}
	default:
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte(" -_./=+@$()%;<>^~*!&|\\?,[]{}'\"`", c) >= 0:
			// Indicators only at the start of a value, or in flow style, which this package does
			// not write.
		case c == ':' && s[i+1] != ' ': // the last character is not a colon
		case c == '#' && s[i-1] != ' ': // the first character is not a #
		default:
			return false
		}
	}
	return true
}

// isFlag recognizes --flag, which is not a document marker.
func isFlag(s string) bool {
	return len(s) > 2 && ('a' <= s[2] && s[2] <= 'z' || 'A' <= s[2] && s[2] <= 'Z')
}

// isWord recognizes the words that some reader takes for a boolean or null.
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

// looksNumeric recognizes numbers and dates of any YAML version: 1_000, 0x1F, 0o17, 1e3, 12:30:45,
// .5, .inf. It accepts too many strings rather than too few. A string with a letter that no number
// has is not a number.
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
