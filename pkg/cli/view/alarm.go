package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Alarm is a reason why the hub does not act, and the remedy. A screen shows it first.
type Alarm struct {
	Text   string `json:"text"`
	Remedy string `json:"remedy"`
}

// ObservedWithin is the time that a running hub may take to observe a change.
const ObservedWithin = 15 * time.Second

const (
	readLogs  = "run `kubectl mwrs doctor`, and read the logs of the Deployment cluster-manager-work-controller (beside OCM: work-rollback)"
	alarmHub  = "nothing changes until a work hub acts on this object"
	lastKnown = "before that: "
)

// Alarms returns the reasons why the hub does not act on the object. It is empty if the objects do not show any, or if the user has no
// permission to read the Lease.
func Alarms(o *Objects) []Alarm { return Prepared(o).known.alarms }

// AlarmsOf returns the reasons why the hub does not act on some objects. lease is nil if it was not read.
func AlarmsOf(sets []*workv1alpha1.ManifestWorkReplicaSet, lease *coordinationv1.Lease, now time.Time) (alarms []Alarm) {
	refusal, behind := "", []string{}
	for _, set := range sets {
		if text := RefusalOf(set); text != "" {
			refusal = text
		} else if !ActsOn(set, now) {
			behind = append(behind, set.Namespace+"/"+set.Name)
		}
	}
	if refusal != "" {
		alarms = append(alarms, Alarm{
			Text: "the hub refuses to run: " + refusal, Remedy: "docs/upgrade.md, \"Go back a version\"; run `kubectl mwrs doctor`",
		})
	}
	if lease != nil {
		if text := LateLease(lease, now); text != "" {
			alarms = append(alarms, Alarm{Text: "no hub is running: " + text, Remedy: readLogs})
		}
	}
	if len(behind) > 0 {
		alarms = append(alarms, Alarm{
			Text:   fmt.Sprintf("no hub has acted on the latest change to %s within %s", FirstOf(behind, 3, ", "), ObservedWithin),
			Remedy: readLogs,
		})
	}
	return alarms
}

// RefusalOf returns why the hub refuses to reconcile an object; empty if the hub does not refuse.
func RefusalOf(set *workv1alpha1.ManifestWorkReplicaSet) string {
	found := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.ConditionStalled)
	if found == nil || found.Status != metav1.ConditionTrue || found.Reason != workv1alpha1.ReasonDowngradeRefused {
		return ""
	}
	return found.Message
}

// acted returns the time at which a hub last acted: now, unless an alarm shows otherwise. No hub has judged a cluster since then, and a hub
// that starts again gives every cluster more time.
func (o *Objects) acted() time.Time {
	last := o.Now
	if o.Lease != nil && o.Lease.Spec.RenewTime != nil && LateLease(o.Lease, o.Now) != "" {
		last = o.Lease.Spec.RenewTime.Time
	}
	if RefusalOf(o.ReplicaSet) != "" {
		since := meta.FindStatusCondition(o.ReplicaSet.Status.Conditions, workv1alpha1.ConditionStalled).LastTransitionTime.Time
		if !since.IsZero() && since.Before(last) {
			last = since
		}
	}
	return last
}

// LateLease returns why a Lease shows that no hub leads; empty if a hub leads.
func LateLease(lease *coordinationv1.Lease, now time.Time) string {
	spec := &lease.Spec
	holder := ptr.Deref(spec.HolderIdentity, "")
	if holder == "" || spec.RenewTime == nil {
		return "no work controller leads"
	}
	age := now.Sub(spec.RenewTime.Time)
	if age > time.Duration(ptr.Deref(spec.LeaseDurationSeconds, 0))*time.Second {
		return fmt.Sprintf("%s has not renewed its lease for %s", holder, age.Round(time.Second))
	}
	return ""
}

// ActsOn reports whether a hub has acted on the latest change to an object, or may still be about to act. The change is an edit to the
// spec, or an abort that a user requested.
func ActsOn(set *workv1alpha1.ManifestWorkReplicaSet, now time.Time) bool {
	if at := set.DeletionTimestamp; !at.IsZero() {
		released := !slices.Contains(set.Finalizers, workv1alpha1.Finalizer)
		return released || set.Status.State == workv1alpha1.StateDeleting || now.Sub(at.Time) <= ObservedWithin
	}
	if at := set.Status.AbortedTime; at != nil && set.Status.CurrentRevision != "" {
		known := []workv1alpha1.State{
			workv1alpha1.StateAborting, workv1alpha1.StateAborted, workv1alpha1.StatePaused, workv1alpha1.StateInvalid, "",
		}
		if !slices.Contains(known, set.Status.State) && now.Sub(at.Time) > ObservedWithin {
			return false
		}
	}
	changed := changedAt(set)
	return seen(set) || changed.IsZero() || now.Sub(changed) <= ObservedWithin
}

// seen reports whether a hub has seen the latest spec. The conditions show this even if the spec is not observed yet because it waits for
// an abort that is in progress.
func seen(set *workv1alpha1.ManifestWorkReplicaSet) bool {
	return Observed(set) ||
		slices.ContainsFunc(set.Status.Conditions, func(c metav1.Condition) bool { return c.ObservedGeneration >= set.Generation })
}

// changedAt returns the time at which the spec was last changed; zero if unknown.
func changedAt(set *workv1alpha1.ManifestWorkReplicaSet) (last time.Time) {
	if set.Generation == 1 {
		return set.CreationTimestamp.Time
	}
	for i := range set.ManagedFields {
		entry := &set.ManagedFields[i]
		if entry.Subresource == "" && entry.Time != nil && entry.FieldsV1 != nil && strings.Contains(string(entry.FieldsV1.Raw), `"f:spec"`) {
			last = work.Later(last, entry.Time.Time)
		}
	}
	return last
}
