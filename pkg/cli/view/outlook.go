package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// outlook derives the next actions of the hub and their times, if no cluster reports anything new.
type outlook struct {
	o        *Objects
	clusters []Cluster
	limits   []rollout.Limits
	ahead    *forecast.Outlook
}

// then returns the next actions of the hub and their times.
func (o *Objects) then(clusters []Cluster, known bool) []Fact {
	return o.facts(o.outlook(clusters, known), clusters, known)
}

// quiet reports whether the objects do not tell what comes next, or whether nothing is to come.
func (o *Objects) quiet(known bool) bool {
	state := StateOf(o.ReplicaSet)
	return !known || !o.ReplicaSet.DeletionTimestamp.IsZero() || state == workv1alpha1.StateInvalid || state == workv1alpha1.StateComplete
}

// outlook returns the outlook of a rollout; nil if it is not in progress, or if no hub acts.
func (o *Objects) outlook(clusters []Cluster, known bool) *outlook {
	if o.quiet(known) || o.aborted() || len(Alarms(o)) > 0 {
		return nil
	}
	s := o.snapshot()
	return &outlook{o: o, clusters: clusters, limits: rollout.LimitsOf(s), ahead: forecast.OutlookOf(s)}
}

// facts returns the next actions of the hub and their times: first the present facts, then the future ones by time. Every screen shows
// these facts, so that no two screens differ. l is nil if there is no outlook.
func (o *Objects) facts(l *outlook, clusters []Cluster, known bool) []Fact {
	switch {
	case len(Alarms(o)) > 0:
		return []Fact{{Text: alarmHub}}
	case o.quiet(known):
		return nil
	case l == nil:
		return o.restores(clusters)
	}
	facts := append(l.now(), l.later()...)
	slices.SortStableFunc(facts, func(a, b Fact) int { return a.At.Compare(b.At) })
	return facts
}

// now returns the facts without a time.
func (l *outlook) now() (facts []Fact) {
	if l.o.ReplicaSet.Spec.Paused {
		facts = append(facts, Fact{
			level: LevelWarn, Text: "paused: the hub writes to no cluster, and aborts nothing, until somebody resumes the rollout",
		})
	}
	endless := false
	for i := range l.limits {
		limits := &l.limits[i]
		if limits.Err != nil {
			continue
		}
		if limits.Halted {
			facts = append(facts, Fact{level: LevelBad, Text: l.in(limits) + l.halted(limits)})
		}
		if open := l.count(limits, StateInFlight, StateDegraded, StateRejected); limits.Deadline == 0 && open > 0 {
			text := fmt.Sprintf("no deadline: the hub waits for %s without end, because progressDeadline is None", countOf(open))
			if endless = limits.Halted; endless {
				text = "no deadline: stays like this until somebody acts, because progressDeadline is None"
			}
			facts = append(facts, Fact{Text: l.in(limits) + text})
		}
	}
	if l.ahead.Stalled && len(l.ahead.Failing) == 0 && !endless {
		facts = append(facts, Fact{level: LevelBad, Text: "stays like this until somebody acts"})
	}
	return facts
}

// sameWave is the longest time between the deadlines of clusters that the outlook shows as one failure: the hub writes a wave of clusters
// within a few seconds.
const sameWave = 5 * time.Second

