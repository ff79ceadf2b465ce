package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestDayOfTheSwap tests the differences between OCM's hub and this hub that docs/upgrade.md lists. Both hubs get the same works and the
// same reports from their agents.
func TestDayOfTheSwap(t *testing.T) {
	t.Parallel()
	w := privateWorld(t, "swap")
	ctx := context.WithoutCancel(t.Context())
	t.Run("unseen", func(t *testing.T) {
		f := ruling(w, t, all("None", 0))
		require.EqualValues(t, -1, f.get().Status.ObservedGeneration, "no hub has seen it: no tool takes it for rolled out")
	})
	for _, hub := range []struct {
		name  string
		start func() (stop func())
		ours  bool
	}{
		{"ocm", func() func() { return w.startUpstream(ctx) }, false},
		{"here", func() func() { return w.startManager(ctx, 300*time.Millisecond) }, true},
	} {
		t.Run(hub.name, func(t *testing.T) {
			t.Cleanup(hub.start())
			t.Run("goes-on", func(t *testing.T) { goesOn(w, t, hub.ours) })
			t.Run("old-degraded", func(t *testing.T) { oldDegraded(w, t, hub.ours) })
			t.Run("applied", func(t *testing.T) { appliedWhileOneIsDegraded(w, t, hub.ours) })
			t.Run("counts", func(t *testing.T) { countsDuringAnUpdate(w, t, hub.ours) })
		})
	}
}

// says returns a condition as an agent reports it about a generation.
func says(conditionType string, status metav1.ConditionStatus, generation int64) metav1.Condition {
	return metav1.Condition{
		Type: conditionType, Status: status, Reason: "Played", ObservedGeneration: generation, LastTransitionTime: metav1.Now(),
	}
}

// report writes the whole status of a cluster's work, as its agent would.
func (f *fleet) report(short string, conditions ...metav1.Condition) {
	f.t.Helper()
	eventually(f.t, short+" reports", func() error {
		works := f.works()
		for i := range works {
			if works[i].Namespace == f.cluster(short) {
				works[i].Status.Conditions = conditions
				_, err := f.w.works.WorkV1().ManifestWorks(f.cluster(short)).UpdateStatus(f.t.Context(), &works[i], metav1.UpdateOptions{})
				return err
			}
		}
		return fmt.Errorf("it has no work")
	})
}

// ruled returns the template with condition rules of these types only.
func ruled(version string, types ...string) workv1.ManifestWorkSpec {
	spec := template(version)
	rules := spec.ManifestConfigs[0].ConditionRules[:0]
	for _, conditionType := range types {
		rules = append(rules, rule(conditionType, "false"))
	}
	spec.ManifestConfigs[0].ConditionRules = rules
	if len(rules) == 0 {
		spec.ManifestConfigs = nil
	}
	return spec
}

// ruling returns a fleet whose ManifestWorkReplicaSet rolls out to two clusters, one after the other. Its template has condition rules of
// these types.
func ruling(w *world, t *testing.T, strategy workv1alpha1.RolloutStrategy, types ...string) *fleet {
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)
	f.createOf(ruled("v1", types...), ref("p1", strategy))
	return f
}

// rule changes the template of a fleet that ruling returned.
func (f *fleet) rule(version string, types ...string) {
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate = ruled(version, types...)
	})
}

// comesNext requires that a cluster gets, or does not get, a version after the other cluster's report.
func (f *fleet) comesNext(short, version string, wanted bool) {
	f.t.Helper()
	if wanted {
		f.has(short, version)
	} else {
		f.never(short, version, 3*time.Second)
	}
}

// goesOn tests which report of the first cluster lets the second cluster follow.
func goesOn(w *world, t *testing.T, ours bool) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for name, tc := range map[string]struct {
		rules      []string
		reports    []metav1.Condition
		ocms, here bool
	}{
		"degraded": {
			rules: []string{workv1.WorkProgressing, workv1.WorkDegraded},
			reports: []metav1.Condition{says(workv1.WorkApplied, yes, 1), says(workv1.WorkAvailable, yes, 1),
				says(workv1.WorkProgressing, no, 1), says(workv1.WorkDegraded, yes, 1)},
			ocms: true, here: false,
		},
		"unavailable": {
			rules: []string{workv1.WorkProgressing},
			reports: []metav1.Condition{says(workv1.WorkApplied, yes, 1), says(workv1.WorkAvailable, no, 1),
				says(workv1.WorkProgressing, no, 1)},
			ocms: true, here: false,
		},
		"no-rule": {
			reports: []metav1.Condition{says(workv1.WorkApplied, yes, 1), says(workv1.WorkAvailable, yes, 1)},
			ocms:    false, here: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := ruling(w, t, progressive(1, "None", 0), tc.rules...)
			f.report("c1", tc.reports...)
			wanted := tc.ocms
			if ours {
				wanted = tc.here
			}
			f.comesNext("c2", "v1", wanted)
		})
	}
}

