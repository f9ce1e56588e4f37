package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2" //nolint:staticcheck // the parser behind kubectl's

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
)

// guessed is the length of the text from which kubectl guesses the format of a stream, in bytes.
const guessed = 4096

// dropsText reports whether kubectl's parser ignores text behind the first value of a document.
func dropsText(stream string) bool {
	if strings.HasPrefix(strings.TrimSpace(stream[:min(len(stream), guessed)]), "{") {
		decoder, value := json.NewDecoder(strings.NewReader(stream)), json.RawMessage(nil)
		for decoder.Decode(&value) == nil {
			stream = stream[decoder.InputOffset():]
			decoder = json.NewDecoder(strings.NewReader(stream))
		}
		space := stream[:len(stream)-len(strings.TrimSpace(stream+"."))+1]
		line, _, _ := strings.Cut(space, "\n")
		stream = stream[min(len(space), len(line)+1):]
	}
	for reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream))); ; {
		document, err := reader.Read()
		if err != nil {
			return false
		}
		decoder := goyaml.NewDecoder(bytes.NewReader(document))
		for i := 0; ; i++ {
			var value any
			if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
				break
			} else if i > 0 && (err != nil || value != nil) {
				return true
			} else if err != nil {
				return false
			}
		}
	}
}

// kubectlReads returns the names of the objects that kubectl reads of a stream.
func kubectlReads(stream string) ([]string, error) {
	var names []string
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(stream), guessed); ; {
		var raw runtime.RawExtension
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return names, nil
		} else if err != nil {
			return names, err
		}
		var object *struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if len(raw.Raw) == 0 {
			continue
		}
		if err := json.Unmarshal(raw.Raw, &object); err != nil {
			return names, err
		}
		if object == nil {
			continue
		}
		if object.APIVersion == "" || object.Kind == "" {
			return names, errors.New("no apiVersion or kind")
		}
		names = append(names, object.Metadata.Name)
	}
}

// checkStream compares a stream with kubectl. Objects with the names are in the text. If kubectl
// silently reads only a part of them, Decode reports an error.
func checkStream(t *testing.T, stream string, names []string) (read bool) {
	t.Helper()
	want, err := kubectlReads(stream)
	documents, findings := Decode("stream.yaml", []byte(stream))
	var got []string
	for _, document := range documents {
		got = append(got, document.ID.Name)
	}
	for _, f := range findings {
		if f.Severity == finding.Error && f.Position.Line < 1 {
			t.Errorf("%q: %v has no place", stream, f)
		}
	}
	switch read = err == nil && slices.Equal(want, names) && !dropsText(stream); {
	case read && (!slices.Equal(got, want) || findings.Err() != nil):
		t.Errorf("%q: Decode reads %q (%v), kubectl reads %q", stream, got, findings, want)
	case !read && findings.Err() == nil:
		t.Errorf("%q: Decode reads %q without an error, kubectl reads %q of %q (%v)", stream, got,
			want, names, err)
	}
	return read
}

