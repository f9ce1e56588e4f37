package source

// HasDoubtfulKeys says whether the text may have a key that is no string to YAML 1.1: a truth value or a
// number. Such a key is read as another text than it shows, or as the same as another key, and
// nothing fails; so the document is walked. The answer is cheap, never a false no, and sometimes a false
// yes: quotes and comments are not told from keys.
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
