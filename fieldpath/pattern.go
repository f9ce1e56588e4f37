package fieldpath

// Matches reports whether a pattern names the field or one that contains it. A pattern's item, key or element with an empty
// value stands for any one of its list or map.
func (p Path) Matches(pattern Path) bool {
	if len(pattern) > len(p) {
		return false
	}
	for i, step := range pattern {
		if step != p[i] && !step.standsFor(p[i]) {
			return false
		}
	}
	return true
}

// standsFor reports whether the pattern's step stands for any item, key or element, and the other step is one.
func (s Step) standsFor(step Step) bool {
	if key, value, ok := s.Item(); ok && value == "" {
		other, _, is := step.Item()
		return is && other == key || len(step.Keys()) > 1
	}
	if key, ok := s.Key(); ok && key == "" {
		_, is := step.Key()
		return is
	}
	element, ok := s.Element()
	_, is := step.ElementValue()
	return ok && element == "" && is
}

// isPattern reports whether the step of a pattern stands for any item, key or element.
func (s Step) isPattern() bool {
	_, value, isItem := s.Item()
	key, isKey := s.Key()
	element, isElement := s.Element()
	return isItem && value == "" || isKey && key == "" || isElement && element == ""
}
