package minors

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

//go:embed testdata/answers.json.gz
var packed []byte

// TestMinors holds what admission says of drawn Pods, Jobs and claims against the recorded answers
// of each version's own code: whether it refuses the object, and which fields it does not store.
func TestMinors(t *testing.T) {
	record, err := Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if record.Drawn != Drawn() {
		t.Fatal("other objects are drawn than were recorded: go run ./minors/record")
	}
	for name, answers := range record.Answers {
		t.Run(name, func(t *testing.T) {
			kinds := map[string]int{}
			for i, row := range answers {
				o := Draw(uint64(i))
				var unstored []string
				for _, word := range row[1:] {
					unstored = append(unstored, record.Words[word])
				}
				kinds[fmt.Sprint(o["kind"], " ", row[0])]++
				if wrong := differences(t, name, o, row[0] == 1, unstored); wrong != nil {
					t.Errorf("object %d, %s:\n%s", i, o.JSON(), strings.Join(wrong, "\n"))
				}
			}
			if len(answers) < 4000 || kinds["Pod 0"] < 400 || kinds["Pod 1"] < 400 ||
				kinds["Job 0"] < 300 || kinds["Job 1"] < 400 {
				t.Errorf("too few objects, or too few of one verdict: %v", kinds)
			}
		})
	}
}

// known are the differences to Pod-level resources that all versions share: the defaults that the
// types give requests, and rounding.
var known = []string{"HugePages require cpu or memory", "aggregate container requests"}

// differences compares one object.
func differences(t *testing.T, name string, o Object, refused bool, unstored []string) []string {
	var fields map[string]any
	if err := json.Unmarshal(o.JSON(), &fields); err != nil {
		t.Fatal(err)
	}
	found := admission.AdmitBuiltIn(name, o["apiVersion"].(string), o["kind"].(string), fields)
	if slices.ContainsFunc(found, func(f finding.Finding) bool {
		return slices.ContainsFunc(known, func(text string) bool {
			return strings.Contains(f.Message, text)
		})
	}) {
		return nil
	}
	var wrong []string
	if got := found.Err() != nil; got != refused {
		wrong = append(wrong, fmt.Sprintf("refused: %t, want %t: %v", got, refused, found.Err()))
	}
	if found.Err() != nil && refused && len(unstored) == 0 {
		return wrong // an object that is not decoded drops nothing
	}
	var mine []string
	for _, f := range found {
		if f.Code == codes.DropsField {
			mine = append(mine, strings.TrimPrefix(f.Path.String(), "."))
		}
	}
	image := slices.ContainsFunc(mine, func(p string) bool { return strings.HasSuffix(p, ".image") })
	for _, path := range unstored {
		moved := image && (strings.Contains(path, ".volumes[") ||
			strings.Contains(path, ".volumeMounts[")) // one item less, and all others move
		if !moved && !ignored(path, fields) && !slices.ContainsFunc(mine, around(path)) {
			wrong = append(wrong, "not reported: "+path)
		}
	}
	for _, path := range mine {
		if !image && valueAt(path, fields) && !slices.ContainsFunc(unstored, around(path)) {
			wrong = append(wrong, "stored: "+path)
		}
	}
	return wrong
}

// around returns whether two paths are one, or one is around the other.
func around(path string) func(string) bool {
	return func(other string) bool {
		return strings.HasPrefix(path, other) || strings.HasPrefix(other, path)
	}
}

// ignored reports fields that all versions drop or move alike, and nulls.
func ignored(path string, fields map[string]any) bool {
	return strings.Contains(path, ".dataSource") || strings.HasPrefix(path, "spec.dataSource") ||
		strings.Contains(path, ".volumeClaimTemplate.") || !valueAt(path, fields)
}

// valueAt reports whether there is a value at a path that is not empty all the way down.
func valueAt(path string, fields map[string]any) bool {
	var at any = fields
	for _, step := range strings.FieldsFunc(path, func(r rune) bool {
		return r == '.' || r == '[' || r == ']'
	}) {
		switch in := at.(type) {
		case map[string]any:
			at = in[step]
		case []any:
			i := 0
			fmt.Sscan(step, &i)
			at = in[i]
		}
	}
	return !isEmpty(at)
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, below := range v {
			if !isEmpty(below) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(below any) bool { return !isEmpty(below) })
	}
	return value == nil || value == "" || value == false || value == 0.0
}
