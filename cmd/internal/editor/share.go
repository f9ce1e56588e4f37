package editor

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// smallest is the size of the smallest schema that is worth a definition, in bytes of JSON.
const smallest = 300

// share moves each schema that occurs several times to the definitions, and returns the root. It names a definition after the field
// that leads to it first.
func share(root object) object {
	own, _ := root["definitions"].(object)
	if own == nil {
		own = object{}
	}
	s := sharing{digests: map[uintptr]digest{}, seen: map[string]int{}, names: map[string]string{}, definitions: own}
	s.count(root)
	s.replaceBelow(root, "object")
	if len(own) > 0 {
		root["definitions"] = own
	}
	return root
}

// sharing finds equal schemas.
type sharing struct {
	digests     map[uintptr]digest // by the address of the schema
	seen        map[string]int     // how often a schema occurs, by its sum
	names       map[string]string  // of the definitions, by the sum
	definitions object
}

// digest is the same for equal schemas.
type digest struct {
	sum  string
	size int
}

// digest returns the digest of a schema. It must be called first before the schema changes.
func (s *sharing) digest(of object) digest {
	address := reflect.ValueOf(of).Pointer()
	if d, known := s.digests[address]; known {
		return d
	}
	shallow, size := maps.Clone(of), 0
	below := map[string]any{}
	children(of, func(keyword, name string, child object, _ func(object)) {
		d := s.digest(child)
		size += d.size
		below[keyword+"/"+name] = d.sum
		if fields, ok := shallow[keyword].(object); ok && (keyword == "properties" || keyword == "definitions") {
			fields = maps.Clone(fields)
			delete(fields, name)
			shallow[keyword] = fields
		} else {
			delete(shallow, keyword)
		}
	})
	j, err := json.Marshal([]any{shallow, below})
	if err != nil {
		j = fmt.Appendf(nil, "%p", of) // equals nothing else
	}
	d := digest{fmt.Sprintf("%x", sha256.Sum256(j)), size + len(j)}
	s.digests[address] = d
	return d
}

// count counts the schemas below a schema. It counts those within equal schemas once.
func (s *sharing) count(of object) {
	children(of, func(_, _ string, child object, _ func(object)) {
		d := s.digest(child)
		if s.seen[d.sum]++; s.seen[d.sum] == 1 {
			s.count(child)
		}
	})
}

// replaceBelow replaces the schemas below the schema of a field.
func (s *sharing) replaceBelow(of object, field string) {
	children(of, func(keyword, name string, child object, replace func(object)) {
		if keyword == "definitions" {
			s.replaceBelow(child, name)
			return
		}
		below := field
		if keyword == "properties" {
			below = name
		}
		s.replace(child, below, replace)
	})
}

func (s *sharing) replace(child object, field string, replace func(object)) {
	d := s.digest(child)
	if s.seen[d.sum] < 2 || d.size < smallest {
		s.replaceBelow(child, field)
		return
	}
	name, known := s.names[d.sum]
	if !known {
		name = field
		for i := 2; s.definitions[name] != nil; i++ {
			name = fmt.Sprintf("%s-%d", field, i)
		}
		s.names[d.sum], s.definitions[name] = name, child
		s.replaceBelow(child, field)
	}
	replace(reference(name))
}

// children calls visit for each schema directly below a schema, in a fixed order. It passes the keyword, the name or the number below
// it, and a function that replaces the schema.
func children(of object, visit func(keyword, name string, child object, replace func(object))) {
	for _, keyword := range slices.Sorted(maps.Keys(of)) {
		switch value := of[keyword].(type) {
		case object:
			switch keyword {
			case "properties", "definitions":
				for _, name := range slices.Sorted(maps.Keys(value)) {
					if child, ok := value[name].(object); ok {
						visit(keyword, name, child, func(s object) { value[name] = s })
					}
				}
			case "items", "additionalProperties", "if", "then", "else", "not":
				visit(keyword, "", value, func(s object) { of[keyword] = s })
			}
		case []any:
			if keyword != "allOf" && keyword != "anyOf" {
				continue
			}
			for i := range value {
				if child, ok := value[i].(object); ok {
					visit(keyword, fmt.Sprint(i), child, func(s object) { value[i] = s })
				}
			}
		}
	}
}
