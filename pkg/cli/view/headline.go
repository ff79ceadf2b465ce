package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
)

// Headline is the state in one sentence: what is true now, or what comes next. A screen that shows it fills in the time: "In 25s, 86
// clusters return to revision 6."
type Headline struct {
	Before string `json:"before"`
	// At is the time that the sentence names; zero for none.
	At    time.Time `json:"at,omitzero"`
	After string    `json:"after,omitempty"`
	Level Level     `json:"level"`
}

// Level is how much a headline needs somebody's attention.
type Level string

// The levels.
const (
	LevelGood Level = "good"
	LevelBusy Level = "busy"
	LevelWarn Level = "warn"
	LevelBad  Level = "bad"
)

func says(level Level, format string, args ...any) Headline {
	return Headline{Before: fmt.Sprintf(format, args...), Level: level}
}

// comes returns the headline of a fact with a time.
func comes(level Level, at time.Time, what string) Headline {
	return Headline{Before: "In ", At: at, After: ", " + what + ".", Level: level}
}

// headline returns the headline of a view, of which everything else is known. l is its outlook; nil if there is none.
func (o *Objects) headline(f *Fleet, l *outlook, clusters []Cluster, known bool) Headline {
	rs := o.ReplicaSet
	update := numberOf(o.numbers(), rs.Status.UpdateRevision)
	switch {
	case len(f.Alarms) > 0:
		return says(LevelBad, "%s. What you see may be old.", sentence(f.Alarms[0].Text))
	case f.State == workv1alpha1.StateInvalid:
		return says(LevelBad, "The hub can’t follow the spec, and changes nothing until somebody corrects it.")
	case o.aborted() && known:
		return o.restoring(clusters)
	case l != nil:
		return l.headline(f, update)
	case f.State == workv1alpha1.StateComplete && known && len(clusters) > 0:
		return complete(clusters, update)
	}
	return says(levels[f.State], "%s.", sentence(f.Summary))
}

// levels are the levels of states about which nothing else is known.
var levels = map[workv1alpha1.State]Level{
	workv1alpha1.StateComplete: LevelGood, workv1alpha1.StateRollingOut: LevelBusy, workv1alpha1.StatePaused: LevelWarn,
	workv1alpha1.StateDeleting: LevelWarn, workv1alpha1.StateStalled: LevelBad, workv1alpha1.StateAborting: LevelBad,
	workv1alpha1.StateAborted: LevelBad,
}

// complete returns the headline after a rollout.
func complete(clusters []Cluster, update string) Headline {
	done, failed := countIn(clusters, StateSucceeded), countIn(clusters, StateFailed)
	text := fmt.Sprintf("%d of %d clusters run revision %s", done, len(clusters), update)
	switch {
	case done == len(clusters):
		return says(LevelGood, "%s.", text)
	case failed > 0:
		return says(LevelWarn, "%s; %d failed, and maxFailures allows that.", text, failed)
	}
	return says(LevelWarn, "%s. The others have changed since the rollout was complete.", text)
}

// restoring returns the headline after an abort.
func (o *Objects) restoring(clusters []Cluster) Headline {
	current := numberOf(o.numbers(), o.ReplicaSet.Status.CurrentRevision)
	var left []string
	for i := range clusters {
		if !clusters[i].done() {
			left = append(left, clusters[i].Name)
		}
	}
	switch {
	case len(left) == 0:
		return says(LevelWarn, "The rollout was aborted: %d of %d clusters run revision %s again.", len(clusters), len(clusters), current)
	case o.ReplicaSet.Spec.Paused:
		return says(LevelBad, "The abort waits for the end of the pause: %s to return to revision %s.", countOf(len(left)), current)
	case len(left) <= 3:
		return says(LevelBad, "Every other cluster is back at revision %s; still to return: %s.", current, strings.Join(left, ", "))
	}
	return says(LevelBad, "%s still have to return to revision %s; %d of %d run it.", countOf(len(left)), current,
		len(clusters)-len(left), len(clusters))
}

