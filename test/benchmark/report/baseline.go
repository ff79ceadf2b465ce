package report

import (
	"fmt"
	"slices"
	"time"
)

// Baseline are the figures of this hub through the API server, which a run over a broker is compared with.
type Baseline struct {
	// File is where they were read.
	File string `json:"file"`
	// Began and Machine are those of that run.
	Began   time.Time `json:"began"`
	Machine string    `json:"machine"`
	Figures []Figures `json:"figures"`
}

// compared are the scenarios that are the same over a broker and through the API server.
var compared = []string{First, All, Progressive, Back, Abort}

// NewBaseline keeps what a run over a broker can be compared with.
func NewBaseline(file string, run *Run) (Baseline, error) {
	b := Baseline{File: file, Began: run.Began, Machine: run.Machine}
	for i := range run.Figures {
		f := &run.Figures[i]
		if f.Driver != "" {
			return b, fmt.Errorf("%s is of a run over a broker: name one through the API server", file)
		}
		if f.Controller == Ours && f.Sets == 1 && slices.Contains(compared, f.Scenario) {
			b.Figures = append(b.Figures, *f)
		}
	}
	return b, nil
}

// baselinePoints are the values of a scenario through the API server, for the fleets of this run.
func (r *Run) baselinePoints(scenario string, value func(*Figures) float64) []point {
	var points []point
	for _, n := range r.sizes(scenario, Ours) {
		if f := r.baseline(scenario, n); f != nil {
			points = append(points, point{n, value(f)})
		}
	}
	return points
}

// baseline returns the figures of a scenario through the API server, of the first file that has them; nil for none.
func (r *Run) baseline(scenario string, clusters int) *Figures {
	for i := range r.Baselines {
		of := Run{Figures: r.Baselines[i].Figures}
		if f := of.find(scenario, Ours, clusters); f != nil {
			return f
		}
	}
	return nil
}
