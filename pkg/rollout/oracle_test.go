package rollout_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The oracle judges what the world does by the words of docs/contributing/rules.md, with what the world knows of its own agents.

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// since is when what the agent says now began, for this rollout.
func (w *world) since(work *worldWork) time.Time {
	begin := latest(work.writtenAt(), w.revisions[w.update].BeginsAt)
	if work.report == silent {
		return begin
	}
	since := latest(begin, work.reportSince)
	if deleted := latest(begin, work.deletedAt()); work.deleting && work.report != succeeding && deleted.Before(since) {
		return deleted
	}
	return since
}

// isSettled: the success was seen for long enough, and soaked, and nothing is there beside the revision.
func (w *world) isSettled(work *worldWork, ref *worldRef) bool {
	return w.isWell(work, ref) && (work.kept() == "" || work.deleting) // With a work that is being deleted all goes.
}

// isWell is isSettled, maybe with objects of another revision beside it.
func (w *world) isWell(work *worldWork, ref *worldRef) bool {
	return work.at(w.update) && work.report == succeeding && !work.seenSuccess.IsZero() &&
		!w.now.Before(work.seenSuccess.Add(w.settle)) && (w.stayed(work) || !w.now.Before(w.since(work).Add(soakOf(ref))))
}

// returns: the template is the current revision's again, in the middle of another rollout.
func (w *world) returns() bool {
	return !w.aborted && w.update == w.current && w.revisions[w.update].Underway()
}

// stayed: the template has returned to a revision that the cluster never left, and is not soaked again.
func (w *world) stayed(work *worldWork) bool {
	return w.returns() && !work.writtenAt().After(w.revisions[w.update].BeginsAt)
}

// left: the cluster has another revision, which it leaves at once where the template has returned.
func (w *world) left(work *worldWork) bool {
	return work != nil && work.hash() != w.update
}

// mayBeElsewhere reports whether a work names an earlier ref whose selection is unknown: that ref has another deadline.
func (w *world) mayBeElsewhere(work *worldWork, ref *worldRef) bool {
	for _, earlier := range w.refs {
		switch earlier.Name {
		case ref.Name:
			return false
		case work.object.Labels[workv1alpha1.LabelPlacement]:
			return earlier.missing || earlier.hidden > 0
		}
	}
	return false
}

// isFailed: not successful for the deadline, or well and sick by turns for twice as long, and the agents had time to say otherwise.
func (w *world) isFailed(work *worldWork, ref *worldRef) bool {
	if w.mayBeElsewhere(work, ref) {
		return false
	}
	deadline, ok := deadlineOf(ref)
	if !ok || !work.at(w.update) || w.now.Before(w.deadlinesSince.Add(min(deadline, 2*minute))) {
		return false
	}
	return w.isLooping(work, ref, deadline) || work.report != succeeding && !w.now.Before(w.since(work).Add(deadline))
}

// isLooping: not settled within twice the deadline and the soak, by what one process of the hub saw, and not well for the soak now.
func (w *world) isLooping(work *worldWork, ref *worldRef, deadline time.Duration) bool {
	begin := latest(work.writtenAt(), w.revisions[w.update].BeginsAt)
	wellEnough := work.report == succeeding && (w.isWell(work, ref) || !w.now.Before(work.seenSuccess.Add(soakOf(ref))))
	return !wellEnough && !work.knownSettled.After(begin) && !w.now.Before(latest(begin, work.watchedSince).Add(2*(deadline+soakOf(ref))))
}

// isStuck: another revision's work is on its way out for longer than the deadline, which runs since the deletion.
func (w *world) isStuck(s subject, ref *worldRef) bool {
	deadline, ok := deadlineOf(ref)
	return ok && w.leaving(s, ref) && s.work.deleting &&
		!w.now.Before(s.work.deletedAt().Add(deadline)) && !w.now.Before(w.deadlinesSince.Add(min(deadline, 2*minute)))
}

