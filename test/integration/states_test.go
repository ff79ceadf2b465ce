package integration

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// conditionTypes is the order of the table.
var conditionTypes = []string{
	workv1alpha1.ConditionPlacementVerified, workv1alpha1.ConditionManifestworkApplied,
	workv1alpha1.ConditionProgressing, workv1alpha1.ConditionPlacementRolledOut,
}

// state waits for the reasons of the four conditions, in the order of the table: PlacementVerified, ManifestworkApplied, Progressing,
// PlacementRolledOut. Each is written as Reason=Status; an empty one is ignored.
func (f *fleet) state(wanted ...string) *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	var mwrs *workv1alpha1.ManifestWorkReplicaSet
	eventually(f.t, "conditions "+strings.Join(wanted, " "), func() error {
		mwrs = f.get()
		for i, conditionType := range conditionTypes {
			if wanted[i] == "" {
				continue
			}
			condition := meta.FindStatusCondition(mwrs.Status.Conditions, conditionType)
			if condition == nil || condition.Reason+"="+string(condition.Status) != wanted[i] {
				return fmt.Errorf("%s is not %s: %s", conditionType, wanted[i], describe(mwrs))
			}
			if condition.ObservedGeneration != mwrs.Generation {
				return fmt.Errorf("%s observed generation %d of %d", conditionType, condition.ObservedGeneration, mwrs.Generation)
			}
		}
		return nil
	})
	return mwrs
}

func describe(mwrs *workv1alpha1.ManifestWorkReplicaSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "current=%q update=%q aborted=%v", mwrs.Status.CurrentRevision, mwrs.Status.UpdateRevision, mwrs.Status.AbortedTime)
	for _, c := range mwrs.Status.Conditions {
		fmt.Fprintf(&b, "\n  %s=%s %s (generation %d): %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
	}
	return b.String()
}

func (f *fleet) complete() *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	return f.state("AsExpected=True", "AsExpected=True", "NewManifestWorkAvailable=False", "Complete=True")
}

func (f *fleet) aborted() *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	return f.state("AsExpected=True", "NotAsExpected=False", "RolloutAborted=False", "RolloutDegraded=False")
}

func (f *fleet) stalled() *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	return f.state("AsExpected=True", "NotAsExpected=False", "ProgressDeadlineExceeded=False", "RolloutDegraded=False")
}

// abort rolls out v2, about which every cluster has this report, and waits until its abort is complete.
func (f *fleet) abort(report outcome) *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	f.agentsReport("", "v2", report)
	f.update("v2")
	return f.aborted()
}

// aborting waits for an abort that is decided but not yet complete.
func (f *fleet) aborting() *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	return f.state("AsExpected=True", "NotAsExpected=False", "ProgressDeadlineExceeded=False", "Progressing=False")
}

func (f *fleet) rolling(reason string) *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	return f.state("AsExpected=True", "Processing=False", reason+"=True", "Progressing=False")
}

// says waits until a condition has a reason, and a message that contains all of the words.
func (f *fleet) says(conditionType, reason string, words ...string) {
	f.t.Helper()
	eventually(f.t, conditionType+" says "+strings.Join(words, ", "), func() error {
		mwrs := f.get()
		condition := meta.FindStatusCondition(mwrs.Status.Conditions, conditionType)
		if condition == nil || condition.Reason != reason || condition.ObservedGeneration != mwrs.Generation {
			return fmt.Errorf("%s", describe(mwrs))
		}
		for _, word := range words {
			if !strings.Contains(condition.Message, word) {
				return fmt.Errorf("%q is missing in: %s", word, condition.Message)
			}
		}
		return nil
	})
}

// message returns the message of a condition.
func message(mwrs *workv1alpha1.ManifestWorkReplicaSet, conditionType string) string {
	if condition := meta.FindStatusCondition(mwrs.Status.Conditions, conditionType); condition != nil {
		return condition.Message
	}
	return ""
}