// headline returns the headline of a rollout that is not aborted.
func (l *outlook) headline(f *Fleet, update string) Headline {
	ahead := l.ahead
	switch {
	case l.o.ReplicaSet.Spec.Paused:
		return l.paused()
	case ahead.Abort != nil && !ahead.Abort.At.After(l.o.Now):
		return says(LevelBad, "Too many clusters have failed: %s.", l.returns())
	case ahead.Abort != nil && l.looms(ahead.Abort):
		return comes(LevelBad, ahead.Abort.At, l.returns())
	}
	if text := l.halt(); text != "" {
		if f.State == workv1alpha1.StateStalled {
			text = "the rollout is stalled: " + text
		}
		return says(LevelBad, "%s.", sentence(text))
	}
	if ahead.Stalled && len(ahead.Failing) == 0 {
		return says(LevelBad, "The rollout is stalled until somebody acts: %s.", f.Summary)
	}
	for _, stop := range ahead.Stops {
		if stop != nil && l.looms(stop) {
			return comes(LevelBad, stop.At, "too many clusters have failed, and the hub starts no further cluster")
		}
	}
	return l.progress(f, update)
}

// paused returns the headline of a rollout that is paused.
func (l *outlook) paused() Headline {
	switch abort := l.ahead.Abort; {
	case abort == nil || !l.looms(abort):
		return says(LevelWarn, "Paused: the hub writes to no cluster until somebody resumes the rollout.")
	case !abort.At.After(l.o.Now):
		return says(LevelBad, "Paused: the hub writes to no cluster, and an abort that is due has to wait.")
	default:
		return comes(LevelBad, abort.At, "an abort falls due and has to wait, because the rollout is paused")
	}
}

// looms reports whether a turn is to be expected: clusters that are sick already lead to it, or it is near. Before that, the clusters that
// are in flight are expected to succeed.
func (l *outlook) looms(turn *forecast.Turn) bool {
	sick := map[string]bool{}
	for i := range l.clusters {
		sick[l.clusters[i].Name] = slices.Contains([]State{StateDegraded, StateRejected}, l.clusters[i].State)
	}
	for i := range l.limits {
		limits := &l.limits[i]
		if limits.Placement != turn.Placement {
			continue
		}
		failed := limits.Failed
		for _, failing := range l.ahead.Failing {
			if failing.Placement == turn.Placement && sick[failing.Cluster] {
				failed++
			}
		}
		return failed > limits.MaxFailures || turn.At.Sub(l.o.Now) < limits.Deadline/4
	}
	return true
}

// halt describes the first placementRef that is halted; empty if none is.
func (l *outlook) halt() string {
	for i := range l.limits {
		limits := &l.limits[i]
		if limits.Err != nil || !limits.Halted {
			continue
		}
		text := l.in(limits) + strings.TrimPrefix(l.halted(limits), "halted: ")
		if limits.Excess > 0 {
			text += ", or somebody acts"
		}
		return text
	}
	return ""
}

// progress returns the headline of a rollout that proceeds.
func (l *outlook) progress(f *Fleet, update string) Headline {
	done, total := countIn(l.clusters, StateSucceeded), len(l.clusters)
	if total == 0 {
		return says(LevelWarn, "No cluster is selected.")
	}
	text := fmt.Sprintf("%d of %d clusters run revision %s.", done, total, update)
	level := LevelBusy
	if len(l.ahead.Failing) > 0 && countIn(l.clusters, StateDegraded, StateRejected, StateFailed) > 0 {
		level = LevelWarn
	}
	if f.Estimate == nil {
		return says(level, "%s", text)
	}
	return Headline{Before: text + " The rest is expected in ", At: f.Estimate.Rollout, After: ".", Level: level}
}

// returns describes an abort.
func (l *outlook) returns() string {
	update := l.o.revisionAt(l.o.ReplicaSet.Status.UpdateRevision)
	verb := "return"
	n := l.o.having(&update)
	if n == 1 {
		verb = "returns"
	}
	return fmt.Sprintf("%s %s to revision %s", countOf(n), verb, numberOf(l.o.numbers(), l.o.ReplicaSet.Status.CurrentRevision))
}

// mark sets the limits of the bars of placementRefs.
func (l *outlook) mark(bars []Bar) {
	for i := range bars {
		for k := range l.limits {
			limits := &l.limits[k]
			if bars[i].Group != "" || bars[i].Placement != limits.Placement || limits.Err != nil || limits.PerGroup {
				continue
			}
			bars[i].Limit, bars[i].LimitText = limits.MaxFailures+1, "stop at the "
			if limits.AbortAll && l.ahead.Blocked == "" {
				bars[i].LimitText = "abort at the "
			}
			bars[i].LimitText += ordinal(bars[i].Limit) + " failure"
		}
	}
}

func countIn(clusters []Cluster, states ...State) (n int) {
	for i := range clusters {
		for _, state := range states {
			if clusters[i].State == state {
				n++
			}
		}
	}
	return n
}

// sentence begins a text with a capital letter.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
