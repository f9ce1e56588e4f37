package strategic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
)

// TestPure: a merge changes none of its inputs, and its result shares no memory with them.
func TestPure(t *testing.T) { ForCases(t, 2_000, NewCase, pure) }

func pure(m *Case) string {
	inputs := func() []byte { return append(Encode(m.Base), Encode(m.Patches)...) }
	before := inputs()
	merged, err := apply(m)
	if !bytes.Equal(inputs(), before) {
		return "the merge changed its inputs"
	}
	if err != nil {
		return ""
	}
	value, owners := Encode(merged.Value), ownersText(merged.History)
	again, err := apply(m)
	if err != nil {
		return fmt.Sprintf("the same merge without owners fails: %v", err)
	}
	fuzz.Scribble(again.Value)
	if !bytes.Equal(inputs(), before) {
		return "a change of the result changed the inputs"
	}
	kept := &Case{Type: m.Type, Base: copyOf(m.Type, m.Base)}
	for _, patch := range m.Patches {
		if _, isObject := patch.(object); isObject {
			kept.Patches = append(kept.Patches, JSON(patch))
		} else {
			kept.Patches = append(kept.Patches, copyOf(m.Type, patch))
		}
	}
	fuzz.Scribble(m.Base)
	for _, patch := range m.Patches {
		fuzz.Scribble(patch)
	}
	*m = *kept // for the report
	if !bytes.Equal(Encode(merged.Value), value) {
		return "a change of the inputs changed the result"
	}
	if now := ownersText(merged.History); now != owners {
		return fmt.Sprintf("a change of the inputs changed the claims from\n%s\nto\n%s",
			owners, now)
	}
	return ""
}

func copyOf(t reflect.Type, v any) any {
	copied, err := Decode(t, Encode(v))
	if err != nil {
		panic(err)
	}
	return copied
}

func ownersText(o *merge.History) string {
	var s bytes.Buffer
	for path, claims := range o.All() {
		fmt.Fprintf(&s, "%s", path)
		for _, c := range claims {
			text, err := json.Marshal(c.Value)
			fmt.Fprintf(&s, " %s=%s%v", c.Owner, text, err)
		}
		s.WriteByte('\n')
	}
	return s.String()
}
