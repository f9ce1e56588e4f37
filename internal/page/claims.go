package page

// Claim is a row of a table of claims: a layer with its value and its place.
type Claim struct {
	Layer, Value, Place string
	// Mark tells why the claim wins, or is empty.
	Mark string
}

// Claims appends a table of the claims on a field. Its caption is for readers who hear the page.
func (b *Body) Claims(layers *Layers, caption string, claims []Claim) {
	b.Open("table", Class("claims"))
	b.Add("caption", caption)
	b.Open("tbody")
	for _, c := range claims {
		b.Void("tr", If(c.Mark != "", Class("wins")))
		b.Cell("th", c.Layer, If(c.Layer != "", Class("by "+layers.Class(c.Layer))))
		b.Cell("td", c.Value)
		b.Cell("td", c.Place)
		if c.Mark != "" {
			b.Cell("td", c.Mark)
		}
	}
	b.Close()
	b.Close()
}
