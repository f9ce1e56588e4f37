package report

// ellipsis stands for the omitted part of a string.
const ellipsis = "…"

// leastColumn is the width below which Fit narrows no column.
const leastColumn = 8

// Fit narrows the widest columns of a table until its rows fit into a terminal. A gap separates two columns. Fit keeps the
// widths if room is not positive, as for output of any width.
func Fit(widths []int, gap, room int) {
	if room <= 0 {
		return
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= leastColumn {
			return
		}
		widths[widest]--
	}
}

// Shorten returns a printable string whose middle gives way to an ellipsis if the string is wider than its column. Names of
// Pods, managers and positions differ at their ends.
func Shorten(text string, room int) string {
	if Width(text) <= room {
		return text
	}
	runes := []rune(text)
	first, last := 0, len(runes)
	left := room - Width(ellipsis)
	for next := columnsOf(runes[first]); next <= (left+1)/2; next += columnsOf(runes[first]) {
		first++
	}
	left -= columns(runes[:first])
	for next := columnsOf(runes[last-1]); next <= left; next += columnsOf(runes[last-1]) {
		last--
	}
	return string(runes[:first]) + ellipsis + string(runes[last:])
}
