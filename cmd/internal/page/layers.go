package page

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// Layers numbers the layers of a page. A layer has one color and one pattern on the whole page, and
// readers can filter by it. The name of a manager gives its color, so that a manager has it on all
// pages.
type Layers struct {
	names []string
	class map[string]string
}

const (
	// colors is the number of colors in the style sheet.
	colors = 10
	// patterns is the number of patterns of bars. It shares no factor with colors, so that 30
	// layers differ in one of the two.
	patterns = 3
	// mostFilters is the number of layers that have a filter.
	mostFilters = 40
	// runtimeClass is the class of the runtime, which is gray: most lines are its.
	runtimeClass = "l0"
)

// Class returns the class of a layer. The layer "runtime" is gray.
func (l *Layers) Class(layer string) string {
	switch class, known := l.class[layer]; {
	case layer == "":
		return ""
	case known:
		return class
	case layer == "runtime":
		return l.add(layer, runtimeClass)
	default:
		n := 1 + len(l.names)
		if _, hasRuntime := l.class["runtime"]; hasRuntime {
			n--
		}
		return l.add(layer, fmt.Sprintf("l%d", n))
	}
}

// Indent returns the class of a long line of an object or of a difference: if it wraps, the style
// keeps what follows behind the indentation. A list's dash and the mark of a difference count.
func Indent(line string) string {
	const long, most = 60, 40
	n := len(line) - len(strings.TrimLeft(line, " +-"))
	if n = min(n&^1, most); len(line) < long || n == 0 {
		return ""
	}
	return fmt.Sprintf(" i%d", n)
}

func (l *Layers) add(layer, class string) string {
	if l.class == nil {
		l.class = map[string]string{}
	}
	l.class[layer] = class
	l.names = append(l.names, layer)
	return class
}

// filtered returns the layers with a filter: the runtime, the managers, then the others.
func (l *Layers) filtered() []string {
	names := slices.Clone(l.names)
	slices.SortStableFunc(names, func(a, b string) int { return Rank(a) - Rank(b) })
	return names[:min(len(names), mostFilters)]
}

// style returns the rules for the colors of the layers and for the filter.
func (l *Layers) style() string {
	var b strings.Builder
	place := l.places()
	for _, name := range l.names {
		class := l.class[name]
		if class == runtimeClass {
			continue
		}
		n := place[name]
		fmt.Fprintf(&b, ".%s{--c:var(--c%d)%s}", class, n%colors+1, patternOf(n%patterns))
	}
	fmt.Fprintf(&b, ".own{--w:%.1frem}", min(widest, perCharacter*float64(l.longest())))
	if filtered := l.filtered(); len(filtered) > 1 {
		for _, name := range filtered {
			class := l.class[name]
			fmt.Fprintf(&b,
				"body:has(#f-%[1]s:checked) :is(.own,.diff)>:not(.%[1]s)"+
					"{--c:transparent;color:var(--quiet);background:none}", class)
			fmt.Fprintf(&b, "body:has(#f-%s:checked) .item:not(:has(.%s)){display:none}", class,
				class)
		}
	}
	return b.String()
}

// The width of the names beside the lines of an object, in rem.
const (
	widest       = 16.5
	perCharacter = 0.5
)

// longest returns the length of the longest name beside a line, with the space for its marks.
func (l *Layers) longest() int {
	longest := 0
	for _, name := range l.names {
		longest = max(longest, len(strings.TrimPrefix(name, "manager/")))
	}
	return longest + len("disputed +1 ~ ")
}

// places returns a number for each layer, which gives its color and its pattern. The hash of a
// manager's name chooses its color. If several managers of the page have one hash, they get the
// next colors in the order of their names. The other layers get the rest.
func (l *Layers) places() map[string]int {
	names := slices.DeleteFunc(slices.Clone(l.names), func(name string) bool {
		return l.class[name] == runtimeClass
	})
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(Rank(a), Rank(b)), strings.Compare(a, b))
	})
	places, taken := map[string]int{}, map[int]bool{}
	for i, name := range names {
		hash := fnv.New32a()
		hash.Write([]byte(name))
		n, turn := int(hash.Sum32()%colors), i/colors*colors // the first layers share no color
		for taken[turn+n] {
			n = (n + 1) % colors
		}
		places[name], taken[turn+n] = turn+n, true
	}
	return places
}

// Live begins the names of layers that wrote in a cluster, after all others.
const Live = "live/"

// Rank sorts layers: the runtime, the managers, the others, and those of a cluster.
func Rank(name string) int {
	switch {
	case name == "runtime":
		return 0
	case strings.HasPrefix(name, "manager/"):
		return 1
	case strings.HasPrefix(name, Live):
		return 3
	default:
		return 2
	}
}

// patternOf returns the declarations for a bar: solid, double or dotted.
func patternOf(n int) string {
	switch n {
	case 1:
		return ";--b:double"
	case 2:
		return ";--b:dotted"
	default:
		return ""
	}
}

// filter appends the choice of a layer. Nothing is chosen if there is only one.
func (l *Layers) filter(b *Body, what string) {
	names := l.filtered()
	if len(names) < 2 {
		return
	}
	b.Open("fieldset", Class("filter"))
	b.Add("legend", "Show the "+what+" of")
	choice := func(id, name, class string, checked bool) {
		b.Open("label", If(class != "", Class(class)))
		b.Void("input", Attr{"type", "radio"}, Attr{"name", "layer"}, ID(id),
			If(checked, Attr{"checked", ""}))
		b.Text(name)
		b.Close()
	}
	choice("f-all", "all", "", true)
	for _, name := range names {
		choice("f-"+l.class[name], strings.TrimPrefix(name, "manager/"), l.class[name], false)
	}
	b.Close()
}
