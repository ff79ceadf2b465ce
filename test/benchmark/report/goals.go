package report

import (
	"fmt"
	"math"
)

// verdict is a goal, and how far a run is from it.
type verdict struct {
	goal     string
	clusters int
	// ours and other are what is compared.
	ours, other string
	// ratio is what may be at most limit. It is not a number where there is nothing to compare with: other says why.
	ratio, limit float64
}

// String reports whether the goal is met.
func (v *verdict) String() string {
	switch {
	case math.IsNaN(v.ratio):
		return "not measured"
	case v.ratio <= v.limit:
		return "met"
	case v.limit == 0:
		return "missed"
	}
	return fmt.Sprintf("missed by a factor of %s", number(v.ratio/v.limit))
}

// Limits of the goals, each a ratio.
const (
	quietLimit    = 1.0 / 1000
	objectsLimit  = 1.0
	wallLimit     = 1.15
	cpuLimit      = 1.0 / 10
	exponentLimit = 1.1
	// sameLimit is what still counts as the same: a hundredth of a second is measured with an error.
	sameLimit = 1.2
	// besideLimit is by how much a greedy tenant may slow another one's abort down.
	besideLimit = 1.5
	// firstWriteSeconds is how soon an abort writes for the first time.
	firstWriteSeconds = 0.1
)

// judge compares a run with the goals.
func (r *Run) judge() []verdict {
	var all []verdict
	if r.overBroker() {
		return append(all, r.judgeBroker()...)
	}
	all = append(all, r.judgeQuiet()...)
	all = append(all, r.judgeWalls()...)
	all = append(all, r.judgeCPU()...)
	all = append(all, r.judgeWrites()...)
	all = append(all, r.judgeMemory()...)
	all = append(all, r.judgeMany()...)
	all = append(all, r.judgeTenants()...)
	return append(all, r.judgeGrowth()...)
}

func (r *Run) judgeQuiet() []verdict {
	var found []verdict
	for _, n := range r.sizes(Quiet, Ours) {
		ours, upstream := r.find(Quiet, Ours, n), r.find(Quiet, Upstream, n)
		if upstream != nil && upstream.CPU > 0 {
			found = append(found, verdict{
				"status event that changes nothing: CPU, of upstream's", n, seconds(ours.CPU), seconds(upstream.CPU), ours.CPU / upstream.CPU, quietLimit,
			})
		}
		perWork := ours.AllocatedObjects / float64(n)
		found = append(found, verdict{
			"the same: objects allocated per work", n, number(perWork), "", perWork, objectsLimit,
		})
	}
	return found
}

func (r *Run) judgeWalls() []verdict {
	var found []verdict
	for _, scenario := range []string{All, Abort, Progressive} {
		for _, n := range r.sizes(scenario, Ours) {
			ours, floor := r.find(scenario, Ours, n), r.floor(scenario, n)
			if floor == nil && scenario == Abort {
				// It writes what an update writes. Runs of before have that floor only.
				floor = r.floor(All, n)
			}
			if floor == nil {
				continue
			}
			found = append(found, verdict{
				scenario + ": time until the last write, of the floor's", n, seconds(ours.LastWrite), seconds(floor.LastWrite), ours.LastWrite / floor.LastWrite, wallLimit,
			})
		}
	}
	for _, n := range r.sizes(Abort, Ours) {
		ours := r.find(Abort, Ours, n)
		found = append(found, verdict{
			Abort + ": time until the first write", n, seconds(ours.FirstWrite), seconds(firstWriteSeconds), ours.FirstWrite / firstWriteSeconds, 1,
		})
	}
	return found
}

func (r *Run) judgeCPU() []verdict {
	var found []verdict
	for _, scenario := range []string{All, Progressive, Back} {
		for _, n := range r.sizes(scenario, Ours) {
			ours, upstream := r.find(scenario, Ours, n), r.find(scenario, Upstream, n)
			if upstream == nil || upstream.CPU <= 0 {
				continue
			}
			found = append(found, verdict{
				scenario + ": CPU, of upstream's", n, seconds(ours.CPU), seconds(upstream.CPU), ours.CPU / upstream.CPU, cpuLimit,
			})
		}
	}
	return found
}

