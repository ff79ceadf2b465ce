package report

import "fmt"

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
)

// overBroker reports whether works travelled over a broker.
func (r *Run) overBroker() bool { return len(r.Figures) > 0 && r.Figures[0].Driver != "" }

// delivered is within what time the last work of a fleet should be delivered.
func delivered(clusters int) float64 {
	return max(deliveredSmall, deliveredLarge*float64(clusters)/large)
}

// judgeBroker compares a run over a broker with its goals. Their limits are absolute: there is nothing to compare it with.
func (r *Run) judgeBroker() []verdict {
	var found []verdict
	for _, scenario := range []string{First, All, Abort} {
		for _, n := range r.sizes(scenario, Ours) {
			f := r.find(scenario, Ours, n)
			if n >= small && scenario != First {
				limit := delivered(n)
				found = append(found, verdict{scenario + ": time until the last work is at its agent", n, seconds(f.LastWrite), seconds(limit), f.LastWrite / limit, 1})
			}
			per := float64(f.Messages) / float64(max(1, f.Works))
			found = append(found, verdict{scenario + ": messages per work, both ways", n, fmt.Sprintf("%.2f", per), fmt.Sprint(messagesPerWork), per, messagesPerWork})
		}
	}
	for _, n := range r.sizes(Restart, Ours) {
		f := r.find(Restart, Ours, n)
		found = append(found, verdict{Restart + ": time until the first write", n, seconds(f.FirstWrite), seconds(restartSeconds), f.FirstWrite / restartSeconds, 1})
	}
	for _, n := range r.sizes(Abort, Ours) {
		f := r.find(Abort, Ours, n)
		found = append(found, verdict{"peak of the memory", n, bytes(f.PeakMemory), bytes(peakBytes), f.PeakMemory / peakBytes, 1})
	}
	return found
}
