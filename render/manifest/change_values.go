package manifest

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/render/manifest/internal/encode"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// generic returns the value of a part, or an error value if it has no JSON form.
func (c *changer) generic(p *part) any {
	switch {
	case p.value != nil:
		return genericOf(p.value)
	case !p.isKnown:
		return genericNode(c.Reading, p.node)
	case p.kind == encode.Object:
		object := map[string]any{}
		for _, child := range p.parts {
			if !child.isGone {
				object[child.name] = c.generic(child)
			}
		}
		return object
	}
	list := []any{}
	for _, child := range p.parts {
		if !child.isGone {
			list = append(list, c.generic(child))
		}
	}
	return list
}

func genericNode(r *source.Reading, n *yaml.Node) any {
	var b bytes.Buffer
	if n == nil || r.Convert(&b, n) != nil {
		return errNotJSON
	}
	return fromJSON(b.Bytes())
}

func genericOf(v *encode.Value) any {
	var b bytes.Buffer
	(&encode.Writer{Buffer: &b}).Inline(v, true, true)
	return fromJSON(b.Bytes())
}

func fromJSON(j []byte) any {
	value, err := untyped(j)
	if err != nil {
		return errNotJSON
	}
	return value
}

// valueOf returns the value of a part for writing.
func (c *changer) valueOf(p *part) *encode.Value {
	if p.value != nil {
		return p.value
	}
	if !p.isKnown {
		v, err := c.noted(p.key, p.node)
		if err != nil {
			return &encode.Value{Text: "null"}
		}
		return v
	}
	v := &encode.Value{Kind: p.kind}
	for _, child := range p.parts {
		switch {
		case child.isGone:
		case p.kind == encode.Object:
			v.Entries = append(v.Entries, encode.Member{Key: child.name, Value: c.valueOf(child)})
		default:
			v.Items = append(v.Items, c.valueOf(child))
		}
	}
	return v
}

// noted returns the value of a node with its order, comments and quotes. The parameter key is the node of its key, or nil for an item.
func (c *changer) noted(key, n *yaml.Node) (*encode.Value, error) {
	v := &encode.Value{Note: &encode.Note{IsFlow: n.Style&yaml.FlowStyle != 0 && lastLine(n) == n.Line}}
	switch n.Kind {
	case yaml.AliasNode:
		return nil, errShared
	case yaml.MappingNode:
		v.Kind = encode.Object
		entries, clashes := c.Entries(n)
		if len(clashes) > 0 {
			return nil, errDiffers
		}
		for _, e := range entries {
			if e.Err != nil || e.Merged {
				return nil, errShared
			}
			member, err := c.noted(e.Key, e.Value)
			if err != nil {
				return nil, err
			}
			if s := e.Key.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle); s != 0 && encode.IsOneLine(e.Name) {
				member.Note.Key, member.Note.HasKey = s, true
			}
			v.Entries = append(v.Entries, encode.Member{Key: e.Name, Value: member})
		}
	case yaml.SequenceNode:
		v.Kind = encode.Array
		for _, item := range n.Content {
			member, err := c.noted(nil, item)
			if err != nil {
				return nil, err
			}
			v.Items = append(v.Items, member)
		}
	default:
		j, err := c.Scalar(n)
		if err != nil {
			return nil, errNotJSON
		}
		if v.Text = string(j); j[0] == '"' {
			v.Kind = encode.Text
			if err := json.Unmarshal(j, &v.Text); err != nil {
				return nil, errNotJSON
			}
			if quoted := quotedLike(v, n); quoted.Note != nil && quoted.Note.HasText {
				v.Note.Text, v.Note.HasText = quoted.Note.Text, true
			}
		}
	}
	if key != nil {
		addComments(v.Note, key, n, v.Kind)
	} else {
		addComments(v.Note, n, n, v.Kind)
	}
	return v, nil
}

// lastLine returns the line on which the last node below n starts.
func lastLine(n *yaml.Node) int {
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	return n.Line
}

// quotedLike gives a string of one line the quotes of a scalar in the text.
func quotedLike(v *encode.Value, n *yaml.Node) *encode.Value {
	style := n.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle)
	if n.Kind != yaml.ScalarNode || v.Kind != encode.Text || style == 0 || !encode.IsOneLine(v.Text) {
		return v
	}
	styled := *v
	styled.Note = &encode.Note{Text: style, HasText: true}
	return &styled
}
