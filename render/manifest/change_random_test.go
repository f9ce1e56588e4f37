package manifest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/manifest"
)

// randomText writes random documents. Each scalar has a value of its own, and each comment a number.
type randomText struct {
	*rand.Rand
	next  int
	paths []fieldpath.Path // of all fields, entries and items
}

func (r *randomText) number() int { r.next++; return r.next }

// scalar returns a random scalar.
func (r *randomText) scalar() string {
	n := r.number()
	return []string{
		fmt.Sprint(n), fmt.Sprintf("v%d", n), fmt.Sprintf("'it''s %d'", n), fmt.Sprintf(`"a\t%d: }"`, n), fmt.Sprintf("%d.5", n), "true", "null", "~", fmt.Sprintf("a#%d b", n), "",
	}[r.IntN(10)]
}

func (r *randomText) comment() string {
	if r.IntN(4) > 0 {
		return ""
	}
	return fmt.Sprintf(" # c%d", r.number())
}

// flow returns a random value on one line.
func (r *randomText) flow(path fieldpath.Path, depth int) string {
	r.paths = append(r.paths, path)
	n := r.IntN(3)
	switch kind := r.IntN(4); {
	case depth > 0 && kind == 0:
		var members []string
		for i := range n {
			name := fmt.Sprintf("k%d", i)
			members = append(members, name+": "+r.flow(path.Append(fieldpath.Field(name)), depth-1))
		}
		return "{" + strings.Join(members, ", ") + []string{"", "", ","}[r.IntN(3)*min(n, 1)] + "}"
	case depth > 0 && kind == 1:
		var items []string
		for i := range n {
			items = append(items, r.flow(path.Append(fieldpath.Index(i)), depth-1))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	for {
		if s := r.scalar(); s != "" && !strings.Contains(s, "#") {
			return s
		}
	}
}

// block writes a random value below a key or behind a dash that is indented by n.
func (r *randomText) block(b *bytes.Buffer, path fieldpath.Path, n, depth int, isItem bool) {
	r.paths = append(r.paths, path)
	indent := strings.Repeat(" ", n)
	aside := func() {
		switch r.IntN(6) {
		case 0:
			fmt.Fprintf(b, "%s# c%d\n", indent, r.number())
		case 1:
			b.WriteString("\n")
		}
	}
	switch kind := r.IntN(8); {
	case depth > 0 && kind < 4:
		if isItem {
			b.WriteString(" ")
		} else {
			b.WriteString(r.comment() + "\n")
		}
		for i := range 1 + r.IntN(3) {
			if i > 0 || !isItem {
				aside()
				b.WriteString(indent)
			}
			name := fmt.Sprintf("k%d", i)
			b.WriteString([]string{name, name, `"` + name + `"`}[r.IntN(3)] + ":")
			r.block(b, path.Append(fieldpath.Field(name)), n+2, depth-1, false)
		}
	case depth > 0 && kind == 4:
		if isItem {
			b.WriteString(" ")
		} else {
			b.WriteString(r.comment() + "\n")
		}
		if shift := r.IntN(2) * 2; !isItem && n > 2 {
			n -= shift
			indent = strings.Repeat(" ", n)
		}
		for i := range 1 + r.IntN(3) {
			if i > 0 || !isItem {
				aside()
				b.WriteString(indent)
			}
			b.WriteString("-")
			r.block(b, path.Append(fieldpath.Index(i)), n+2, depth-1, true)
		}
	case kind == 5:
		r.paths = r.paths[:len(r.paths)-1]
		b.WriteString(" " + r.flow(path, 2) + r.comment() + "\n")
	case kind == 6:
		text := fmt.Sprintf("line %d\n%s\n%s  more: %d\n", r.number(), []string{"", indent + "# text"}[r.IntN(2)], indent, r.number())
		b.WriteString([]string{" |", " >-", " |2", " |+"}[r.IntN(4)%[]int{4, 2}[min(n%4, 1)]] + "\n" + indent + text)
	default:
		b.WriteString(" " + r.scalar() + r.comment() + "\n")
	}
}

// document returns a random object.
func (r *randomText) document() string {
	r.paths = nil
	if r.IntN(5) == 0 {
		var generic map[string]any
		var b bytes.Buffer
		b.WriteString("spec:")
		r.block(&b, fieldpath.Fields("spec"), 2, 4, false)
		if sigsyaml.Unmarshal(b.Bytes(), &generic) == nil {
			generic["apiVersion"], generic["kind"] = "v1", "ConfigMap"
			j, _ := json.Marshal(generic)
			if r.IntN(2) == 0 {
				var out bytes.Buffer
				_ = json.Indent(&out, j, "", []string{"  ", "\t"}[r.IntN(2)])
				return out.String()
			}
			return string(j)
		}
		r.paths = nil
	}
	var b bytes.Buffer
	b.WriteString("# head\napiVersion: v1\nkind: ConfigMap\nspec:")
	r.block(&b, fieldpath.Fields("spec"), 2, 4, false)
	text := b.String()
	switch r.IntN(6) {
	case 0:
		return strings.TrimSuffix(text, "\n")
	case 1:
		return strings.ReplaceAll(text, "\n", "\r\n")
	case 2:
		return text + "status:\n    a: 1\n# end\n"
	}
	return text
}

// change returns a random change and performs it on the object.
func (r *randomText) change(object map[string]any, avoid []fieldpath.Path) (c manifest.Change, ok bool) {
	c.Path = r.paths[r.IntN(len(r.paths))]
	if len(c.Path) < 2 || slices.ContainsFunc(avoid, func(p fieldpath.Path) bool { return p.HasPrefix(c.Path) || c.Path.HasPrefix(p) }) {
		return c, false
	}
	last := c.Path[len(c.Path)-1]
	_, isItem := last.Index()
	fresh := fmt.Sprintf("new%d", r.number())
	switch r.IntN(5) {
	case 0:
		c.Do = manifest.RemoveField
		return c, removeAt(object, c.Path)
	case 1:
		c.Do, c.Value = manifest.SetField, []any{"8", 8.0, "yes", true, "a\nb", map[string]any{"a": "b"}, []any{"x", map[string]any{"y": "z"}}, []any{}}[r.IntN(8)]
		return c, setAt(object, c.Path, c.Value)
	case 2:
		c.Do, c.Value = manifest.SetField, fresh
		c.Path = c.Path.Append(fieldpath.Fields(fresh, "deep")...)
		return c, setAt(object, c.Path, c.Value)
	case 3:
		if c.Do, c.Name = manifest.RenameField, fresh; isItem {
			return c, false
		}
		value := valueAt(object, c.Path)
		return c, setAt(object, c.Path[:len(c.Path)-1].Append(fieldpath.Field(fresh)), value) && removeAt(object, c.Path)
	}
	c.Do, c.To = manifest.MoveField, fieldpath.Fields("moved", fresh)
	value := valueAt(object, c.Path)
	return c, removeAt(object, c.Path) && setAt(object, c.To, value)
}

func valueAt(value any, path fieldpath.Path) any {
	for _, step := range path {
		if i, ok := step.Index(); ok {
			value = value.([]any)[i]
		} else {
			name, _ := step.Field()
			value = value.(map[string]any)[name]
		}
	}
	return value
}

// setAt sets a field, and adds its parents. It reports whether the path fits.
func setAt(value any, path fieldpath.Path, to any) bool {
	for i, step := range path {
		if at, ok := step.Index(); ok {
			list := value.([]any)
			if i == len(path)-1 {
				list[at] = to
				return true
			}
			value = list[at]
			continue
		}
		object, ok := value.(map[string]any)
		if !ok {
			return false
		}
		name, _ := step.Field()
		if i == len(path)-1 {
			object[name] = to
			return true
		}
		if object[name] == nil {
			object[name] = map[string]any{}
		}
		value = object[name]
	}
	return true
}

// removeAt removes a field, and the maps and lists that become empty. It reports whether the object keeps its spec.
func removeAt(object map[string]any, path fieldpath.Path) bool {
	parent := valueAt(object, path[:len(path)-1])
	size := 0
	if i, ok := path[len(path)-1].Index(); ok {
		list := slices.Delete(slices.Clone(parent.([]any)), i, i+1)
		size = len(list)
		setAt(object, path[:len(path)-1], list)
	} else {
		name, _ := path[len(path)-1].Field()
		delete(parent.(map[string]any), name)
		size = len(parent.(map[string]any))
	}
	return size > 0 || len(path) > 2 && removeAt(object, path[:len(path)-1])
}

// emptied returns the path of a change, or of the largest parent that the change empties.
func emptied(object map[string]any, c manifest.Change) fieldpath.Path {
	p := c.Path
	for (c.Do == manifest.RemoveField || c.Do == manifest.MoveField) && len(p) > 1 && reflect.ValueOf(valueAt(object, p[:len(p)-1])).Len() == 1 {
		p = p[:len(p)-1]
	}
	return p
}

// TestDocument_Change_Random changes random fields of random documents. The text then reads as the changed object. Every line
// of the text that no change names stays, in its order.
func TestDocument_Change_Random(t *testing.T) {
	done, rejected := 0, map[string]int{}
	for seed := range testenv.Cases(t, 3000) {
		r := &randomText{Rand: rand.New(rand.NewPCG(seed, 20))}
		text := r.document()
		var want map[string]any
		if err := sigsyaml.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		var changes []manifest.Change
		var named []fieldpath.Path
		for range 1 + r.IntN(2) {
			before, _ := json.Marshal(want)
			c, ok := r.change(want, named)
			isItem := strings.ContainsAny(c.Path.String(), "[")
			if !ok || isItem && len(changes) > 0 {
				want = nil
				_ = json.Unmarshal(before, &want)
				continue
			}
			var object map[string]any
			_ = json.Unmarshal(before, &object)
			changes, named = append(changes, c), append(named, emptied(object, c))
			if isItem {
				break // later positions would differ
			}
		}
		if len(changes) == 0 {
			continue
		}
		documents, _ := manifest.Decode("f", []byte(text))
		if len(documents) != 1 {
			t.Fatalf("seed %d: %d documents\n%s", seed, len(documents), text)
		}
		edits, err := documents[0].Change(changes)
		if err != nil {
			rejected[err.Error()[strings.LastIndex(err.Error(), ": "):]]++
			if rejected["sum"]++; strings.Contains(err.Error(), "safely") {
				t.Logf("seed %d: %v %v\n%s", seed, changes, err, text)
			}
			continue
		}
		done++
		after := manifest.ApplyEdits([]byte(text), edits)
		var got map[string]any
		if err := sigsyaml.Unmarshal(after, &got); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%v\n%s", seed, err, text, changes, after)
		}
		j, _ := json.Marshal(want)
		want = nil
		_ = json.Unmarshal(j, &want)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: got %v, want %v\n%s\n%v\n%s", seed, got, want, text, changes, after)
		}
		if line := lostLine(documents[0], text, string(after), named); line != "" {
			t.Fatalf("seed %d: lost %q\n%s\n%v\n%s", seed, line, text, changes, after)
		}
	}
	t.Logf("%d done, refused %v", done, rejected)
	if rejected["sum"]*20 > done {
		t.Errorf("%d of %d refused", rejected["sum"], done)
	}
}

