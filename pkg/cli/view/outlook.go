package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// outlook derives the next actions of the hub and their times, if no cluster reports anything new.
type outlook struct {
	o        *Objects
	clusters []Cluster
	limits   []rollout.Limits
	ahead    *forecast.Outlook
}

// quiet reports whether there is nothing to predict: the objects do not show the next event, or there is none.
func (o *Objects) quiet() bool {
	_, known := o.clusters()
	state := StateOf(o.ReplicaSet)
	return !known || !o.ReplicaSet.DeletionTimestamp.IsZero() || state == workv1alpha1.StateInvalid || state == workv1alpha1.StateComplete
}

// outlook returns the outlook of a rollout; nil if it is not in progress, or if no hub acts.
func (o *Objects) outlook() *outlook {
	if o.quiet() || o.aborted() || len(Alarms(o)) > 0 {
		return nil
	}
	clusters, _ := o.clusters()
	return &outlook{o: o, clusters: clusters, limits: rollout.LimitsOf(o.snapshot()), ahead: forecast.OutlookOf(o.snapshot())}
}

// then returns the next actions of the hub and their times: first the present facts, and then the future facts by time. All screens show
// these facts, so that they agree.
func (o *Objects) then() []Fact {
	switch {
	case len(Alarms(o)) > 0:
		return []Fact{{Text: alarmHub}}
	case o.quiet():
		return nil
	case o.aborted():
		return o.restores()
	}
	l := Prepared(o).known.outlook()
	facts := slices.Concat(l.now(), l.later(), l.missing())
	slices.SortStableFunc(facts, func(a, b Fact) int { return a.At.Compare(b.At) })
	return facts
}

// now returns the facts without a time.
func (l *outlook) now() (facts []Fact) {
	if l.o.ReplicaSet.Spec.Paused {
		facts = append(facts, Fact{
			level: LevelWarn, Text: "paused: the hub writes to no cluster, and aborts nothing, until a user resumes the rollout",
		})
	}
	if l.ahead.Unknown {
		facts = append(facts, Fact{level: LevelWarn, Text: "the clusters of a Placement are unknown: until they are known, " +
			"the hub starts no cluster, no cluster fails, and nothing is aborted; deadlines keep running"})
	}
	endless := false
	for i := range l.limits {
		limits := &l.limits[i]
		if limits.Err != nil {
			continue
		}
		if limits.Halted {
			facts = append(facts, Fact{level: LevelBad, Text: l.in(i) + l.halted(i)})
		}
		open := l.count(limits, rollout.PhaseInFlight, rollout.PhaseValidating, rollout.PhaseDegraded, StateRejected)
		if limits.Deadline == 0 && open > 0 {
			text := fmt.Sprintf("no deadline: the hub waits for %s indefinitely, because progressDeadline is None", countOf(open))
			if endless = limits.Halted; endless {
				text = "no deadline: the rollout does not change until a user acts, because progressDeadline is None"
			}
			facts = append(facts, Fact{Text: l.in(i) + text})
		}
	}
	if l.ahead.Stalled && len(l.ahead.Failing) == 0 && !endless {
		facts = append(facts, Fact{level: LevelBad, Text: "the rollout does not change until a user acts"})
	}
	return facts
}

// sameWave is the longest time between the deadlines of clusters that the outlook shows as one failure: the hub writes a wave of clusters
// within a few seconds.
const sameWave = 5 * time.Second

