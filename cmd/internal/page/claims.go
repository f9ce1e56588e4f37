package page

// ClaimRow is a row of a table of claims: a layer with its value and its place.
type ClaimRow struct {
	Layer, Value, Place string
	// Mark tells why the claim wins, or is empty.
	Mark string
}

// Claims appends a table of the claims on a field, with a caption unless it is empty.
func (b *Body) Claims(layers *Layers, caption string, claims []ClaimRow, attrs ...Attr) {
	b.Open("table", append([]Attr{Class("claims")}, attrs...)...)
	if caption != "" {
		b.Void("caption")
		// without an end tag, and without the tags of the only group of rows, which HTML does not
		// require
		b.Words(caption)
	}
	for _, c := range claims {
		b.Void("tr", If(c.Mark != "", Class("wins")))
		b.Cell("th", c.Layer, If(c.Layer != "", Class(layers.Class(c.Layer))))
		b.Cell("td", c.Value)
		b.Cell("td", c.Place)
		if c.Mark != "" {
			b.Cell("td", c.Mark)
		}
	}
	b.Close()
}
