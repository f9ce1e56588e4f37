package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Sizes in the units of the SVG. On a screen of 320 pixels a unit is a pixel.
const (
	width    = 320
	margin   = 8
	labels   = 126 // the width of the labels
	values   = 58  // the width of the values behind the bars
	row      = 22
	thick    = 12 // of a bar
	titleRow = 26
)

// The colors fit a light and a dark page.
const style = `
    text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
    .title { font-weight: 600 }
    .quiet { fill: #59636e }
    .ours { fill: #0969da }
    .other { fill: #afb8c1 }
    .target { stroke: #59636e; stroke-dasharray: 3 3 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .quiet { fill: #9198a1 }
      .ours { fill: #4493f8 }
      .other { fill: #545d68 }
      .target { stroke: #9198a1 }
    }
`

// draw returns the chart as SVG. It returns an error if the results lack a value.
func (c chart) draw(found results) (string, error) {
	most, err := c.most(found)
	if err != nil {
		return "", err
	}
	length := func(value float64) float64 {
		part := value / most
		if c.log {
			part = math.Log10(max(value, 1)) / math.Log10(most)
		}
		return math.Round(part*(width-2*margin-labels-values)*10) / 10
	}
	var body, told strings.Builder
	y := margin + titleRow
	top := y
	for i, g := range c.groups {
		if i > 0 {
			y += margin
		}
		if g.label != "" {
			fmt.Fprintf(&body, "  <text class=\"quiet\" x=\"%d\" y=\"%d\">%s</text>\n", margin, y+15, html.EscapeString(g.label))
			fmt.Fprintf(&told, " %s:", g.label)
			y += row
		}
		for i, b := range g.bars {
			value := found[b.value]
			class := "ours"
			if b.other {
				class = "other"
			}
			shown := number(value) + c.unit
			fmt.Fprintf(&body, "  <text x=\"%d\" y=\"%d\">%s</text>\n", margin, y+15, html.EscapeString(b.label))
			fmt.Fprintf(&body, "  <rect class=%q x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n", class, margin+labels, y+5, max(length(value), 1), thick)
			fmt.Fprintf(&body, "  <text class=\"quiet\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", width-margin, y+15, shown)
			end := ","
			if i == len(g.bars)-1 {
				end = "."
			}
			fmt.Fprintf(&told, " %s %s%s", b.label, shown, end)
			y += row
		}
	}
	for i, t := range c.targets {
		x := margin + labels + length(t.of(found))
		fmt.Fprintf(&body, "  <line class=\"target\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, top, y+4+i*row)
		fmt.Fprintf(&body, "  <text class=\"quiet\" x=\"%.1f\" y=\"%d\" text-anchor=\"end\">%s</text>\n", x-4, y+15+i*row, html.EscapeString(t.label))
		fmt.Fprintf(&told, " The dashed line %q is at %s%s.", t.label, number(t.of(found)), c.unit)
	}
	y += len(c.targets)*row + margin
	title := html.EscapeString(c.title)
	var svg strings.Builder
	fmt.Fprintf(&svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-labelledby=\"title desc\">\n", width, y, width)
	fmt.Fprintf(&svg, "  <title id=\"title\">%s</title>\n  <desc id=\"desc\">%s</desc>\n", title, html.EscapeString(strings.TrimSpace(told.String())))
	fmt.Fprintf(&svg, "  <style>%s  </style>\n  <text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n%s</svg>\n", style, margin, margin+12, title, body.String())
	return svg.String(), nil
}

// most returns the largest value of the chart.
func (c chart) most(found results) (float64, error) {
	most := 0.0
	for _, g := range c.groups {
		for _, b := range g.bars {
			value, ok := found[b.value]
			if !ok {
				return 0, fmt.Errorf("no result %q", b.value)
			}
			most = max(most, value)
		}
	}
	for _, t := range c.targets {
		if _, ok := found[t.value]; !ok && t.value != "" {
			return 0, fmt.Errorf("no result %q", t.value)
		}
		most = max(most, t.of(found))
	}
	if most <= 1 && c.log || most <= 0 {
		return 0, fmt.Errorf("the largest value is %g", most)
	}
	return most, nil
}

// of returns the value of the line. A target without a result is its factor.
func (t target) of(found results) float64 {
	if t.value == "" {
		return t.factor
	}
	return t.factor * found[t.value]
}

// number formats a value with two or three digits.
func number(value float64) string {
	switch {
	case value >= 1000:
		return fmt.Sprintf("%d,%03d", int(math.Round(value))/1000, int(math.Round(value))%1000)
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}