// TestDecode_Kubectl joins objects in many ways to streams. Decode reads what kubectl reads, and
// reports what kubectl rejects or drops.
func TestDecode_Kubectl(t *testing.T) {
	const api = "trainer.kubeflow.org/v1alpha1"
	forms := []string{
		"apiVersion: API\nkind: TrainJob\nmetadata: {name: %s}\n",
		"{apiVersion: API, kind: TrainJob, metadata: {name: %s}}",
		`{"apiVersion":"API","kind":"TrainJob","metadata":{"name":"%s"}}`,
		"{\n\t\"apiVersion\": \"API\", \"kind\": \"TrainJob\",\n\t\"metadata\": {\"name\": " +
			"\"%s\"}\n}\n",
		`{"apiVersion":"API","kind":"TrainJob","metadata":{"name":"%s","annotations":{"a":"\ud83d\ude00"}}}`,
		"kind: TrainJob\napiVersion: API\nmetadata:\n  name: %s\n  annotations:\n    a: |\n      " +
			"---\n      ...\n  labels: {a: b}\n",
		`{"apiVersion":"API","kind":"TrainJob","metadata":{"name":"%s","annotations":{"a":"\x41"}}}`,
		"  apiVersion: API\n  kind: TrainJob\n  metadata: {name: %s}\n",
		"\"apiVersion\": API\nkind: TrainJob\nmetadata: {name: %s}",
		"!!map {apiVersion: API, kind: TrainJob, metadata: {name: %s}}\n",
		"apiVersion: API\r\nkind: TrainJob\r\nmetadata: {name: %s}\r\n",
		"? kind\n: TrainJob\n? apiVersion\n: API\n? metadata\n: {name: %s}\n",
		`{"apiVersion":"API","kind":"TrainJob",}{"metadata":{"name":"%s"}}`,
		"apiVersion: API\nkind: TrainJob\nmetadata:\n  name: %s\n  annotations: {a: &a b, c: *a}\n",
		"apiVersion: API\nkind: TrainJob\nmetadata:\n  name: >-\n    %s\n  labels: {a: b}\n",
		"{\"apiVersion\": \"API\", \"kind\": \"TrainJob\", # c\n \"metadata\": {\"name\": " +
			"\"%s\"}}\n",
		"apiVersion: API\nkind: TrainJob\nmetadata: {name: %s, annotations: {a: LONG}}\n",
		`{"apiVersion":"API","kind":"TrainJob","metadata":{"name":"%s","annotations":{"a":"LONG"}}}`,
		"apiVersion: API\nkind: TrainJob\nmetadata: {name: %s}\nspec: {trainer: {args: [\"---\", " +
			"'{', \"\\\n---\\\n\"]}}\n",
	}
	long := strings.Repeat("long", guessed/4)
	joints := []string{
		"---\n", "\n---\n", "---", "--- \n", "---\t# c\n", "---#c\n", "--- ", "----\n", "---a\n",
		"...\n", "\n...\n", "... # c\n", "...\n---\n", "...\n...\n", "# c\n", "\n", " ", "\t", "",
		"\ufeff", "null\n", "~\n---\n", "\r---\r", "\r", "\u2028---\u2028", "\u0085---\n",
		"\r\n---\r\n", "---\r", "--- |\n", "--- !!map\n", "--- &a\n", "\u00a0",
		strings.Repeat(" ", guessed), strings.Repeat("\n", guessed), "# " + long + "\n",
		"---\n---\n", "--- # {\n", "---\n# c\n", "\v", "\f\n", "\x00", "{}\n", "[]\n", "\"\"\n",
	}
	// kubectl does not read these. It may drop them without a word.
	junk := []string{"%YAML 1.1\n", "%YAML 1.2\n---\n", "%TAG ! tag:a,2:x\n---\n", "%a\n", ",", "]",
		"x\n"}
	seed := testenv.Seed(t)
	r, read, cases := rand.New(rand.NewPCG(seed, 0)), 0,
		int(testenv.Cases(t, 12_000))
	for range cases {
		var b strings.Builder
		var names []string
		for range 1 + r.IntN(6) {
			for range r.IntN(3) {
				b.WriteString(joints[r.IntN(len(joints))])
			}
			if r.IntN(3) > 0 {
				names = append(names, fmt.Sprintf("n%d", len(names)))
				b.WriteString(
					strings.NewReplacer("API", api, "LONG", long, "%s",
						names[len(names)-1]).Replace(forms[r.IntN(len(forms))]))
			}
			if r.IntN(30) == 0 {
				b.WriteString(junk[r.IntN(len(junk))])
			}
			if r.IntN(2) > 0 {
				b.WriteString([]string{"\n---\n", "\n"}[r.IntN(2)])
			}
		}
		if checkStream(t, b.String(), names) {
			read++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if t.Logf("kubectl reads %d of %d", read, cases); read < cases/20 {
		t.Errorf("kubectl reads only %d of %d streams", read, cases)
	}
}