// later returns the facts with a time. An abort ends the outlook.
func (l *outlook) later() (facts []Fact) {
	ahead, told := l.ahead, false
	for i, stop := range ahead.Stops {
		if stop != nil {
			told = true
			facts = append(facts, Fact{
				At: stop.At, level: l.urgency(stop), Text: l.failure(&l.limits[i], stop) + ": the hub starts no further cluster" + l.blocked(i),
			})
		}
	}
	if ahead.Abort != nil {
		return append(facts, l.abort())
	}
	if len(ahead.Failing) == 0 {
		return facts
	}
	first, last := &ahead.Failing[0], &ahead.Failing[len(ahead.Failing)-1]
	failing, together := l.failing(), last.At.Sub(first.At) <= sameWave
	switch {
	case ahead.Stalled && together:
		facts = append(facts, Fact{At: last.At, Text: fail(failing) + ": then the rollout stays like this until somebody acts"})
	case ahead.Stalled:
		facts = append(facts, Fact{At: last.At, Text: "the last of " + rollout.Names(failing) +
			" fails: then the rollout stays like this until somebody acts"})
	case !told && together:
		facts = append(facts, Fact{At: first.At, Text: fail(failing) + l.tolerated(first.Placement)})
	case !told:
		facts = append(facts, Fact{At: first.At, Text: "the first of " + rollout.Names(failing) + " fails" + l.tolerated(first.Placement)})
	}
	return facts
}

// fail says that some clusters fail.
func fail(clusters []string) string {
	if len(clusters) == 1 {
		return clusters[0] + " fails"
	}
	return rollout.Names(clusters) + " fail"
}

// abort returns the abort as a fact. One that is due already has no time.
func (l *outlook) abort() Fact {
	turn := l.ahead.Abort
	fact := Fact{At: turn.At, level: l.urgency(turn)}
	for i := range l.limits {
		if l.limits[i].Placement == turn.Placement {
			fact.Text = l.failure(&l.limits[i], turn)
			break
		}
	}
	update := l.o.revisionAt(l.o.ReplicaSet.Status.UpdateRevision)
	back := fmt.Sprintf("AbortAll returns %s to revision %s", countOf(l.o.having(&update)),
		numberOf(l.o.numbers(), l.o.ReplicaSet.Status.CurrentRevision))
	if !turn.At.After(l.o.Now) {
		fact.At = time.Time{}
	}
	if l.o.ReplicaSet.Spec.Paused {
		back = "the abort is due, and waits for the end of the pause: then " + back
	}
	fact.Text += ": " + back
	return fact
}

// urgency returns the level of a turn: bad if clusters that are already unhealthy lead to it, or if it is near. Before that, the clusters
// in flight are expected to succeed, and the turn needs no attention.
func (l *outlook) urgency(turn *forecast.Turn) Level {
	sick := map[string]bool{}
	for i := range l.clusters {
		c := &l.clusters[i]
		sick[c.Name] = c.State == StateDegraded || c.State == StateRejected
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
		if failed <= limits.MaxFailures && turn.At.Sub(l.o.Now) >= limits.Deadline/4 {
			return ""
		}
	}
	return LevelBad
}

// failure describes the failure that is one too many.
func (l *outlook) failure(limits *rollout.Limits, turn *forecast.Turn) string {
	text := ordinal(limits.MaxFailures+1) + " failure"
	if limits.PerGroup || turn.Failed <= limits.MaxFailures { // A decision group has its own limit.
		text = fmt.Sprintf("failure %d, too many for a decision group", turn.Failed)
	} else {
		text += ", " + l.allowed(limits)
	}
	return l.in(limits) + text
}

// blocked returns why failures of a placementRef with AbortAll abort nothing.
func (l *outlook) blocked(ref int) string {
	if l.o.ReplicaSet.Spec.PlacementRefs[ref].RolloutStrategy.FailureStrategy != workv1alpha1.AbortAll {
		return ""
	}
	switch l.ahead.Blocked {
	case rollout.BlockedByAbsence:
		return ", because AbortAll has no revision to return to"
	case rollout.BlockedByUndo:
		return ", because AbortAll does not apply to an undo"
	}
	return ""
}

// tolerated says that the rollout continues although clusters of a placementRef fail.
func (l *outlook) tolerated(placement string) string {
	for i := range l.limits {
		if limits := &l.limits[i]; limits.Placement == placement && !limits.PerGroup {
			return "; " + l.allowed(limits) + ": the rollout continues"
		}
	}
	return ": the rollout continues"
}

