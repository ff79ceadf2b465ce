package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Limits of the goals over a broker.
const (
	// deliveredSmall and deliveredLarge are the seconds within which the last of 1,000 and of 10,000 works is at its agent.
	deliveredSmall, deliveredLarge = 3.5, 20.0
	small, large                   = 1000, 10000
	// restartSeconds is how soon a hub that starts writes for the first time.
	restartSeconds = 6.0
	// peakBytes is the most that it ever has in memory.
	peakBytes = 500e6
	// messagesPerWork are one to the agent and one back, and what is lost in a rounding.
	messagesPerWork = 2.05
	// fewMessages are those of single clusters, whatever the number of works: a report that sets an abort off, and what the hub asks of the
	// clusters that fail.
	fewMessages = 5.0
	// apiServerLimit is what the hub's CPU time may be of that through the API server.
	apiServerLimit = 1.0
)

// overBroker reports whether works travelled over a broker.
func (r *Run) overBroker() bool { return len(r.Figures) > 0 && r.Figures[0].Driver != "" }

// delivered is within what time the last work of a fleet should be delivered.
func delivered(clusters int) float64 {
	return max(deliveredSmall, deliveredLarge*float64(clusters)/large)
}

// judgeBroker compares a run over a broker with its goals. Most limits are absolute; the CPU time is compared with a run through the API
// server.
func (r *Run) judgeBroker() []verdict {
	var all []verdict
	all = append(all, r.judgeDelivery()...)
	all = append(all, r.judgeRestart()...)
	all = append(all, r.judgePeak()...)
	all = append(all, r.judgeBrokerCPU()...)
	all = append(all, r.judgeMessages()...)
	return append(all, r.judgeDisturbed()...)
}

func (r *Run) judgeDelivery() []verdict {
	var found []verdict
	for _, scenario := range []string{All, Abort} {
		for _, n := range r.sizes(scenario, Ours) {
			if n < small {
				continue
			}
			f, limit := r.find(scenario, Ours, n), delivered(n)
			found = append(found, verdict{
				goal: scenario + ": time until the last work is at its agent", clusters: n, ours: seconds(f.LastWrite), other: seconds(limit),
				ratio: f.LastWrite / limit, limit: 1,
			})
		}
	}
	return found
}

func (r *Run) judgeRestart() []verdict {
	var found []verdict
	for _, n := range r.sizes(Restart, Ours) {
		f := r.find(Restart, Ours, n)
		if f.FirstWrite <= 0 {
			continue // It never wrote: that is counted as missing.
		}
		found = append(found, verdict{
			goal: Restart + ": time until the first write", clusters: n, ours: seconds(f.FirstWrite), other: seconds(restartSeconds),
			ratio: f.FirstWrite / restartSeconds, limit: 1,
		})
	}
	return found
}

// judgePeak takes the most that any process of the hub had, whatever was restarted.
func (r *Run) judgePeak() []verdict {
	peaks := map[int]float64{}
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Controller == Ours && f.PeakMemory > 0 {
			peaks[f.Clusters] = max(peaks[f.Clusters], f.PeakMemory)
		}
	}
	var found []verdict
	for _, n := range slices.Sorted(maps.Keys(peaks)) {
		found = append(found, verdict{
			goal: "peak of the memory", clusters: n, ours: bytes(peaks[n]), other: bytes(peakBytes), ratio: peaks[n] / peakBytes, limit: 1,
		})
	}
	return found
}

func (r *Run) judgeBrokerCPU() []verdict {
	var found []verdict
	for _, scenario := range compared {
		for _, n := range r.sizes(scenario, Ours) {
			f := r.find(scenario, Ours, n)
			v := verdict{goal: scenario + ": CPU, of that through the API server", clusters: n, ours: seconds(f.CPU), limit: apiServerLimit}
			v.other, v.ratio = "no run of this size", math.NaN()
			if other := r.baseline(scenario, n); other != nil && other.CPU > 0 {
				v.other, v.ratio = seconds(other.CPU), f.CPU/other.CPU
			}
			found = append(found, v)
		}
	}
	return found
}

func (r *Run) judgeMessages() []verdict {
	var found []verdict
	for _, scenario := range compared {
		for _, n := range r.sizes(scenario, Ours) {
			f := r.find(scenario, Ours, n)
			works := float64(max(1, f.Works))
			per := float64(f.Messages) / works
			found = append(found, verdict{
				goal: scenario + ": messages per work, both ways", clusters: n, ours: fmt.Sprintf("%.2f", per), other: "2",
				ratio: per, limit: messagesPerWork + fewMessages/works,
			})
		}
	}
	return found
}

// judgeDisturbed counts what must not happen at all: a rollout without a failure that is aborted, and a work that never comes.
func (r *Run) judgeDisturbed() []verdict {
	var found []verdict
	for _, scenario := range []string{AgentsReturn, Restart, RestartMidway, BrokerRestart} {
		for _, n := range r.sizes(scenario, Ours) {
			f := r.find(scenario, Ours, n)
			found = append(found, verdict{
				goal: scenario + ": false aborts, and clusters without the version", clusters: n,
				ours: fmt.Sprintf("%d, %d of %d", f.Aborts, f.Missing, n), other: "0, 0", ratio: float64(f.Aborts + f.Missing),
			})
		}
	}
	return found
}
