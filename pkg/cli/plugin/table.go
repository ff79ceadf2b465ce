package plugin

import (
	"slices"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// column is a column of a table.
type column struct {
	name string
	// drop is the order in which columns are omitted if the terminal is too narrow, the largest first. Columns with 0 are never omitted.
	drop int
	// off is true for a column that is always omitted, because no flag asks for it.
	off bool
	// state is true for a column of states, which have colors.
	state bool
	// wants is the preferred width of a last column. Columns with details are omitted until the last column has this width.
	wants int
	// tail is true for a column whose texts are cut at the beginning.
	tail bool
}

// details is the minimum drop of the columns that are omitted before the last column is cut below its preferred width.
const details = 3

// gap is the number of spaces between columns, as in kubectl's tables.
const gap = 3

// minLast is the minimum width to which the last column is cut before columns are omitted.
const minLast = 16

type table struct {
	columns []column
	// bare is true for a table without a header.
	bare bool
	// whole is true for a table that omits nothing: if the screen is too narrow, each cell gets its own line.
	whole bool
	rows  [][]string
	// widths are the widths of the columns, once they are known.
	widths []int
}

// tableOf returns a table with a row for each item. Each cell is one line; its indent stays.
func tableOf[T any](columns []column, items []T, row func(*T) []string) *table {
	t := &table{columns: columns}
	for i := range items {
		t.rows = append(t.rows, lines(row(&items[i])))
	}
	return t
}

// asIs returns an item that is already a row.
func asIs(row *[]string) []string { return *row }

func (t *table) widen(row []string) {
	for i, cell := range row {
		t.widths[i] = max(t.widths[i], plain.Width(cell))
	}
}

// append writes one more row below the rows that were already written.
func (t *table) append(out *printer, row []string) {
	t.widen(lines(row))
	t.line(out, row, t.fit(out.screen.width))
}

// write writes the table. If the screen is too narrow, it omits columns and cuts the last column.
func (t *table) write(out *printer) {
	t.widths = make([]int, len(t.columns))
	rows := t.rows
	if !t.bare {
		header := make([]string, len(t.columns))
		for i := range t.columns {
			header[i] = t.columns[i].name
		}
		rows = slices.Insert(slices.Clone(rows), 0, header)
	}
	for _, row := range rows {
		t.widen(row)
	}
	if t.whole && t.tooWide(out.screen) {
		t.stack(out)
		return
	}
	shown := t.fit(out.screen.width)
	for _, row := range rows {
		t.line(out, row, shown)
	}
}

// tooWide reports whether the table is wider than a screen.
func (t *table) tooWide(s screen) bool {
	total := -gap
	for _, width := range t.widths {
		total += width + gap
	}
	return s.width > 0 && total > s.width
}

// stack writes each cell on its own line, with the name of the column before each cell except the first of a row.
func (t *table) stack(out *printer) {
	for _, row := range t.rows {
		out.prose("", row[0])
		for at := 1; at < len(row); at++ {
			out.prose("  "+t.columns[at].name+"   ", row[at])
		}
	}
}

// printTable writes a table to the output.
func (o *options) printTable(t *table) error {
	out := newPrinter(o.Out, screenOf(o.Out))
	t.write(out)
	return out.err
}

func lines(row []string) []string {
	for i, cell := range row {
		text := strings.TrimLeft(cell, " ")
		row[i] = cell[:len(cell)-len(text)] + plain.Line(text)
	}
	return row
}

// fit returns the columns that fit on a screen.
func (t *table) fit(room int) []int {
	var shown []int
	widths := t.widths
	for i := range t.columns {
		if !t.columns[i].off {
			shown = append(shown, i)
		}
	}
	for room > 0 {
		total, worst := 0, -1
		for at, i := range shown {
			total += widths[i] + gap
			if t.columns[i].drop > 0 && (worst < 0 || t.columns[i].drop > t.columns[shown[worst]].drop) {
				worst = at
			}
		}
		last, least := shown[len(shown)-1], minLast
		if worst >= 0 && t.columns[shown[worst]].drop >= details {
			least = max(least, t.columns[last].wants)
		}
		total += min(widths[last], least) - widths[last] - gap
		if total <= room || worst < 0 {
			break
		}
		shown = append(shown[:worst], shown[worst+1:]...)
	}
	return shown
}

func (t *table) line(out *printer, row []string, shown []int) {
	var line strings.Builder
	s, used, space := out.screen, 0, 0
	for _, i := range shown {
		cell := row[i]
		if s.width > 0 {
			if t.columns[i].tail {
				cell = tail(cell, s.width-used)
			}
			cell = cut(cell, s.width-used)
		}
		pad := max(0, t.widths[i]-plain.Width(cell)) + gap
		used += plain.Width(cell) + pad
		if cell != "" {
			line.WriteString(strings.Repeat(" ", space))
			space = 0
		}
		if t.columns[i].state && s.color {
			out.text(line.String())
			line.Reset()
			out.state(cell)
		} else {
			line.WriteString(cell)
		}
		space += pad
	}
	line.WriteString("\n")
	out.text(line.String())
}

// tail returns a text that takes at most a number of cells. It removes the first parts of a message, which are the same in many messages,
// and keeps the end, which has the cause.
func tail(text string, room int) string {
	const mark = "…"
	if plain.Width(text) <= room {
		return text
	}
	for {
		_, rest, more := strings.Cut(text, ": ")
		if !more {
			break
		}
		if text = rest; plain.Width(mark+text) <= room {
			return mark + text
		}
	}
	at, used := 0, plain.Width(mark+text)
	for character, width := range plain.Characters(text) {
		if used <= room {
			break
		}
		at, used = at+len(character), used-width
	}
	if end := strings.IndexByte(text[at:], ' '); at > 0 && text[at-1] != ' ' && end > 0 && end < room/2 { // Half a word is useless.
		at += end + 1
	}
	return mark + text[at:]
}

// cut returns a text that takes at most a number of cells. The last one is "…" if the text is longer.
func cut(text string, room int) string {
	if plain.Width(text) <= room {
		return text
	}
	return firstCells(text, room-1, 0) + strings.Repeat("…", min(1, max(0, room)))
}

// firstCells returns the beginning of a text that takes at most a number of cells, and at least a number of bytes.
func firstCells(text string, room, least int) string {
	at, used := 0, 0
	for character, width := range plain.Characters(text) {
		if used += width; used > room && at >= least {
			break
		}
		at += len(character)
	}
	return text[:at]
}