// halted describes why a placementRef starts nothing, and what ends that.
func (l *outlook) halted(limits *rollout.Limits) string {
	var parts []string
	for _, state := range []State{StateFailed, StateDegraded, StateAgentUnknown, StateTerminationTimedOut} {
		if n := l.count(limits, state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[state]))
		}
	}
	text := "halted: " + cmp.Or(strings.Join(parts, ", "), "earlier failures")
	if !limits.PerGroup {
		text += ", " + l.allowed(limits)
	}
	effect := ": nothing starts"
	if l.count(limits, StateWaiting) == 0 {
		effect = ": the rollout does not complete"
	}
	switch {
	case limits.Excess == 1:
		return text + effect + " until 1 recovers"
	case limits.Excess > 1:
		return fmt.Sprintf("%s%s until %d recover", text, effect, limits.Excess)
	}
	return text + effect
}

// words are the states that halt a placementRef, as texts.
var words = map[State]string{
	StateFailed: "failed", StateDegraded: "degraded", StateRejected: "rejected", StateAgentUnknown: "with an unknown agent",
	StateTerminationTimedOut: "with a deletion that timed out",
}

// allowed describes maxFailures of a placementRef.
func (l *outlook) allowed(limits *rollout.Limits) string {
	for i := range l.o.ReplicaSet.Spec.PlacementRefs {
		ref := &l.o.ReplicaSet.Spec.PlacementRefs[i]
		if text := maxFailures(ref); ref.Name == limits.Placement && strings.HasSuffix(text, "%") {
			return fmt.Sprintf("maxFailures %s (%d)", text, limits.MaxFailures)
		}
	}
	return fmt.Sprintf("maxFailures %d", limits.MaxFailures)
}

// in names a placementRef, if there are several.
func (l *outlook) in(limits *rollout.Limits) string {
	if len(l.limits) < 2 {
		return ""
	}
	return "placement " + limits.Placement + ": "
}

// count returns how many clusters of a placementRef are in some states.
func (l *outlook) count(limits *rollout.Limits, states ...State) (n int) {
	for i := range l.clusters {
		if c := &l.clusters[i]; c.Placement == limits.Placement && slices.Contains(states, c.State) {
			n++
		}
	}
	return n
}

// failing returns the names of the clusters that fail, sorted.
func (l *outlook) failing() (clusters []string) {
	for i := range l.ahead.Failing {
		clusters = append(clusters, l.ahead.Failing[i].Cluster)
	}
	slices.Sort(clusters)
	return clusters
}

// firstNames names the first of some clusters.
func firstNames(clusters []string) string {
	const shown = 3
	if len(clusters) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(clusters[:shown], ", "), len(clusters)-shown)
	}
	return strings.Join(clusters, ", ")
}

// ordinal returns a number as an English ordinal.
func ordinal(n int) string {
	suffix := "th"
	if tens := n % 100; tens < 11 || tens > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// restores returns what comes after an abort.
func (o *Objects) restores(clusters []Cluster) []Fact {
	current := numberOf(o.numbers(), o.ReplicaSet.Status.CurrentRevision)
	counts := map[State]int{}
	for i := range clusters {
		counts[clusters[i].State]++
	}
	var facts []Fact
	add := func(level Level, format string, args ...any) {
		facts = append(facts, Fact{level: level, Text: fmt.Sprintf(format, args...)})
	}
	if o.ReplicaSet.Spec.Paused {
		add(LevelBad, "paused: the abort stops where it is until somebody resumes the rollout")
	}
	if n := counts[StateRestoring]; n > 0 {
		add(LevelBad, "the hub waits for %s to confirm revision %s; no deadline ends this", countOf(n), current)
	}
	if n := counts[StateRejected]; n > 0 {
		add(LevelBad, "the API server rejects revision %s on %s: the hub tries again at least once a minute", current, countOf(n))
	}
	if counts[StateSucceeded] == len(clusters) {
		add(LevelWarn, "every cluster has revision %s again: stays like this until the template changes or somebody retries", current)
	}
	return facts
}