func config(ref *worldRef) clusterv1alpha1.RolloutConfig {
	switch s := ref.Strategy; s.Type {
	case clusterv1alpha1.Progressive:
		return s.Progressive.RolloutConfig
	case clusterv1alpha1.ProgressivePerGroup:
		return s.ProgressivePerGroup.RolloutConfig
	default:
		return s.All.RolloutConfig
	}
}

func deadlineOf(ref *worldRef) (time.Duration, bool) {
	deadline, err := time.ParseDuration(config(ref).ProgressDeadline)
	return deadline, err == nil
}

func soakOf(ref *worldRef) time.Duration {
	if ref.Strategy.Type == clusterv1alpha1.All {
		return 0
	}
	return config(ref).MinSuccessTime.Duration
}

func sizeOf(value intstr.IntOrString, total int) int {
	if value.Type == intstr.Int {
		return value.IntValue()
	}
	percent, _ := strconv.Atoi(strings.TrimSuffix(value.StrVal, "%"))
	return int(math.Ceil(float64(percent*total) / 100))
}

func isMandatory(ref *worldRef, key string) bool {
	var mandatory []clusterv1alpha1.MandatoryDecisionGroup
	switch s := ref.Strategy; s.Type {
	case clusterv1alpha1.Progressive:
		mandatory = s.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups
	case clusterv1alpha1.ProgressivePerGroup:
		mandatory = s.ProgressivePerGroup.MandatoryDecisionGroups.MandatoryDecisionGroups
	}
	index, name, _ := strings.Cut(key, "/")
	return slices.ContainsFunc(mandatory, func(m clusterv1alpha1.MandatoryDecisionGroup) bool {
		if m.GroupName != "" {
			return m.GroupName == name
		}
		return fmt.Sprint(m.GroupIndex) == index
	})
}

// subject is a cluster that counts for a ref.
type subject struct {
	cluster string
	group   string
	work    *worldWork // nil where there is none
	gone    bool       // not selected by the ref any more
}

func (w *world) subjects(ref *worldRef) []subject {
	owners := w.owners()
	var all []subject
	if !ref.missing {
		for _, g := range ref.groups {
			for _, cluster := range g.Clusters {
				if owners[cluster] == ref {
					all = append(all, subject{cluster: cluster, group: g.Key(), work: w.works[cluster]})
				}
			}
		}
	}
	for _, work := range w.sorted() {
		selectedBy := owners[work.cluster]
		if work.object.Labels[workv1alpha1.LabelPlacement] != ref.Name || selectedBy == ref || !work.at(w.update) {
			continue
		}
		if selectedBy == nil || work.deleting {
			all = append(all, subject{
				cluster: work.cluster, group: work.object.Annotations[workv1alpha1.AnnotationDecisionGroup], work: work, gone: true,
			})
		}
	}
	return append(all, w.remnants(ref, all)...)
}

// remnants are all that is left of groups that have a turn: works of another revision, on their way out.
func (w *world) remnants(ref *worldRef, others []subject) []subject {
	var all []subject
	owners := w.owners()
	for _, work := range w.sorted() {
		selectedBy, group := owners[work.cluster], work.object.Annotations[workv1alpha1.AnnotationDecisionGroup]
		if work.object.Labels[workv1alpha1.LabelPlacement] != ref.Name || selectedBy == ref || work.at(w.update) || (selectedBy != nil && !work.deleting) {
			continue
		}
		ordered := ref.Strategy.Type == clusterv1alpha1.ProgressivePerGroup || isMandatory(ref, group)
		if ordered && !slices.ContainsFunc(others, func(s subject) bool { return s.group == group }) {
			all = append(all, subject{cluster: work.cluster, group: group, work: work, gone: true})
		}
	}
	return all
}

