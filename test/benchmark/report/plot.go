package report

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// panel is one plot of several, both axes logarithmic: a power of N is a line, and its slope the exponent.
type panel struct {
	title string
	lines []line
}

type line struct {
	controller string
	points     []point
}

// The plot's measures, in pixels.
const (
	panelWidth, panelHeight = 320, 230
	marginLeft, marginTop   = 56, 34
	plotWidth, plotHeight   = 240, 150
	columns                 = 3
	legendHeight            = 30
)

var colours = map[string]string{Ours: "#1f77b4", Upstream: "#d62728", Floor: "#555555", throughServer: "#d62728"}

// throughServer is the line of this hub through the API server, beside that over a broker.
const throughServer = "through the API server"

// drawn are the lines of a run.
func (r *Run) drawn() []string {
	if r.overBroker() {
		return []string{Ours, throughServer}
	}
	return []string{Ours, Upstream, Floor}
}

// SVG is the plot of a run.
func (r *Run) SVG() string {
	panels := r.panels()
	rows := (len(panels) + columns - 1) / columns
	width, height := columns*panelWidth, rows*panelHeight+legendHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	for i, controller := range r.drawn() {
		x := marginLeft + i*120
		fmt.Fprintf(&b, `<rect x="%d" y="10" width="12" height="12" fill="%s"/><text x="%d" y="20">%s</text>`+"\n", x, colours[controller], x+18, controller)
	}
	for i := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d,%d)">`+"\n", i%columns*panelWidth, legendHeight+i/columns*panelHeight)
		panels[i].draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (r *Run) panels() []panel {
	var found []panel
	for _, wanted := range []struct {
		scenario, what string
		value          func(*Figures) float64
		controllers    []string
	}{
		{Quiet, "CPU", cpu, []string{Upstream, Ours}},
		{All, "CPU", cpu, []string{Upstream, Ours}},
		{Progressive, "CPU", cpu, []string{Upstream, Ours}},
		{Back, "CPU", cpu, []string{Upstream, Ours}},
		{All, "last write", lastWrite, []string{Upstream, Floor, Ours}},
		{Progressive, "last write", lastWrite, []string{Upstream, Floor, Ours}},
		{Back, "last write", lastWrite, []string{Upstream, Ours}},
		{Abort, "last write", lastWrite, []string{Floor, Ours}},
	} {
		p := panel{title: wanted.scenario + ": " + wanted.what}
		for _, controller := range wanted.controllers {
			if points := r.points(wanted.scenario, controller, wanted.value); len(points) > 0 {
				p.lines = append(p.lines, line{controller, points})
			}
		}
		if points := r.baselinePoints(wanted.scenario, wanted.value); len(points) > 0 {
			p.lines = append(p.lines, line{throughServer, points})
		}
		if len(p.lines) > 0 {
			found = append(found, p)
		}
	}
	return found
}

// axis maps values to pixels by their logarithm.
type axis struct{ low, high, length float64 }

// newAxis covers the values with some room, at least half a power of ten: 1, 2 or 5 times one is always in it.
func newAxis(values []float64, length float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, value := range values {
		if value > 0 {
			low, high = min(low, math.Log10(value)), max(high, math.Log10(value))
		}
	}
	if low > high {
		low, high = 0, 0
	}
	room := max(0.25, (high-low)*0.1)
	return axis{low: low - room, high: high + room, length: length}
}

func (a axis) at(value float64) float64 {
	return (math.Log10(value) - a.low) / (a.high - a.low) * a.length
}

func (p *panel) draw(b *strings.Builder) {
	var sizes, values []float64
	for _, l := range p.lines {
		for _, at := range l.points {
			sizes, values = append(sizes, float64(at.clusters)), append(values, at.value)
		}
	}
	x, y := newAxis(sizes, plotWidth), newAxis(values, plotHeight)
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", marginLeft, marginTop-12, html.EscapeString(p.title))
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>`+"\n", marginLeft, marginTop, plotWidth, plotHeight)
	p.drawTicks(b, x, y)
	for _, l := range p.lines {
		l.draw(b, x, y)
	}
}

// ticks are the values to mark: each power of ten or, where there are few, 2 and 5 times it too.
func (a axis) ticks() []float64 {
	steps := []float64{1}
	if a.high-a.low < 2 {
		steps = []float64{1, 2, 5}
	}
	var marks []float64
	for power := math.Floor(a.low); power <= a.high; power++ {
		for _, step := range steps {
			if mark := step * math.Pow(10, power); math.Log10(mark) >= a.low && math.Log10(mark) <= a.high {
				marks = append(marks, mark)
			}
		}
	}
	return marks
}

// drawTicks marks each size of a fleet, and some values.
func (p *panel) drawTicks(b *strings.Builder, x, y axis) {
	marked := map[int]bool{}
	for _, l := range p.lines {
		for _, at := range l.points {
			if marked[at.clusters] {
				continue
			}
			marked[at.clusters] = true
			fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", marginLeft+x.at(float64(at.clusters)), marginTop+plotHeight+14, at.clusters)
		}
	}
	for _, mark := range y.ticks() {
		height := marginTop + plotHeight - y.at(mark)
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`, marginLeft, marginLeft+plotWidth, height, height)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", marginLeft-4, height+4, seconds(mark))
	}
}

func (l *line) draw(b *strings.Builder, x, y axis) {
	colour := colours[l.controller]
	var path []string
	for _, at := range l.points {
		if at.value <= 0 {
			continue
		}
		px, py := marginLeft+x.at(float64(at.clusters)), marginTop+plotHeight-y.at(at.value)
		path = append(path, fmt.Sprintf("%.1f,%.1f", px, py))
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s, N=%d: %s</title></circle>`+"\n",
			px, py, colour, l.controller, at.clusters, html.EscapeString(seconds(at.value)))
	}
	if len(path) > 1 {
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.Join(path, " "), colour)
	}
}