func (r *Run) judgeWrites() []verdict {
	var found []verdict
	for _, scenario := range []string{First, All, Progressive, Back, Abort} {
		for _, n := range r.sizes(scenario, Ours) {
			ours := r.find(scenario, Ours, n)
			if ours.Works == 0 {
				continue
			}
			found = append(found, verdict{
				scenario + ": requests that write works, per work", n, fmt.Sprint(ours.workWrites()), fmt.Sprint(ours.Works),
				float64(ours.workWrites()) / float64(ours.Works), 1,
			})
		}
		// Their number may grow with the time that a rollout takes, and no faster.
		writes, times := r.points(scenario, Ours, func(f *Figures) float64 { return float64(f.statusWrites()) }), r.points(scenario, Ours, complete)
		if grows, ok := exponent(writes); ok {
			if takes, ok := exponent(times); ok && takes > 0 {
				found = append(found, verdict{
					scenario + ": growth of the status writes, of the time's", 0, exponentText(grows), exponentText(takes), max(0, grows) / takes, exponentLimit,
				})
			}
		}
	}
	return found
}

func (r *Run) judgeMemory() []verdict {
	var found []verdict
	for _, n := range r.sizes(First, Ours) {
		ours, upstream := r.find(First, Ours, n), r.find(First, Upstream, n)
		if upstream == nil || upstream.LiveHeap <= 0 || ours.LiveHeap <= 0 {
			continue
		}
		found = append(found, verdict{
			"memory held per work, of upstream's", n, bytes(ours.LiveHeap / float64(n)), bytes(upstream.LiveHeap / float64(n)), ours.LiveHeap / upstream.LiveHeap, 1,
		})
	}
	return found
}

// judgeMany compares an event among many ManifestWorkReplicaSets with one where there is one.
func (r *Run) judgeMany() []verdict {
	var found []verdict
	for i := range r.Figures {
		many := &r.Figures[i]
		if many.Scenario != QuietOfMany || many.Controller != Ours || many.Sets < 2 {
			continue
		}
		one := r.find(QuietOfMany, Ours, many.Clusters)
		if one == nil || one.CPU <= 0 {
			continue
		}
		found = append(found, verdict{
			fmt.Sprintf("%s: CPU with %d of them, of one's", QuietOfMany, many.Sets), many.Clusters,
			seconds(many.CPU), seconds(one.CPU), many.CPU / one.CPU, sameLimit,
		})
	}
	return found
}

// judgeTenants compares an abort beside a greedy tenant with one alone.
func (r *Run) judgeTenants() []verdict {
	var found []verdict
	for _, scenario := range []string{Beside, BesideWorst} {
		for _, n := range r.sizes(scenario, Ours) {
			beside, alone := r.find(scenario, Ours, n), r.find(Alone, Ours, n)
			if alone == nil || alone.LastWrite <= 0 {
				continue
			}
			found = append(found, verdict{
				scenario + ": time until the last write, of the time alone", n, seconds(beside.LastWrite), seconds(alone.LastWrite), beside.LastWrite / alone.LastWrite, besideLimit,
			})
		}
	}
	return found
}

func (r *Run) judgeGrowth() []verdict {
	var found []verdict
	for _, scenario := range scenarios {
		ours, ok := exponent(r.points(scenario, Ours, cpu))
		if !ok {
			continue
		}
		other := ""
		if theirs, ok := exponent(r.points(scenario, Upstream, cpu)); ok {
			other = exponentText(theirs)
		}
		found = append(found, verdict{scenario + ": growth of the CPU", 0, exponentText(ours), other, ours, exponentLimit})
	}
	return found
}

// scenarios is the order of the tables.
var scenarios = []string{Quiet, First, All, Progressive, Back, Abort, Restart, RestartMidway, BrokerRestart, AgentsReturn}
