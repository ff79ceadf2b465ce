package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// abortByHand takes over an abort that a person asked for by setting status.abortedTime (R12). The conditions tell of it first, as of every
// abort, and it goes on from there like any other. Where nothing is to be aborted the field is taken off. The pass ends with either.
func (r *rolloutReconciler) abortByHand(ctx context.Context, p *pass) (handled bool, err error) {
	if !p.abortedByHand() {
		return false, nil
	}
	if problem := p.nothingToAbort(); problem != "" {
		return true, r.takeAbortOff(ctx, p, problem)
	}
	reason := byHand + p.setter()
	p.update, p.aborting, p.urgent = p.revisionNamed(p.revisions.UpdateRevision), true, true
	p.snapshot = r.view(p, p.update, true)
	p.plan = rollout.Decide(p.snapshot)
	r.memory.owners.abortedFor(p.key, p.revisions.AbortedTime, reason)
	if err := r.patchStatus(ctx, p, status.Aborting, reason); err != nil {
		return true, err
	}
	klog.FromContext(ctx).Info("Aborting the rollout", "revision", p.update.Name, "backTo", p.snapshot.Current.Name, "reason", reason)
	return true, nil
}

// abortedByHand reports whether a person set status.abortedTime. This hub sets it together with conditions that tell of the abort, and the
// revision tells of it from before the first work goes back.
func (p *pass) abortedByHand() bool {
	if p.object.Status.AbortedTime == nil || p.revisions.AbortedTime == nil {
		return false
	}
	if told := status.Told(p.object.Status.Conditions); told == status.Aborting || told == status.Aborted {
		return false
	}
	if update := p.history.ByHash(p.revisions.UpdateRevision); update != nil {
		_, told := update.AbortedAt()
		return !told
	}
	return true
}

// setter is who set status.abortedTime, for a person.
func (p *pass) setter() string {
	if manager := status.AbortSetBy(p.object.ManagedFields); manager != "" {
		return fmt.Sprintf("field manager %s set status.abortedTime", manager)
	}
	return "status.abortedTime was set"
}

// byHand begins the reason of an abort that a person asked for.
const byHand = "aborted by hand: "

// nothingToAbort is why no rollout can be aborted; empty when one can.
func (p *pass) nothingToAbort() string {
	if hash := p.revisions.CurrentRevision; hash != "" && hash == p.revisions.UpdateRevision {
		return fmt.Sprintf("revision %s is the current one already, so no rollout can be aborted", revision.Name(p.object.Name, hash))
	}
	current, problem := p.current()
	if current != nil {
		return ""
	}
	return problem
}

// takeAbortOff takes status.abortedTime off, and nothing else. The event says why.
func (r *rolloutReconciler) takeAbortOff(ctx context.Context, p *pass, problem string) error {
	cleared := p.object.Status.DeepCopy()
	cleared.AbortedTime = nil
	written, err := r.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, *cleared, p.object.Status)
	if err == nil && written {
		r.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventAbortIgnored, "Abort", fmt.Sprintf("%s, and the hub removed it: %s", p.setter(), problem))
	}
	return err
}