// lostLine returns a line that no change names and that the new text lacks, or "".
func lostLine(d *manifest.Document, before, after string, named []fieldpath.Path) string {
	if d.Format() == manifest.JSON {
		return ""
	}
	lines := strings.Split(before, "\n")
	isNamed := make([]bool, len(lines))
	for _, p := range named {
		start := d.TextPosition(p)
		_, isItem := p[len(p)-1].Index()
		isNamed[start.Line-1] = true
		for i := start.Line; i < len(lines) && (strings.TrimSpace(lines[i]) == "" || indentOf(lines[i]) >= start.Column-1 && (isItem || !strings.HasPrefix(strings.Trim(lines[i][start.Column-1:], `"`), "k"))); i++ {
			isNamed[i] = true
		}
		for i := start.Line - 2; i >= 0 && strings.HasPrefix(strings.TrimSpace(lines[i]), "#"); i-- {
			isNamed[i] = true // moves along
		}
	}
	content := func(line string) string { return strings.TrimLeft(line, " -") } // an item may get another first key
	rest := strings.Split(after, "\n")
	for i, line := range lines {
		at := slices.IndexFunc(rest, func(other string) bool { return content(other) == content(line) })
		if isNamed[i] || strings.TrimSpace(line) == "" {
			continue
		}
		if at < 0 {
			return line
		}
		rest = rest[at+1:]
	}
	return ""
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
