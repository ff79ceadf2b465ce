package plugin

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// column is a column of a table.
type column struct {
	name string
	// drop is the order in which columns are left out of a terminal that is too narrow, the largest first. 0 is never left out.
	drop int
	// state is true for a column of states, which have colors.
	state bool
}

// gap is the number of spaces between columns, as in kubectl's tables.
const gap = 3

// minLast is the least width to which the last column is cut before columns are left out.
const minLast = 16

// table is a table whose rows are computed twice: for the widths, and for the output. It does not hold the rows of large fleets.
type table struct {
	columns []column
	// bare is true for a table without a header.
	bare bool
	rows int
	row  func(i int) []string
	// widths are the widths of the columns, once they are known.
	widths []int
}

// keep computes the widths of the columns from the header and the rows.
func (t *table) keep() {
	t.widths = make([]int, len(t.columns))
	for i := range t.columns {
		if !t.bare {
			t.widths[i] = cells(t.columns[i].name)
		}
	}
	for i := range t.rows {
		t.widen(t.row(i))
	}
}

func (t *table) widen(row []string) {
	for i, cell := range row {
		t.widths[i] = max(t.widths[i], cells(cell))
	}
}

// index returns the index of a column.
func (t *table) index(name string) int {
	return slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
}

// append writes one more row, below those that were written.
func (t *table) append(to io.Writer, row []string, s screen) error {
	t.widen(row)
	out := bufio.NewWriter(to)
	t.line(out, row, t.fit(t.widths, s.width), s)
	return out.Flush()
}

// write writes the table. If the screen is too narrow, it leaves out columns and cuts the last column.
func (t *table) write(to io.Writer, s screen) error {
	t.keep()
	shown := t.fit(t.widths, s.width)
	out := bufio.NewWriter(to)
	if !t.bare {
		header := make([]string, len(t.columns))
		for i := range t.columns {
			header[i] = t.columns[i].name
		}
		t.line(out, header, shown, screen{width: s.width})
	}
	for i := range t.rows {
		t.line(out, t.row(i), shown, s)
	}
	return out.Flush()
}

// fit returns the columns that a screen has room for.
func (t *table) fit(widths []int, room int) []int {
	var shown []int
	for i := range t.columns {
		shown = append(shown, i)
	}
	for room > 0 {
		total, worst := 0, -1
		for at, i := range shown {
			need := widths[i] + gap
			if at == len(shown)-1 {
				need = min(widths[i], minLast)
			}
			total += need
			if t.columns[i].drop > 0 && (worst < 0 || t.columns[i].drop > t.columns[shown[worst]].drop) {
				worst = at
			}
		}
		if total <= room || worst < 0 {
			break
		}
		shown = append(shown[:worst], shown[worst+1:]...)
	}
	return shown
}

func (t *table) line(out *bufio.Writer, row []string, shown []int, s screen) {
	var line strings.Builder
	used := 0
	for at, i := range shown {
		cell, last := row[i], at == len(shown)-1
		if s.width > 0 {
			cell = cut(cell, s.width-used)
		}
		pad := max(0, t.widths[i]-cells(cell)) + gap
		used += cells(cell) + pad
		if t.columns[i].state {
			cell = s.paint(cell)
		}
		line.WriteString(cell)
		if !last {
			line.WriteString(strings.Repeat(" ", pad))
		}
	}
	_, _ = out.WriteString(strings.TrimRight(line.String(), " ") + "\n") // Flush returns the error.
}

// cells returns the number of terminal cells that a text takes.
func cells(text string) int {
	n := utf8.RuneCountInString(text)
	if n == len(text) {
		return n
	}
	for _, r := range text {
		n += wide(r)
	}
	return n
}

// wide returns 1 if a terminal draws a rune over two cells.
func wide(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 1
	}
	return 0
}

// cut returns a text that takes at most a number of cells. The last one is "…" if the text is longer.
func cut(text string, room int) string {
	if cells(text) <= room {
		return text
	}
	used := 0
	for at, r := range text {
		if used += 1 + wide(r); used > room-1 {
			return text[:at] + strings.Repeat("…", min(1, max(0, room)))
		}
	}
	return text
}
