package story

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// check is a fact that a step proves.
type check struct {
	text string
	// prove returns nil if the facts agree with the check. Otherwise the error has the expected and the actual state.
	prove func(*facts) error
}

// minSuccessTime is the minSuccessTime in web.yaml.
const minSuccessTime = 2 * time.Second

// wanted is a condition at the end of a step.
type wanted struct {
	kind, reason string
	status       metav1.ConditionStatus
}

var (
	complete = []wanted{
		{workv1alpha1.ConditionPlacementVerified, workv1alpha1.ReasonAsExpected, metav1.ConditionTrue},
		{workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonAsExpected, metav1.ConditionTrue},
		{workv1alpha1.ConditionProgressing, workv1alpha1.ReasonNewManifestWorkAvailable, metav1.ConditionFalse},
		{workv1alpha1.ConditionPlacementRolledOut, workv1alpha1.ReasonComplete, metav1.ConditionTrue},
	}
	aborted = []wanted{
		{workv1alpha1.ConditionPlacementVerified, workv1alpha1.ReasonAsExpected, metav1.ConditionTrue},
		{workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonNotAsExpected, metav1.ConditionFalse},
		{workv1alpha1.ConditionProgressing, workv1alpha1.ReasonRolloutAborted, metav1.ConditionFalse},
		{workv1alpha1.ConditionPlacementRolledOut, workv1alpha1.ReasonRolloutDegraded, metav1.ConditionFalse},
	}
)

func conditionsAre(text string, all []wanted) check {
	return check{text, func(f *facts) error {
		var errs []error
		for _, want := range all {
			errs = append(errs, want.prove(f))
		}
		return errors.Join(errs...)
	}}
}

func (w wanted) prove(f *facts) error {
	got := meta.FindStatusCondition(f.mwrs.Status.Conditions, w.kind)
	switch {
	case got == nil:
		return fmt.Errorf("the condition %s is not there, expected %s %s", w.kind, w.status, w.reason)
	case got.ObservedGeneration != f.mwrs.Generation:
		return fmt.Errorf("the condition %s is about generation %d, expected %d", w.kind, got.ObservedGeneration, f.mwrs.Generation)
	case got.Status != w.status || got.Reason != w.reason:
		return fmt.Errorf("the condition %s is %s %s (%s), expected %s %s", w.kind, got.Status, got.Reason, got.Message, w.status, w.reason)
	}
	return nil
}

// revisionsAre verifies which versions the status names as current and update.
func revisionsAre(current, update string) check {
	text := fmt.Sprintf("the hub's current revision is %s, its update revision %s", current, update)
	return check{text, func(f *facts) error {
		status := f.mwrs.Status
		if got := f.version(status.CurrentRevision); got != current {
			return fmt.Errorf("the current revision is %q with version %q, expected version %q", status.CurrentRevision, got, current)
		}
		if got := f.version(status.UpdateRevision); got != update {
			return fmt.Errorf("the update revision is %q with version %q, expected version %q", status.UpdateRevision, got, update)
		}
		return nil
	}}
}

// everyClusterRuns verifies a version on the hub's works and on the clusters themselves.
func everyClusterRuns(version string) check {
	return check{"every cluster runs " + version + ", by its own Deployment", func(f *facts) error {
		var errs []error
		for i := range f.clusters {
			cluster := &f.clusters[i]
			if got := f.version(cluster.hash()); got != version {
				errs = append(errs, fmt.Errorf("the ManifestWork of %s has version %q, expected %q", cluster.name, got, version))
			}
			if got := cluster.version(); got != version || !cluster.healthy() {
				errs = append(errs, fmt.Errorf("the Deployment of %s has version %q and is healthy: %v, expected healthy Pods of %q",
					cluster.name, got, cluster.healthy(), version))
			}
		}
		return errors.Join(errs...)
	}}
}

// reached verifies how many clusters ever began to run a version, based on their ReplicaSets.
func reached(version string, count int) check {
	return check{fmt.Sprintf("%s has run on exactly %s", version, clusters(count)), func(f *facts) error {
		var names []string
		for i := range f.clusters {
			if f.clusters[i].everHad(version) {
				names = append(names, f.clusters[i].name)
			}
		}
		if len(names) != count {
			return fmt.Errorf("version %s reached the clusters %v, expected %s", version, names, clusters(count))
		}
		return nil
	}}
}

// oneAfterTheOther proves, based on the ManifestWorks, that each cluster had a version for some time before the next cluster got it.
func oneAfterTheOther(version string) check {
	return check{"the hub reached one cluster after the other", func(f *facts) error {
		var times []time.Time
		for i := range f.clusters {
			cluster := &f.clusters[i]
			if got := f.version(cluster.hash()); got != version {
				return fmt.Errorf("the ManifestWork of %s has version %q, expected %q", cluster.name, got, version)
			}
			at, err := time.Parse(time.RFC3339Nano, cluster.work.Annotations[workv1alpha1.AnnotationAppliedAt])
			if err != nil {
				return fmt.Errorf("the ManifestWork of %s does not say when its revision was applied: %w", cluster.name, err)
			}
			times = append(times, at)
		}
		slices.SortFunc(times, time.Time.Compare)
		for i := 1; i < len(times); i++ {
			if gap := times[i].Sub(times[i-1]); gap < minSuccessTime {
				return fmt.Errorf("two clusters were reached within %v, expected at least %v", gap, minSuccessTime)
			}
		}
		return nil
	}}
}

func clusters(count int) string {
	if count == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", count)
}

// revisionCount verifies the number of revisions that the hub keeps.
func revisionCount(count int) check {
	return check{fmt.Sprintf("number of revisions that the hub keeps: %d", count), func(f *facts) error {
		if len(f.revisions) != count {
			return fmt.Errorf("there are %d revisions, expected %d", len(f.revisions), count)
		}
		return nil
	}}
}

// abortedTime verifies that the hub has aborted the rollout, or that it has not.
func abortedTime(set bool) check {
	text := "no rollout is aborted"
	if set {
		text = "the hub aborted the rollout"
	}
	return check{text, func(f *facts) error {
		if got := f.mwrs.Status.AbortedTime; (got != nil) != set {
			return fmt.Errorf("status.abortedTime is %v, expected it to be set: %v", got, set)
		}
		return nil
	}}
}

// allConfirmed verifies that every cluster has confirmed the restored revision.
func allConfirmed(count int) check {
	return check{"the hub heard from every cluster that it is back", func(f *facts) error {
		want, got := fmt.Sprintf("confirmed by %d of %s", count, clusters(count)), ""
		if progressing := meta.FindStatusCondition(f.mwrs.Status.Conditions, workv1alpha1.ConditionProgressing); progressing != nil {
			got = progressing.Message
		}
		if !strings.Contains(got, want) {
			return fmt.Errorf("the condition Progressing says %q, expected %q", got, want)
		}
		return nil
	}}
}

// atMostOneUnderWay verifies that at most one cluster is in progress. It must hold during a whole rollout, because of maxConcurrency.
func atMostOneUnderWay(f *facts) error {
	var names []string
	for i := range f.clusters {
		cluster := &f.clusters[i]
		if cluster.hash() == "" || cluster.hash() != f.mwrs.Status.UpdateRevision {
			continue
		}
		if cluster.version() != f.version(cluster.hash()) || !cluster.healthy() {
			names = append(names, cluster.name)
		}
	}
	if len(names) > 1 {
		return fmt.Errorf("the clusters %v take the new revision at the same time, expected one at a time", names)
	}
	return nil
}