// later returns the facts with a time. An abort ends the outlook.
func (l *outlook) later() (facts []Fact) {
	ahead := l.ahead
	for i := range ahead.Stops {
		stop := &ahead.Stops[i]
		failure := l.failure(stop, l.limits[stop.Ref].MaxFailures)
		facts = append(facts, Fact{
			At: stop.At, level: l.urgency(stop), Text: failure + ": the hub starts no further clusters" + l.blocked(stop.Ref),
		})
	}
	switch {
	case ahead.Abort != nil:
		return append(facts, l.abort())
	case len(ahead.Failing) == 0, len(facts) > 0 && !ahead.Stalled:
		return facts
	}
	names := make([]string, 0, len(ahead.Failing))
	for i := range ahead.Failing {
		names = append(names, ahead.Failing[i].Cluster)
	}
	slices.Sort(names)
	first, last := &ahead.Failing[0], &ahead.Failing[len(ahead.Failing)-1]
	at, which, effect := first.At, "first", l.tolerated(first.Ref)
	if ahead.Stalled {
		at, which, effect = last.At, "last", ": then the rollout does not change until a user acts"
	}
	text := "the " + which + " of " + rollout.Names(names) + " fails"
	switch {
	case len(names) == 1:
		text = names[0] + " fails"
	case last.At.Sub(first.At) <= sameWave:
		text = rollout.Names(names) + " fail"
	}
	return append(facts, Fact{At: at, Text: text + effect})
}

// missing returns the fact that a missing decision group stalls the rollout.
func (l *outlook) missing() []Fact {
	g := l.ahead.Missing
	if g == nil {
		return nil
	}
	return []Fact{{At: g.Until, level: LevelBad, Text: fmt.Sprintf("group %s of Placement %s is still missing: the rollout is stalled",
		ledger.Quoted(g.Group), g.Placement)}}
}

// abort returns the abort as a fact. The fact has no time if the abort is already due.
func (l *outlook) abort() Fact {
	turn := l.ahead.Abort
	fact := Fact{At: turn.At, level: l.urgency(turn)}
	update := l.o.revisionAt(l.o.ReplicaSet.Status.UpdateRevision)
	back := fmt.Sprintf("AbortAll returns %s to revision %s", countOf(l.o.having(&update)), CurrentNumber(l.o))
	if !turn.At.After(l.o.Now) {
		fact.At = time.Time{}
	}
	if l.o.ReplicaSet.Spec.Paused {
		back = "the abort is due, and waits for the end of the pause: then " + back
	}
	fact.Text = l.failure(turn, l.limits[turn.Ref].MaxFailures+l.limits[turn.Ref].Extra) + ": " + back
	return fact
}

// urgency returns the level of a turn: bad if clusters that are already unhealthy lead to the turn, or if it is near. Otherwise, the
// clusters in flight are expected to succeed, and the turn needs no attention.
func (l *outlook) urgency(turn *forecast.Turn) Level {
	sick := map[string]bool{}
	for i := range l.clusters {
		sick[l.clusters[i].Name] = l.clusters[i].State == rollout.PhaseDegraded || l.clusters[i].State == StateRejected
	}
	limits := &l.limits[turn.Ref]
	failed := limits.Failed
	for _, failing := range l.ahead.Failing {
		if failing.Ref == turn.Ref && sick[failing.Cluster] {
			failed++
		}
	}
	if failed <= limits.MaxFailures && turn.At.Sub(l.o.Now) >= limits.Deadline/4 {
		return ""
	}
	return LevelBad
}

// failure describes the first failure that exceeds the limit of a placementRef.
func (l *outlook) failure(turn *forecast.Turn, limit int) string {
	switch limits := &l.limits[turn.Ref]; {
	case limits.PerGroup, turn.Failed <= limit && len(limits.Groups) > 0: // A decision group has its own limit.
		return l.in(turn.Ref) + "a failure exceeds the limit of a decision group"
	case turn.Failed <= limit:
		return l.in(turn.Ref) + "failed clusters, with those that are degraded or stuck, exceed " + l.allowed(turn.Ref, limit)
	}
	return l.in(turn.Ref) + ordinal(limit+1) + " failure, " + l.allowed(turn.Ref, limit)
}

// blocked returns why failures of a placementRef with AbortAll do not abort the rollout.
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

// tolerated returns text that describes why the rollout continues although clusters of a placementRef fail.
func (l *outlook) tolerated(ref int) string {
	if l.limits[ref].PerGroup {
		return ": the rollout continues"
	}
	return "; " + l.allowed(ref, l.limits[ref].MaxFailures) + ": the rollout continues"
}

