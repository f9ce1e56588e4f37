package origins

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// needed finds the objects of files that the build of one object needs.
type needed struct {
	*tracer
	seen   map[string]bool
	names  map[string]bool // the words of kustomizations, of their patches and of the object
	chunks map[string][]chunk
}

// chunk is a document of a file, with the line that begins it.
type chunk struct {
	text []byte
	Kind string
	// Metadata has the name that the kustomizations refer to.
	Metadata struct{ Name string }
}

var errNeedsAll = errors.New("a transformer may need any object")

// Needed returns the files of a build for a trace of one object, as it is named after the build or
// before. They keep the objects of the kind whose names are in its name, and those that they or the
// kustomizations mention. What they lose leaves empty lines, so that positions stay.
func Needed(s Source, dir, kind, name string) (map[string][]byte, error) {
	n := &needed{tracer: &tracer{Source: s, dir: dir, layers: map[string]*layer{}},
		seen: map[string]bool{}, names: map[string]bool{}, chunks: map[string][]chunk{}}
	if err := n.layer(dir); err != nil {
		return nil, err
	}
	isAsked := func(c chunk) bool {
		return strings.EqualFold(c.Kind, kind) && strings.Contains(name, c.Metadata.Name)
	}
	for _, chunks := range n.chunks {
		for _, c := range chunks {
			if isAsked(c) {
				n.mention(c.text)
			}
		}
	}
	files := map[string][]byte{}
	for file, chunks := range n.chunks {
		var text []byte
		for _, c := range chunks {
			isWhole := c.Metadata.Name == "" || strings.HasSuffix(c.Kind, "List")
			if isWhole || isAsked(c) || n.names[c.Metadata.Name] {
				text = append(text, c.text...)
				continue
			}
			lines := bytes.Count(c.text, []byte("\n"))
			text = append(text, bytes.Repeat([]byte("\n"), lines)...)
		}
		files[file] = text
	}
	return files, nil
}

// layer collects what a directory and its bases and components mention, and their objects.
func (n *needed) layer(dir string) error {
	if n.seen[dir] {
		return nil
	}
	n.seen[dir] = true
	l, err := n.tracer.layer(dir)
	if err != nil {
		return err
	}
	if len(l.Generators)+len(l.Transformers)+len(l.Configurations)+len(l.Crds) > 0 {
		return errNeedsAll
	}
	n.file(l.file)
	for _, p := range l.Patches {
		n.file(filepath.Join(dir, p.Path))
	}
	//lint:ignore SA1019 repositories still have the field
	for _, name := range l.PatchesStrategicMerge {
		n.file(filepath.Join(dir, string(name)))
	}
	for _, r := range l.Replacements {
		n.file(filepath.Join(dir, r.Path))
	}
	for _, name := range slices.Concat(l.Resources, l.Components) {
		path := filepath.Join(dir, name)
		if inner, ok := n.Dir(path); ok {
			if err := n.layer(inner); err != nil {
				return err
			}
			continue
		}
		data, err := n.Read(path)
		if err != nil {
			return err
		}
		n.chunks[path] = chunksOf(data)
	}
	return nil
}

// file takes the words of a file, if it is one.
func (n *needed) file(name string) {
	if data, err := n.Read(name); err == nil {
		n.mention(data)
	}
}

func (n *needed) mention(text []byte) {
	for _, word := range bytes.FieldsFunc(text, func(c rune) bool {
		return strings.ContainsRune(" \t\r\n,:;=/|~[]{}()\"'", c)
	}) {
		n.names[string(word)] = true
	}
}

// chunksOf returns the documents of a file. One that is no YAML has no name.
func chunksOf(data []byte) []chunk {
	var all []chunk
	for line := range bytes.Lines(data) {
		if all == nil || bytes.HasPrefix(line, []byte("---")) {
			all = append(all, chunk{})
		}
		last := &all[len(all)-1]
		last.text = append(last.text, line...)
	}
	for i := range all {
		if yaml.Unmarshal(all[i].text, &all[i]) != nil {
			all[i] = chunk{text: all[i].text}
		}
	}
	return all
}

// Within keeps the objects that an argument asks for, at the places that they have in the output of
// a build, as JSON a line. It reports whether there are any, and the output has each as it is.
func (t *Trace) Within(output []byte, asked string) bool {
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	objects := make([]*Node, len(lines))
	for _, o := range t.Objects {
		if !Asks(asked, o.Kind(), o.Names()...) {
			continue
		}
		text, err := json.Marshal(o.value)
		if err != nil {
			return false
		}
		i := slices.IndexFunc(lines, func(line []byte) bool { return bytes.Equal(line, text) })
		if i < 0 {
			return false
		}
		objects[i] = o
	}
	t.Objects = objects
	return slices.ContainsFunc(objects, func(o *Node) bool { return o != nil })
}