// note remembers which works settled or failed. It runs at each pass, as the hub itself sees no more.
func (w *world) note() {
	for _, ref := range w.refs {
		for _, s := range w.subjects(ref) {
			if s.work != nil {
				if w.isWell(s.work, ref) {
					s.work.settled = s.work.kept() == "" || s.gone || s.work.deleting
					if !w.aborted && !w.leaving(s, ref) && !s.work.knownSettled.After(latest(s.work.writtenAt(), w.revisions[w.update].BeginsAt)) {
						s.work.knownSettled = w.now
					}
				}
				w.noteFailed(s, ref)
			}
		}
	}
}

// noteFailed remembers a cluster that the ref selects and that has failed, until its success settles.
func (w *world) noteFailed(s subject, ref *worldRef) {
	switch {
	case w.aborted:
	case w.leaving(s, ref):
		w.stuck[s.cluster] = w.stuck[s.cluster] || w.isStuck(s, ref) && !s.gone
	case w.isWell(s.work, ref):
		delete(w.failed, s.cluster)
	case s.gone && s.work.hadSucceeded(w):
	case w.isFailed(s.work, ref):
		w.failed[s.cluster] = true
	}
	if !s.work.deleting {
		delete(w.stuck, s.cluster)
	}
}

// hasFailed reports whether the cluster failed, or the deletion of its work timed out. The failure of a work that another ref wrote counts
// there. That a deletion timed out is a fact, whichever ref waits for it, unless another failure of the cluster was recorded in its place.
func (w *world) hasFailed(s subject, ref *worldRef) bool {
	leaves := s.work != nil && w.leaving(s, ref)
	if leaves && s.work.object.Labels[workv1alpha1.LabelPlacement] != ref.Name {
		_, deadline := deadlineOf(ref) // Without one, the ref waits for the deletion, unless that timed out before.
		return w.stuck[s.cluster] && (deadline || !w.failed[s.cluster]) || deadline && w.isStuck(s, ref)
	}
	return w.failed[s.cluster] || leaves && (w.stuck[s.cluster] || w.isStuck(s, ref))
}

// hasFailedUnselected: a cluster that failed is selected by nothing now, and its work is still there, whatever somebody made of it.
func (w *world) hasFailedUnselected(ref *worldRef) bool {
	owners := w.owners()
	return slices.ContainsFunc(w.sorted(), func(work *worldWork) bool {
		return w.failed[work.cluster] && owners[work.cluster] == nil && work.object.Labels[workv1alpha1.LabelPlacement] == ref.Name
	})
}

// spent: the ref does not select the cluster any more, it had succeeded, and its time is over. It counts for nothing (R8a).
func (w *world) spent(s subject, ref *worldRef) bool {
	return s.gone && s.work.at(w.update) && !w.failed[s.cluster] && w.isFailed(s.work, ref) && s.work.hadSucceeded(w)
}

// hadSucceeded reports whether the hub's process knows that the cluster had succeeded before nothing selected it, or can't know that it had not.
func (work *worldWork) hadSucceeded(w *world) bool {
	if work.knownSettled.After(latest(work.writtenAt(), w.revisions[w.update].BeginsAt)) {
		return true
	}
	if !work.deleting {
		return false
	}
	seen := work.work(w)
	return !work.seenSuccess.IsZero() || work.watchedSince.After(work.object.DeletionTimestamp.Time) && seen.ReportedSinceDeletion()
}

// underWay: written at the update revision, never settled, and not failed (P4).
func (w *world) underWay(s subject) bool {
	return s.work != nil && s.work.at(w.update) && !s.work.settled && !w.failed[s.cluster]
}

// leaving: its older work, or the one that it had for another ref, is not gone yet.
func (w *world) leaving(s subject, ref *worldRef) bool {
	if s.gone {
		return !s.work.at(w.update)
	}
	return s.work != nil && s.work.deleting &&
		(!s.work.at(w.update) || s.work.object.Labels[workv1alpha1.LabelPlacement] != ref.Name)
}
