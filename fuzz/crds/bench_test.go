package crds_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/internal/roundrobin"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission/serverside"
)

// benchInput returns the JobSet of testdata/bench.yaml, and what some managers say of it.
func benchInput(b *testing.B, managers int) (jobSet merge.Object, patches []merge.Object) {
	b.Helper()
	text, err := os.ReadFile("testdata/bench.yaml")
	for i := range managers {
		var all struct{ JobSet, Patch json.RawMessage }
		of := bytes.ReplaceAll(text, []byte("MANAGER"), fmt.Append(nil, i))
		if err = errors.Join(err, yaml.Unmarshal(of, &all)); err != nil {
			b.Fatal(err)
		}
		jobSet, patches = read(b, all.JobSet), append(patches, read(b, all.Patch))
	}
	return jobSet, patches
}

func read(b *testing.B, text []byte) merge.Object {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		b.Fatal(err)
	}
	return u.Object
}

// server is structured-merge-diff as an API server uses it.
type server struct {
	d *definition
	*serverside.Server
}

func (s *server) apply(t testing.TB, base merge.Object, patches []merge.Object) map[string][]byte {
	version := fieldpath.APIVersion(s.d.kind.GroupVersion().String())
	object := func(o merge.Object, options ...typed.ValidationOptions) *typed.TypedValue {
		v, err := s.d.converter.ObjectToTyped(&unstructured.Unstructured{Object: o}, options...)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	live := object(merge.Object{"apiVersion": string(version), "kind": s.d.kind.Kind})
	owners := fieldpath.ManagedFields{}
	for i, config := range append([]merge.Object{base}, patches...) {
		var err error
		name := manager(i - 1)
		if live, owners, err = s.Apply(live, object(config), owners, name); err != nil {
			t.Fatal(err)
		}
	}
	fields := map[string][]byte{}
	for name, set := range owners {
		text, err := set.Set().ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		fields[name] = text
	}
	return fields
}

// BenchmarkObject merges patches into a JobSet by its definition, with owners and FieldsV1. It
// compares with structured-merge-diff for the same forced applies. The server's reading and writing
// of requests, and of managedFields between the applies, is omitted.
func BenchmarkObject(b *testing.B) {
	d, err := compile("JobSet", files(b)["JobSet-2.3"])
	if err != nil {
		b.Fatal(err)
	}
	s := &server{
		d, serverside.Of(fieldpath.APIVersion(d.kind.GroupVersion().String()), d.kind.Kind,
			d.converter)}
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("managers=%d", n), func(b *testing.B) {
			base, patches := benchInput(b, n)
			layers := make([]merge.Patch, n)
			for i := range layers {
				layers[i] = merge.Patch{Manager: manager(i), Value: &patches[i]}
			}
			owned := &roundrobin.Side{Name: "owned", Run: func() error {
				result, err := merge.Apply(d.typ, base, layers)
				if err != nil {
					return err
				}
				for _, text := range result.History.FieldsV1(nil) {
					if len(text) == 0 {
						return errors.New("no fields")
					}
				}
				return nil
			}}
			upstream := &roundrobin.Side{Name: "upstream", Run: func() error {
				s.apply(b, base, patches)
				return nil
			}}
			roundrobin.Take(b, []*roundrobin.Side{owned, upstream})
			for _, side := range []*roundrobin.Side{owned, upstream} {
				b.ReportMetric(side.Quick()/1000, "µs/"+side.Name)
			}
			b.ReportMetric(upstream.Quick()/owned.Quick(), "times-faster")
		})
	}
}