// halted describes why a placementRef starts no cluster, and how it can continue.
func (l *outlook) halted(ref int) string {
	limits := &l.limits[ref]
	var parts []string
	for _, state := range []State{rollout.PhaseFailed, rollout.PhaseDegraded, rollout.PhaseAgentUnknown, rollout.PhaseTerminationTimedOut} {
		if n := l.count(limits, state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[state]))
		}
	}
	text := "halted: " + cmp.Or(strings.Join(parts, ", "), "earlier failures")
	if !limits.PerGroup {
		text += ", " + l.allowed(ref, limits.MaxFailures)
	}
	if l.count(limits, rollout.PhaseWaiting) > 0 {
		text += ": nothing starts"
	} else {
		text += ": the rollout does not complete"
	}
	switch {
	case limits.Excess == 1:
		text += " until 1 recovers"
	case limits.Excess > 1:
		text += fmt.Sprintf(" until %d recover", limits.Excess)
	}
	return text
}

// words are the states that halt a placementRef, as texts.
var words = map[State]string{
	rollout.PhaseFailed: "failed", rollout.PhaseDegraded: "degraded", StateRejected: "rejected",
	rollout.PhaseAgentUnknown: "with an unknown agent", rollout.PhaseTerminationTimedOut: "with a deletion that timed out",
}

// allowed describes maxFailures of a placementRef. limit is the number of clusters that it allows.
func (l *outlook) allowed(ref, limit int) string {
	text := fmt.Sprintf("maxFailures %d", limit)
	config := forecast.ConfigOf(&l.o.ReplicaSet.Spec.PlacementRefs[ref].RolloutStrategy)
	if config != nil && strings.HasSuffix(config.MaxFailures.String(), "%") {
		text = fmt.Sprintf("maxFailures %s (%d)", config.MaxFailures.String(), limit)
	}
	return text
}

// limit returns the number of failures that exceeds the limit of a placementRef, and its consequence. The number is zero if the limit is
// per group.
func (l *outlook) limit(ref int) (n int, consequence string) {
	limits := &l.limits[ref]
	if limits.Err != nil || limits.PerGroup {
		return 0, ""
	}
	n, consequence = limits.MaxFailures+1, "stop"
	if limits.AbortAll && l.ahead.Blocked == "" && limits.Extra == 0 {
		consequence = "abort"
	}
	return n, fmt.Sprintf("%s at the %s failure", consequence, ordinal(n))
}

// in returns text that names a placementRef if there are several.
func (l *outlook) in(ref int) string {
	if len(l.limits) < 2 {
		return ""
	}
	return "placement " + l.limits[ref].Placement + ": "
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

// restores returns the facts that follow an abort.
func (o *Objects) restores() []Fact {
	clusters := Clusters(o)
	current, update, counts := CurrentNumber(o), o.revisionAt(o.ReplicaSet.Status.UpdateRevision), map[State]int{}
	for i := range clusters {
		switch c := &clusters[i]; {
		case o.hasReturned(c):
			counts[rollout.PhaseSucceeded]++
		case c.State == StateAway:
			counts[StateRestoring]++
		default:
			counts[c.State]++
		}
	}
	var facts []Fact
	add := func(level Level, format string, args ...any) {
		facts = append(facts, Fact{level: level, Text: fmt.Sprintf(format, args...)})
	}
	if o.ReplicaSet.Spec.Paused {
		add(LevelBad, "paused: the abort stops where it is until a user resumes the rollout")
	}
	switch n := counts[StateRestoring]; {
	case n > 0 && lacksCurrent(o.ReplicaSet):
		add(LevelBad, "the hub has no ControllerRevision of revision %s to return to: "+
			"it restores no cluster until the template changes or a user retries", current)
	case n > 0:
		add(LevelBad, "the hub waits for %s to confirm revision %s; there is no time limit", countOf(n), current)
	}
	if n := counts[StateRejected]; n > 0 {
		add(LevelBad, "the API server rejects revision %s on %s: the hub tries again at least once a minute", current, countOf(n))
	}
	if n := counts[rollout.PhaseSucceeded]; n > 0 && n == len(clusters) && o.having(&update) == 0 && Restored(o) {
		add(LevelWarn, "every cluster has revision %s again: nothing changes until the template changes or a user retries", current)
	}
	return facts
}
