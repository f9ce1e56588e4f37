package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render/release"
)

// differences are the differences of the definitions of a release that no module proxy serves, by the kind and the field.
type differences map[string]map[string]json.RawMessage

// source returns the version of the Trainer whose module has the definitions of a release, and the differences from them. The module of
// an unread release is the one of the last compared release.
func source(r release.Release) (version string, from differences, err error) {
	if !r.Unread() {
		return r.Version, nil, nil
	}
	text, err := os.ReadFile(filepath.Join("generate", "unread", r.Version+".yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &from)
	}
	return release.Latest().Version, from, err
}

// apply lays the differences over a definition.
func (d differences) apply(crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, field := range slices.Sorted(maps.Keys(d[crd.Spec.Names.Kind])) {
		if err := layOver(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, strings.Split(field, "."), d[crd.Spec.Names.Kind][field]); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return nil
}

// layOver lays a schema over the one at a path of names, which omits the items of lists.
func layOver(s *apiextensionsv1.JSONSchemaProps, names []string, over []byte) error {
	if len(names) == 0 {
		return json.Unmarshal(over, s)
	}
	for s.Items != nil {
		s = s.Items.Schema
	}
	below, found := s.Properties[names[0]]
	if !found && len(names) > 1 {
		return fmt.Errorf("there is no field %s", names[0])
	}
	err := layOver(&below, names[1:], over)
	s.Properties[names[0]] = below
	return err
}
