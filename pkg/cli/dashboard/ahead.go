package dashboard

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

func (s *Server) plan(w http.ResponseWriter, r *http.Request) {
	objects, err := s.rooms.objects(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		fail(w, err)
		return
	}
	plan, err := view.AheadOf(objects)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, plan)
}

// model is the model of the agents that the page sends. Shares are in percent.
type model struct {
	Fail         float64 `json:"fail"`
	Hang         float64 `json:"hang"`
	Offline      float64 `json:"offline"`
	Slow         float64 `json:"slow"`
	ApplySeconds float64 `json:"applySeconds"`
	Spread       float64 `json:"spread"`
	Seed         uint64  `json:"seed"`
}

// The size of a simulation of the page.
const (
	mostRuns       = 200
	simulationTime = 5 * time.Second
	// mostTime includes runs that have begun.
	mostTime = 15 * time.Second
	// mostSimulations is how many run at once: one that takes its time does not block the next.
	mostSimulations = 4
	slowFactor      = 5
	bins            = 24
)

// longestApply bounds the median time of a cluster, so that it can be a duration.
const longestApply = 24 * time.Hour

// Simulation is the result of a simulation.
type Simulation struct {
	Text     string       `json:"text"`
	Notes    []string     `json:"notes"`
	Exposed  Distribution `json:"exposed"`
	Duration Distribution `json:"duration"`
}

// Distribution is a histogram of the values of many runs.
type Distribution struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	Bins []int   `json:"bins"`
}

func (s *Server) simulate(w http.ResponseWriter, r *http.Request) {
	var of model
	if !decode(w, r, maxBody, &of) {
		return
	}
	if limit := longestApply.Seconds(); !(of.ApplySeconds > 0 && of.ApplySeconds <= limit) {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("applySeconds is %g: use a number above 0 and up to %g", of.ApplySeconds, limit))
		return
	}
	objects, err := s.rooms.objects(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		fail(w, err)
		return
	}
	in, err := view.SimulationOf(objects)
	if err != nil {
		fail(w, err)
		return
	}
	in.Seed = of.Seed
	in.Agents = forecast.Agents{
		Apply: time.Duration(of.ApplySeconds * float64(time.Second)), Spread: of.Spread, SlowFactor: slowFactor,
		Slow: of.Slow / 100, Fail: of.Fail / 100, Hang: of.Hang / 100, Offline: of.Offline / 100,
	}
	if err := in.Validate(); err != nil {
		fail(w, err)
		return
	}
	select {
	case s.simulating <- struct{}{}:
		defer func() { <-s.simulating }()
	default:
		refuse(w, http.StatusTooManyRequests, "several simulations are in progress: try again when one has ended")
		return
	}
	begin := s.now()
	found, err := simulation(in, func(limit time.Duration) func() bool {
		return func() bool { return s.now().Sub(begin) < limit && r.Context().Err() == nil }
	})
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, found)
}

// simulation plays some runs.
func simulation(in *forecast.Input, within func(time.Duration) func() bool) (*Simulation, error) {
	results, err := forecast.Runs(in, mostRuns, runtime.GOMAXPROCS(0), within(simulationTime), within(mostTime))
	if err != nil {
		return nil, err
	}
	summary := forecast.Summarize(results)
	found := &Simulation{Notes: []string{}, Text: fmt.Sprintf("%d runs with seed %d:", len(results), in.Seed)}
	for _, outcome := range []forecast.Outcome{forecast.Complete, forecast.Aborted, forecast.Stalled, forecast.Waiting} {
		if summary.Outcomes[outcome] > 0 {
			found.Text += fmt.Sprintf(" %.0f%% %s", 100*summary.Share(outcome), outcome)
		}
	}
	found.Text += "."
	if summary.Restore != nil {
		found.Text += fmt.Sprintf(" After an abort, all clusters are back within %s (median).",
			forecast.Seconds(summary.Restore.P50.Value).Round(time.Second))
	}
	if !in.Rules.Progressing {
		found.Notes = append(found.Notes, "The template has no condition rule for Progressing: a cluster succeeds as soon as its objects exist, "+
			"even if the workload is broken.")
	}
	found.Exposed = distribution(results, func(r *forecast.Result) float64 { return float64(r.Exposed) })
	found.Duration = distribution(results, func(r *forecast.Result) float64 { return r.Duration.Seconds() })
	return found, nil
}

func distribution(results []forecast.Result, value func(*forecast.Result) float64) Distribution {
	values := make([]float64, 0, len(results))
	for i := range results {
		values = append(values, value(&results[i]))
	}
	d := Distribution{P50: forecast.QuantileOf(values, 0.5).Value, P95: forecast.QuantileOf(values, 0.95).Value, Bins: make([]int, bins)}
	d.Low, d.High = slices.Min(values), slices.Max(values)
	for _, v := range values {
		at := 0
		if d.High > d.Low {
			at = min(bins-1, int((v-d.Low)/(d.High-d.Low)*bins))
		}
		d.Bins[at]++
	}
	return d
}
