package forecast

import (
	"math"
	"math/rand/v2"
	"time"
)

// What a cluster does with the new revision:
//
//  1. Each cluster of a run draws three numbers, in the order of the clusters, regardless of the strategy. So variants of an input with the
//     same seed have the same clusters.
//  2. The first number decides its fate. The other two are the times that it needs for the new revision and, after an abort, for the older
//     revision.
//  3. Draws are independent: clusters do not fail together.

// Fate is the outcome for a cluster that gets the new revision.
type Fate string

// The fates.
const (
	Healthy Fate = "Healthy"
	Slow    Fate = "Slow"
	// Fails means that the workload breaks: the agent reports Degraded if the template has a rule for it, and never reports success.
	Fails Fate = "Fails"
	// Hangs means that the agent reports neither success nor Degraded.
	Hangs   Fate = "Hangs"
	Offline Fate = "Offline"
	// Held means that the cluster is on hold.
	Held Fate = "Held"
)

// draw holds the random values of a cluster.
type draw struct {
	fate Fate
	// forward is the time until the agent reports the new revision. back is the time until it reports the older revision after an abort.
	forward, back time.Duration
}

// longest bounds a drawn time, so that the simulated clock does not overflow.
const longest = 365 * 24 * time.Hour

func (a *Agents) draw(random *rand.Rand, cluster string) draw {
	u, forward, back := random.Float64(), random.NormFloat64(), random.NormFloat64()
	d := draw{fate: a.fateOf(u), forward: a.time(forward), back: a.time(back)}
	if fate, set := a.Fates[cluster]; set {
		d.fate = fate
	}
	if d.fate == Slow {
		d.forward, d.back = scaled(d.forward, a.SlowFactor), scaled(d.back, a.SlowFactor)
	}
	return d
}

func (a *Agents) fateOf(u float64) Fate {
	for _, share := range []struct {
		fate Fate
		size float64
	}{{Fails, a.Fail}, {Hangs, a.Hang}, {Offline, a.Offline}, {Slow, a.Slow}, {Held, a.Held}} {
		if u < share.size {
			return share.fate
		}
		u -= share.size
	}
	return Healthy
}

func (a *Agents) time(normal float64) time.Duration {
	return scaled(a.Apply, math.Exp(a.Spread*normal))
}

func scaled(d time.Duration, by float64) time.Duration {
	return time.Duration(min(float64(d)*by, float64(longest)))
}

// report is an agent's report about a revision; nothing if the agent does not report.
type report uint8

const (
	nothing report = iota
	success
	degraded
)

// answer returns the report of a cluster's agent about a revision under the rules in its template, and the time until that report. The
// older revision succeeds everywhere. A success gate opens when the workload succeeds, and applies only to the newer revision.
func (d *draw) answer(rules Rules, revision string, gated bool) (says report, after time.Duration) {
	after, breaks := d.forward, d.fate == Fails || d.fate == Hangs
	if revision == older {
		after, breaks = d.back, false
	}
	switch {
	case d.fate == Offline:
		return nothing, 0
	case breaks && d.fate == Fails && rules.Degraded:
		return degraded, after
	case !rules.Progressing && (!gated || revision == older):
		return success, min(after, Report) // The objects exist, even if the workload fails.
	case breaks:
		return nothing, 0
	}
	return success, after
}
