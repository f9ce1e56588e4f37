package source

// HasDoubtfulKeys reports whether the text may have a key that YAML 1.1 reads as a boolean or a number. Such a key changes its
// string or duplicates another key without an error, so the document needs a walk. The scan is fast. A false is certain, a
// true may be wrong, because it does not distinguish keys from quotes and comments.
func HasDoubtfulKeys(text []byte) bool {
	for i, c := range text {
		switch c {
		case ':':
			if i+1 < len(text) && !isSpace(text[i+1]) && !isFlow(text[i+1]) {
				continue
			}
			end := i
			for end > 0 && (text[end-1] == ' ' || text[end-1] == '\t') {
				end--
			}
			start := end
			for start > 0 && !isSpace(text[start-1]) && !isFlow(text[start-1]) {
				start--
			}
			if doubtfulKey(text[start:end]) {
				return true
			}
		case '?':
			if (i+1 == len(text) || isSpace(text[i+1])) && (i == 0 || isSpace(text[i-1]) || isFlow(text[i-1])) {
				return true
			}
		case '!':
			if i+1 < len(text) && text[i+1] == '!' {
				return true
			}
		}
	}
	return false
}

func doubtfulKey(key []byte) bool {
	if len(key) == 0 {
		return false
	}
	switch c := key[0]; {
	case '0' <= c && c <= '9', c == '+', c == '-', c == '.', c == '~', c == '*':
		return true
	}
	switch word := string(key); word {
	case "True", "TRUE", "False", "FALSE", "true", "false":
		return true
	default:
		return IsAmbiguous(word)
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isFlow(c byte) bool { return c == ',' || c == '[' || c == ']' || c == '{' || c == '}' }
