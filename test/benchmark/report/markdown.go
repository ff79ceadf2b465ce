package report

import (
	"fmt"
	"math"
	"strings"
)

// Markdown is the report of a run.
func (r *Run) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s. Agents answer after %s, and ours believes a success after it has seen it for %s.\nMade by `%s`.\n\n",
		r.Began.Format("2 January 2006"), r.Machine, seconds(r.Delay), seconds(r.Settle), r.Command)
	b.WriteString("Each goal is a ratio that may be at most its limit.\n\n")
	r.writeGoals(&b)
	b.WriteString("\nThe figures. CPU is user and system time of the controller's process until it rests; times run from the write that sets a scenario off, " +
		"for an abort from the end of the deadline of the cluster that is one failure too many. The floor is a loop of patches with nothing to decide, by the faster one of 16 and 64 workers; " +
		"for Progressive it writes a tenth, waits until all of it is answered and believed, and goes on. Where there are several rounds, the goals take the middle one.\n\n")
	r.writeFigures(&b)
	b.WriteString("\n\"Works\", \"status\" and \"other\" are requests of the controller that write ManifestWorks, the status of ManifestWorkReplicaSets, and all others but watches. " +
		"\"Others wait\" is how long a small read of somebody else took meanwhile, at the 99th percentile.\n")
	return b.String()
}

func (r *Run) writeGoals(b *strings.Builder) {
	table := newTable("goal", "N", "ours", "compared with", "ratio", "limit", "")
	for _, v := range r.judge() {
		n := ""
		if v.clusters > 0 {
			n = fmt.Sprint(v.clusters)
		}
		table.row(v.goal, n, v.ours, v.other, number(v.ratio), number(v.limit), v.String())
	}
	table.write(b)
}

func (r *Run) writeFigures(b *strings.Builder) {
	table := newTable("scenario", "N", "sets", "", "CPU", "first write", "last write", "complete", "allocated", "objects", "peak memory", "held", "works", "status", "other", "others wait")
	for _, scenario := range append(append([]string{}, scenarios...), FirstOfMany, QuietOfMany, Alone, Beside) {
		for i := range r.Figures {
			if f := &r.Figures[i]; f.Scenario == scenario {
				table.row(f.cells()...)
			}
		}
	}
	table.write(b)
}

func (f *Figures) cells() []string {
	who := f.Controller
	if f.Controller == Floor {
		who = fmt.Sprintf("floor, %d workers", f.Workers)
	}
	cells := []string{f.Scenario, fmt.Sprint(f.Clusters), fmt.Sprint(f.Sets), who, "", "", "", "", "", "", "", "", "", "", "", ""}
	if f.Controller != Floor {
		cells[4], cells[8], cells[9] = seconds(f.CPU), bytes(f.AllocatedBytes), number(f.AllocatedObjects)
		cells[12], cells[13], cells[14] = fmt.Sprint(f.workWrites()), fmt.Sprint(f.statusWrites()), fmt.Sprint(f.otherRequests())
	}
	if f.Works > 0 {
		cells[5], cells[6], cells[7] = seconds(f.FirstWrite), seconds(f.LastWrite), seconds(f.Complete)
	}
	if f.PeakMemory > 0 {
		cells[10] = bytes(f.PeakMemory)
	}
	if f.Others > 0 {
		cells[15] = seconds(f.Others)
	}
	if f.LiveHeap > 0 {
		cells[11] = bytes(f.LiveHeap)
	}
	return cells
}

// table is a Markdown table.
type table struct{ rows [][]string }

func newTable(header ...string) *table {
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	return &table{rows: [][]string{header, rule}}
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(b *strings.Builder) {
	for _, cells := range t.rows {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
}

// number has three significant digits, without an exponent.
func number(value float64) string {
	if value == 0 || math.IsNaN(value) || math.IsInf(value, 0) {
		return fmt.Sprint(value)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(value))))
	if digits <= 0 {
		return fmt.Sprintf("%.0f", value)
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.*f", digits, value), "0"), ".")
}

// seconds gives a time in the unit that suits it.
func seconds(value float64) string {
	switch {
	case value == 0:
		return "0 s"
	case math.Abs(value) < 1e-3:
		return number(value*1e6) + " µs"
	case math.Abs(value) < 1:
		return number(value*1e3) + " ms"
	}
	return number(value) + " s"
}

// bytes gives a size in the unit that suits it.
func bytes(value float64) string {
	switch {
	case math.Abs(value) < 1e3:
		return number(value) + " B"
	case math.Abs(value) < 1e6:
		return number(value/1e3) + " kB"
	case math.Abs(value) < 1e9:
		return number(value/1e6) + " MB"
	}
	return number(value/1e9) + " GB"
}

func exponentText(value float64) string { return "N^" + fmt.Sprintf("%.2f", value) }