// oldDegraded: in this hub, a Degraded condition of the older generation counts as absent, except if the new template has a rule that will
// update it.
func oldDegraded(w *world, t *testing.T, ours bool) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for name, tc := range map[string]struct {
		rules []string
		here  bool
	}{
		"no-rule":  {rules: []string{workv1.WorkProgressing}, here: true},
		"its-rule": {rules: []string{workv1.WorkProgressing, workv1.WorkDegraded}, here: false},
	} {
		t.Run(name, func(t *testing.T) {
			f := ruling(w, t, progressive(1, "None", 0), workv1.WorkProgressing, workv1.WorkDegraded)
			for _, short := range f.clusters {
				f.report(short, says(workv1.WorkApplied, yes, 1), says(workv1.WorkAvailable, yes, 1), says(workv1.WorkProgressing, no, 1), says(workv1.WorkDegraded, no, 1))
			}
			f.rule("v2", tc.rules...)
			f.has("c1", "v2")
			f.report("c1", says(workv1.WorkApplied, yes, 2), says(workv1.WorkAvailable, yes, 2), says(workv1.WorkProgressing, no, 2), says(workv1.WorkDegraded, no, 1))
			f.comesNext("c2", "v2", ours && tc.here)
		})
	}
}

// appliedWhileOneIsDegraded tests ManifestworkApplied in a rollout with one degraded cluster and one cluster in progress.
func appliedWhileOneIsDegraded(w *world, t *testing.T, ours bool) {
	const yes = metav1.ConditionTrue
	f := ruling(w, t, all("None", 0), workv1.WorkProgressing, workv1.WorkDegraded)
	f.everywhere("v1")
	f.report("c1", says(workv1.WorkApplied, yes, 1), says(workv1.WorkAvailable, yes, 1), says(workv1.WorkProgressing, yes, 1))
	f.report("c2", says(workv1.WorkApplied, yes, 1), says(workv1.WorkAvailable, yes, 1), says(workv1.WorkProgressing, yes, 1), says(workv1.WorkDegraded, yes, 1))
	wanted := upstream.ReasonNotAsExpected
	if ours {
		wanted = upstream.ReasonProcessing
	}
	eventually(t, "ManifestworkApplied is "+wanted, func() error {
		mwrs := f.get()
		applied := meta.FindStatusCondition(mwrs.Status.Conditions, workv1alpha1.ConditionManifestworkApplied)
		if applied == nil || applied.Reason != wanted || mwrs.Status.Summary.Degraded != 1 {
			return fmt.Errorf("%s", describe(mwrs))
		}
		return nil
	})
}

// countsDuringAnUpdate tests the counts of the summary while one of two clusters has the new template and has not reported it.
func countsDuringAnUpdate(w *world, t *testing.T, ours bool) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	f := ruling(w, t, progressive(1, "None", 0), workv1.WorkProgressing)
	for _, short := range f.clusters {
		f.report(short, says(workv1.WorkApplied, yes, 1), says(workv1.WorkAvailable, yes, 1), says(workv1.WorkProgressing, no, 1))
	}
	f.rule("v2", workv1.WorkProgressing)
	f.has("c1", "v2")
	f.report("c1", says(workv1.WorkApplied, yes, 2), says(workv1.WorkAvailable, yes, 2), says(workv1.WorkProgressing, yes, 2))
	wanted := upstream.ManifestWorkReplicaSetSummary{Total: 1, Applied: 1, Available: 1, Progressing: 1}
	if ours {
		wanted = upstream.ManifestWorkReplicaSetSummary{Total: 2, Applied: 2, Available: 2, Progressing: 1, DesiredTotal: 2}
	}
	eventually(t, "the summary counts it so", func() error {
		if found := f.get().Status.Summary.ManifestWorkReplicaSetSummary; found != wanted {
			return fmt.Errorf("it is %+v", found)
		}
		return nil
	})
}
