package lifecycle

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Obey applies the commands in the status to the ledger. If it can't obey a command, it adds an event, and the hub reverts the field.
func Obey(v *Observation) Decision {
	d := Decision{Ledger: v.Before.Clone()}
	v.obeyAbort(&d)
	v.obeyRetry(&d)
	v.obeyApprovals(&d)
	v.obeyName(&d)
	return d
}

// obeyAbort aborts the rollout if a user set status.abortedTime.
func (v *Observation) obeyAbort(d *Decision) {
	if v.Commands.Abort == nil {
		return
	}
	if problem, none := v.nothingToAbort(&d.Ledger); none {
		d.Events = append(d.Events, Event{
			Warning: true, Reason: workv1alpha1.EventAbortIgnored, Action: "Abort",
			Note: fmt.Sprintf("%s, and the hub removed it: %s", v.setter(), problem),
		})
		return
	}
	abort := *v.Commands.Abort
	abort.At, abort.Reason = v.abortedAt(), v.setter()
	d.Ledger.AbortWith(&abort, work.Having(v.Notes.Works, d.Ledger.Update.Hash))
}

// abortedAt returns the time of an abort that is decided in this pass. The time that a user gives for an abort does not count: other times
// in the ledger, and on works, are compared with it.
func (v *Observation) abortedAt() time.Time { return metav1.NewTime(v.Now).Rfc3339Copy().Time }

// nothingToAbort reports whether there is no rollout that can be aborted, and returns the reason for users.
func (v *Observation) nothingToAbort(l *ledger.Ledger) (why string, none bool) {
	if l.Current.Hash != "" && l.Current.Hash == l.Update.Hash {
		return fmt.Sprintf("revision %s is already the current revision, so no rollout can be aborted", revision.Name(v.Object.Name, l.Current.Hash)), true
	}
	if _, absent := v.current(l, v.Named(l.Update.Hash)); absent != nil {
		return status.NoCurrent(absent), true
	}
	return "", false
}

func (v *Observation) setter() string {
	manager, by, why := status.AbortSetBy(v.Object.ManagedFields), v.Commands.Abort.By, v.Commands.Abort.Said
	set := "status.abortedTime was set"
	switch {
	case by != "" && manager != "":
		set = fmt.Sprintf("%s set status.abortedTime (field manager %s)", by, manager)
	case by != "":
		set = by + " set status.abortedTime"
	case manager != "":
		set = fmt.Sprintf("field manager %s set status.abortedTime", manager)
	}
	if why != "" {
		set += ": " + why
	}
	return plain.Line(set)
}

// obeyRetry restarts the aborted rollout, or retries single clusters.
func (v *Observation) obeyRetry(d *Decision) {
	l := &d.Ledger
	if v.Commands.Retry && l.Abort != nil {
		l.Retry(v.Now)
		return
	}
	if v.Commands.WithoutFailures {
		d.Events = append(d.Events, Event{
			Warning: true, Reason: workv1alpha1.EventRetryIgnored, Action: "Retry", Once: true,
			Note: "status.failures was removed, and the hub restored it: to retry clusters, remove their entries; to retry all, set an empty list",
		})
	}
	for i := range l.Troubles {
		t := &l.Troubles[i]
		switch {
		case t.State != ledger.Failed || !slices.Contains(v.Commands.RetryClusters, t.Cluster):
		case t.Reason == workv1alpha1.FailureRejected:
			t.State, t.Since = ledger.Rejected, v.Now // The cluster is in flight again, and keeps its slot.
		default:
			*t = ledger.Trouble{Cluster: t.Cluster, State: ledger.TriedAgain, Placement: t.Placement, Since: v.Now}
		}
	}
}

// obeyName makes a revision the stable one if a user named it in status.currentRevision. It must be a revision in the history that was
// stable before or, if no revision was stable, any revision in the history. Other values are not trusted, because anyone who can write the
// status can set them.
func (v *Observation) obeyName(d *Decision) {
	if !v.Commands.Names {
		return
	}
	l, named := &d.Ledger, v.Commands.Name
	problem := ""
	switch rev := v.revisionOf(named); {
	case named == "":
		problem = "it was the current one when the field was removed"
	case rev == nil || rev.Err != nil:
		problem = "no revision in the history has the hash " + named
	case named == l.Update.Hash:
		problem = "the rollout of revision " + rev.Object.Name + " is not complete"
	case l.Complete():
		problem = "the rollout of revision " + revision.Name(v.Object.Name, l.Update.Hash) + " is complete"
	case l.Current.Hash != "" && !l.WasCurrent(named):
		problem = "revision " + rev.Object.Name + " was never the current revision"
	default:
		l.MakeCurrent(ledger.Named{Hash: named, Digest: rev.Digest}, "")
		if l.Abort != nil {
			abort := *l.Abort
			abort.Restored = time.Time{} // The clusters return to a revision that they have not confirmed.
			l.Abort = &abort
		}
		return
	}
	d.Events = append(d.Events, Event{Warning: true, Reason: workv1alpha1.EventCurrentRevisionIgnored, Action: "Observe",
		Note: fmt.Sprintf("status.currentRevision is %q, and the hub restored %q: %s", named, l.Current.Hash, problem)})
}
