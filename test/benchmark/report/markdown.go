package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// scenarios is the order of the table.
var scenarios = []string{
	Quiet, First, All, Progressive, Back, Abort, Restart, RestartMidway, BrokerRestart, AgentsReturn, FirstOfMany, QuietOfMany, Alone, Beside, BesideWorst,
}

// Markdown returns the report of a run.
func (r *Run) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s. Agents report after %s, and ours counts a success after it has lasted for %s.\n",
		r.Began.Format("2 January 2006"), r.Machine, seconds(r.Delay), seconds(r.Settle))
	if r.Broker != "" {
		fmt.Fprintf(&b, "Works travel over %s.\n", r.Broker)
	}
	fmt.Fprintf(&b, "Made by `%s`.\n\n", r.Command)
	b.WriteString("CPU is the user and system time of the controller's process until it is idle. Times start at the write that triggers a scenario or, " +
		"for an abort, at the end of the deadline of the cluster whose failure exceeds the limit. ")
	if r.Broker != "" {
		b.WriteString("If the hub is restarted, CPU and memory are those of the new process, and if it is restarted on an idle fleet, times start at its start. " +
			"A write is the moment at which the agent has the work. \"Messages\" are the events that bring works to agents and reports to the hub. ")
	}
	b.WriteString("\n\n")
	r.writeFigures(&b)
	b.WriteString("\n\"Works\", \"status\" and \"other\" are requests of the controller that write ManifestWorks, that write the status of ManifestWorkReplicaSets, and all others except watches.\n")
	return b.String()
}

func (r *Run) writeFigures(b *strings.Builder) {
	table := newTable("scenario", "N", "sets", "", "CPU", "first write", "last write", "complete", "peak memory", "held", "works", "status", "other",
		"messages", "API server's memory", "broker's memory", "etcd")
	for _, scenario := range scenarios {
		for i := range r.Figures {
			if f := &r.Figures[i]; f.Scenario == scenario {
				table.row(f.cells()...)
			}
		}
	}
	if len(table.rows) > 2 {
		table.dense().write(b)
	}
}

func (f *Figures) cells() []string {
	cells := []string{f.Scenario, fmt.Sprint(f.Clusters), fmt.Sprint(f.Sets), f.Controller, seconds(f.CPU), "", "", "",
		positive(f.PeakMemory, bytes), positive(f.LiveHeap, bytes),
		fmt.Sprint(f.workWrites()), fmt.Sprint(f.statusWrites()), fmt.Sprint(f.otherRequests()),
		positive(float64(f.Messages), number), positive(f.ServerMemory, bytes), positive(f.BrokerMemory, bytes), positive(f.EtcdSize, bytes)}
	if f.Works > 0 {
		cells[5], cells[6], cells[7] = seconds(f.FirstWrite), seconds(f.LastWrite), seconds(f.Complete)
	}
	return cells
}

// positive formats a value. It returns an empty text for a value that was not measured.
func positive(value float64, write func(float64) string) string {
	if value <= 0 {
		return ""
	}
	return write(value)
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

// dense returns the table without its empty columns.
func (t *table) dense() *table {
	kept := &table{rows: make([][]string, len(t.rows))}
	for column := range t.rows[0] {
		filled := slices.ContainsFunc(t.rows[2:], func(cells []string) bool { return cells[column] != "" })
		for i := range t.rows {
			if filled {
				kept.rows[i] = append(kept.rows[i], t.rows[i][column])
			}
		}
	}
	return kept
}

// number formats a value with three significant digits, without an exponent.
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

// seconds formats a time in a suitable unit.
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

// bytes formats a size in a suitable unit.
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
