// Package yamltext converts YAML of strangers to JSON.
package yamltext

import (
	"bytes"
	"errors"

	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2" //nolint:staticcheck // the decoder behind yaml, which shares what aliases stand for
)

// mostExpanded is the size of the largest object that an API server takes.
const mostExpanded = 3 << 20

var errExpands = errors.New("its aliases expand it to more than 3 MiB")

// ToJSON converts one document. It rejects duplicate keys, and aliases that expand the document to
// more than mostExpanded.
func ToJSON(text []byte) ([]byte, error) {
	if bytes.IndexByte(text, '*') >= 0 && bytes.IndexByte(text, '&') >= 0 {
		var value any
		if err := goyaml.Unmarshal(text, &value); err != nil {
			return nil, err
		}
		if left := max(len(text), mostExpanded); !fits(value, &left) {
			return nil, errExpands
		}
	}
	return yaml.YAMLToJSONStrict(text)
}

// fits takes the bytes of a value from the bytes that are left, and reports whether they suffice.
func fits(value any, left *int) bool {
	*left--
	switch v := value.(type) {
	case string:
		*left -= len(v)
	case []any:
		for i := 0; i < len(v) && *left >= 0; i++ {
			fits(v[i], left)
		}
	case map[any]any:
		for key, item := range v {
			if !fits(key, left) || !fits(item, left) {
				break
			}
		}
	}
	return *left >= 0
}
