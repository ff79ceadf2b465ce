package status_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

const minute = time.Minute

var now = metav1.NewTime(rt.At(10 * minute))

// input is a status at 10m, of generation 7, of what rollout.Decide finds in a snapshot.
func input(stage status.Stage, options ...rt.SnapshotOption) *status.Input {
	s := rt.Snapshot(append([]rt.SnapshotOption{rt.Now(10 * minute)}, options...)...)
	return &status.Input{
		Object: &workv1alpha1.ManifestWorkReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: rt.OwnerName, Namespace: rt.OwnerNamespace, Generation: 7},
		},
		Revisions: status.Revisions{UpdateRevision: s.Update.Hash},
		Stage:     stage, Snapshot: s, Plan: rollout.Decide(s), Now: now,
	}
}

func p1(options ...rt.RefOption) rt.SnapshotOption {
	return rt.Refs(rt.Ref("p1", append([]rt.RefOption{rt.Progressive(1), rt.Deadline("5m")}, options...)...))
}

func old(cluster string) rollout.Work { return rt.Work(cluster, rt.Bears("aaa"), rt.Succeeded(0)) }
func done(cluster string) rollout.Work {
	return rt.Work(cluster, rt.Bears("bbb"), rt.WrittenAt(2*minute), rt.Succeeded(3*minute))
}
func failed(cluster string) rollout.Work {
	return rt.Work(cluster, rt.Bears("bbb"), rt.WrittenAt(2*minute), rt.InFlight(2*minute))
}
func inFlight(cluster string) rollout.Work {
	return rt.Work(cluster, rt.Bears("bbb"), rt.WrittenAt(9*minute), rt.InFlight(9*minute))
}

// told is the conditions as "Type: Reason Status" and their messages, but for those that only repeat another one for kstatus.
func told(s workv1alpha1.ManifestWorkReplicaSetStatus) (heads, messages map[string]string) {
	heads, messages = map[string]string{}, map[string]string{}
	for _, c := range s.Conditions {
		if c.Type == workv1alpha1.ConditionReconciling || c.Type == workv1alpha1.ConditionStalled {
			continue
		}
		heads[c.Type] = c.Reason + " " + string(c.Status)
		messages[c.Type] = c.Message
	}
	return heads, messages
}

const (
	verified    = workv1alpha1.ConditionPlacementVerified
	applied     = workv1alpha1.ConditionManifestworkApplied
	progressing = workv1alpha1.ConditionProgressing
	rolledOut   = workv1alpha1.ConditionPlacementRolledOut
)

// TestSoakThatHasNoEffect: OCM's strategy All knows no soak, and Progressing says so, while the rollout goes on and when it is complete.
func TestSoakThatHasNoEffect(t *testing.T) {
	const want = "minSuccessTime has no effect with type All: p1 (5m0s)"
	two := rt.Clusters("c1", "c2")
	for _, in := range []*status.Input{
		input(status.RollingOut, rt.Refs(rt.Ref("p1", rt.Soak(5*minute), two)), rt.Works(inFlight("c1"))),
		input(status.Complete, rt.Refs(rt.Ref("p1", rt.Soak(5*minute), two)), rt.Works(done("c1"), done("c2"))),
	} {
		if _, messages := told(status.Build(in)); !strings.HasSuffix(messages[progressing], want) {
			t.Errorf("%s: %q", in.Stage, messages[progressing])
		}
	}
	if _, messages := told(status.Build(input(status.RollingOut, p1(two, rt.Soak(minute))))); strings.Contains(messages[progressing], "no effect") {
		t.Errorf("%q", messages[progressing])
	}
}

// noneYet is what the conditions say where no rollout was complete yet.
const noneYet = "there is no stable revision to go back to: no rollout was complete yet; repair the clusters, or put a good template into the spec"

// TestConditions is the README's table of conditions, row by row, with what the messages must name.
func TestConditions(t *testing.T) {
	two := rt.Clusters("c1", "c2")
	for name, tc := range map[string]struct {
		in   *status.Input
		want [4]string
		// says holds, by condition, what its message is; conditions that are not listed may say anything.
		says map[string]string
	}{
		"rolling out a created revision": {
			in:   input(status.RollingOut, p1(two), rt.Works(inFlight("c1"), old("c2"))),
			want: [4]string{"AsExpected True", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				verified:    "2 clusters selected",
				applied:     "0 of 2 clusters succeeded, 1 in flight, 1 waiting",
				progressing: "revision web-bbb: 0 of 2 clusters succeeded, 1 in flight, 1 waiting",
				rolledOut:   "0 of 2 clusters succeeded, 1 in flight, 1 waiting",
			},
		},
		"rolling out a found revision": {
			in: input(status.RollingOut, p1(two), rt.Works(done("c1"), old("c2")),
				rt.Updating(rt.Revision("bbb", rt.ReusedAt(minute)))),
			want: [4]string{"AsExpected True", "Processing False", "FoundNewRevision True", "Progressing False"},
			says: map[string]string{progressing: "revision web-bbb: 1 of 2 clusters succeeded, 1 waiting"},
		},
		"the last one soaks": {
			in:   input(status.RollingOut, p1(two, rt.Soak(time.Hour)), rt.Works(done("c1"), done("c2"))),
			want: [4]string{"AsExpected True", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{applied: "0 of 2 clusters succeeded, 2 soaking"},
		},
		"rolling out with a tolerated failure": {
			in:   input(status.RollingOut, p1(two, rt.MaxFailures(1)), rt.Works(failed("c1"), old("c2"))),
			want: [4]string{"AsExpected True", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				progressing: "revision web-bbb: 0 of 2 clusters succeeded, 1 waiting, 1 failed; 1 cluster (c1) not successful within the progressDeadline",
			},
		},
		"waiting for decisions": {
			in:   input(status.RollingOut, p1(rt.Clusters("c1"), rt.Expecting(2)), rt.Works(done("c1"))),
			want: [4]string{"AsExpected True", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{rolledOut: "1 of 1 cluster succeeded; waiting for the decisions of Placement p1"},
		},
		"complete": {
			in:   input(status.Complete, rt.Rolling("bbb", "bbb"), p1(two), rt.Works(done("c1"), done("c2"))),
			want: [4]string{"AsExpected True", "AsExpected True", "NewManifestWorkAvailable False", "Complete True"},
			says: map[string]string{
				applied:     "2 clusters as wanted",
				progressing: "New revision web-bbb is successfully progressed",
				rolledOut:   "2 clusters at revision web-bbb",
			},
		},
		"complete, and one joins": {
			in:   input(status.Complete, rt.Rolling("bbb", "bbb"), p1(two), rt.Works(done("c1"))),
			want: [4]string{"AsExpected True", "Processing False", "NewManifestWorkAvailable False", "Progressing False"},
		},
		"complete, and one relapses": {
			in:   input(status.Complete, rt.Rolling("bbb", "bbb"), p1(two), rt.Works(done("c1"), failed("c2"))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "NewManifestWorkAvailable False", "RolloutDegraded False"},
		},
		"failed, no abort": {
			in:   input(status.Stalled, p1(two), rt.Works(failed("c1"), old("c2"))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "ProgressDeadlineExceeded False", "RolloutDegraded False"},
			says: map[string]string{
				applied:     "1 cluster (c1) not successful within the progressDeadline",
				progressing: "the rollout of revision web-bbb is stalled: 1 cluster (c1) not successful within the progressDeadline",
				rolledOut:   "1 cluster (c1) not successful within the progressDeadline",
			},
		},
		"failed, and nothing to go back to": {
			in:   input(status.Stalled, rt.Rolling("", "bbb"), p1(two, rt.AbortAll()), rt.Works(failed("c1"), old("c2"))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "ProgressDeadlineExceeded False", "RolloutDegraded False"},
			says: map[string]string{
				progressing: "the rollout of revision web-bbb is stalled: 1 cluster (c1) not successful within the progressDeadline; " +
					"failureStrategy AbortAll can't be followed: " + noneYet,
			},
		},
		"failed, nothing to go back to, and one is in flight": {
			in:   input(status.RollingOut, rt.Rolling("", "bbb"), p1(two, rt.AbortAll()), rt.Works(failed("c1"), inFlight("c2"))),
			want: [4]string{"AsExpected True", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				progressing: "revision web-bbb: 0 of 2 clusters succeeded, 1 in flight, 1 failed; 1 cluster (c1) not successful within the progressDeadline; " +
					"failureStrategy AbortAll can't be followed: " + noneYet,
			},
		},
		"complete, and then nothing is selected": {
			in:   input(status.Complete, rt.Rolling("bbb", "bbb"), p1()),
			want: [4]string{"PlacementDecisionEmpty False", "PlacementDecisionEmpty False", "NewManifestWorkAvailable False", "Progressing False"},
			says: map[string]string{rolledOut: "the placements select no cluster"},
		},
		"a completed work does not go back": {
			in: input(status.Aborted, rt.Aborted(), p1(two), rt.Works(old("c1"),
				rt.Work("c2", rt.Bears("aaa"), rt.Generation(3), rt.IsComplete(0, rt.Observed(2))))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "RolloutAborted False", "RolloutDegraded False"},
			says: map[string]string{
				progressing: "the rollout of revision web-bbb was aborted; rolling back to revision web-aaa, confirmed by 1 of 2 clusters; " +
					"1 cluster (c2) completed at another revision: agents leave a completed work as it is, delete it to have revision web-aaa there",
			},
		},
		"a completed work takes no new revision": {
			in: input(status.Stalled, p1(two), rt.Works(done("c1"),
				rt.Work("c2", rt.Bears("bbb"), rt.Generation(2), rt.IsComplete(0, rt.Observed(1))))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "ProgressDeadlineExceeded False", "RolloutDegraded False"},
			says: map[string]string{
				applied: "1 cluster (c2) completed at an older revision: agents leave a completed work as it is, delete it to have the new revision there",
			},
		},
		"abort decided, not yet carried out": {
			in:   because(input(status.Aborting, rt.Aborted(), p1(two), rt.Works(failed("c1"), old("c2"))), "c1 failed"),
			want: [4]string{"AsExpected True", "NotAsExpected False", "ProgressDeadlineExceeded False", "Progressing False"},
			says: map[string]string{
				applied:     "the rollout was aborted",
				progressing: "the rollout of revision web-bbb is being aborted: c1 failed; rolling back to revision web-aaa, confirmed by 1 of 2 clusters",
				rolledOut:   "rolling back to revision web-aaa, confirmed by 1 of 2 clusters",
			},
		},
		"aborted": {
			in:   because(input(status.Aborted, rt.Aborted(), p1(two), rt.Works(old("c1"), old("c2"))), "c1 failed"),
			want: [4]string{"AsExpected True", "NotAsExpected False", "RolloutAborted False", "RolloutDegraded False"},
			says: map[string]string{
				progressing: "the rollout of revision web-bbb was aborted: c1 failed; rolled back to revision web-aaa, confirmed by 2 of 2 clusters",
			},
		},
		"aborted, one can't be written": {
			in:   with(input(status.Aborted, rt.Aborted(), p1(two), rt.Works(old("c1"), failed("c2"))), "cluster c2: denied by a webhook"),
			want: [4]string{"AsExpected True", "NotAsExpected False", "RolloutAborted False", "RolloutDegraded False"},
			says: map[string]string{
				applied:     "the rollout was aborted; cluster c2: denied by a webhook",
				progressing: "the rollout of revision web-bbb was aborted; rolling back to revision web-aaa, confirmed by 1 of 2 clusters; cluster c2: denied by a webhook",
			},
		},
		"aborting, and the current revision is lost": {
			in:   input(status.Aborting, rt.Rolling("", "bbb"), rt.Aborted(), p1(two), rt.Works(failed("c1"), old("c2"))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "ProgressDeadlineExceeded False", "Progressing False"},
			says: map[string]string{rolledOut: noneYet},
		},
		"a problem while rolling out": {
			in:   with(input(status.RollingOut, p1(two), rt.Works(inFlight("c1"), old("c2"))), "a: fix it", "b: fix it"),
			want: [4]string{"AsExpected True", "NotAsExpected False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{applied: "a: fix it; b: fix it"},
		},
		"a Placement is missing": {
			in:   input(status.RollingOut, rt.Refs(rt.Ref("p1", two), rt.Ref("p2", rt.Missing())), rt.Works(inFlight("c1"), inFlight("c2"))),
			want: [4]string{"PlacementDecisionNotFound False", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				verified:    `spec.placementRefs[1].name: there is no Placement "p2" in namespace default: create it, or take the reference out; until then no work is deleted`,
				progressing: "revision web-bbb: 0 of 2 clusters succeeded, 2 in flight; waiting for Placement p2",
			},
		},
		"a strategy can't be read": {
			in:   input(status.RollingOut, p1(two, rt.Deadline("5 minutes")), rt.Works(done("c1"))),
			want: [4]string{"NotAsExpected False", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				verified: `spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline: "5 minutes" is no deadline: use None, or a duration above zero such as 90s, 10m or 2h`,
			},
		},
		"nothing is selected": {
			in:   input(status.RollingOut, p1()),
			want: [4]string{"PlacementDecisionEmpty False", "PlacementDecisionEmpty False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				verified: "the placements select no cluster: see the status of the Placements that spec.placementRefs names",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := status.Build(tc.in)
			heads, messages := told(got)
			want := map[string]string{verified: tc.want[0], applied: tc.want[1], progressing: tc.want[2], rolledOut: tc.want[3]}
			if diff := cmp.Diff(want, heads); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			for conditionType, says := range tc.says {
				if messages[conditionType] != says {
					t.Errorf("%s says\n%s\nwant\n%s", conditionType, messages[conditionType], says)
				}
			}
			for _, c := range got.Conditions {
				if c.ObservedGeneration != 7 || !c.LastTransitionTime.Equal(&now) || c.Message == "" {
					t.Errorf("%+v", c)
				}
			}
			stable(t, tc.in, got)
		})
	}
}

func because(in *status.Input, reason string) *status.Input {
	in.AbortReason = reason
	return in
}

func with(in *status.Input, problems ...string) *status.Input {
	in.Problems = problems
	return in
}

// stable is P7: a status built on itself, later, is the same.
func stable(t *testing.T, in *status.Input, first workv1alpha1.ManifestWorkReplicaSetStatus) {
	t.Helper()
	again := *in
	again.Object = in.Object.DeepCopy()
	again.Object.Status = *first.DeepCopy()
	again.Now = metav1.NewTime(in.Now.Add(time.Hour))
	if diff := cmp.Diff(first, status.Build(&again)); diff != "" {
		t.Errorf("the same status is built otherwise the second time:\n%s", diff)
	}
	if diff := cmp.Diff(first, again.Object.Status); diff != "" {
		t.Errorf("Build changed the object's status:\n%s", diff)
	}
}

// TestOwnerLabel is the last row of the table: the message says 63.
func TestOwnerLabel(t *testing.T) {
	c := status.InvalidOwnerLabel(strings.Repeat("n", 70))
	if c.Type != applied || c.Reason != workv1alpha1.ReasonInvalidManifestWorkName || c.Status != metav1.ConditionFalse {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{"63", "70", workv1alpha1.LabelReplicaSet, "use a shorter name or namespace"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("%q does not say %q", c.Message, want)
		}
	}
}

func TestInvalidSpec(t *testing.T) {
	c := status.InvalidSpec("spec.x: fix it")
	if c.Type != applied || c.Reason != workv1alpha1.ReasonNotAsExpected || c.Status != metav1.ConditionFalse || c.Message != "spec.x: fix it" {
		t.Errorf("%+v", c)
	}
}

// TestTransitionTimes change with the status of a condition, and with nothing else.
func TestTransitionTimes(t *testing.T) {
	in := input(status.RollingOut, p1(rt.Clusters("c1", "c2")), rt.Works(inFlight("c1"), old("c2")))
	in.Object.Status = status.Build(in)
	in.Object.Status.Conditions = append(in.Object.Status.Conditions, metav1.Condition{Type: "Foreign", Status: metav1.ConditionTrue, LastTransitionTime: now})

	moved := input(status.Stalled, p1(rt.Clusters("c1", "c2")), rt.Works(failed("c1"), old("c2")))
	moved.Object.Status, moved.Object.Generation, moved.Now = in.Object.Status, 8, metav1.NewTime(now.Add(minute))
	changed := map[string]bool{}
	for _, c := range status.Build(moved).Conditions {
		changed[c.Type] = c.LastTransitionTime.Time.Equal(moved.Now.Time)
		if c.Type != "Foreign" && c.ObservedGeneration != 8 {
			t.Errorf("%s observed generation %d", c.Type, c.ObservedGeneration)
		}
	}
	want := map[string]bool{verified: false, applied: false, progressing: true, rolledOut: false, "Foreign": false,
		workv1alpha1.ConditionStalled: true}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("transition times that changed (-want +got):\n%s", diff)
	}
}

// TestMessagesAreBounded: far below what the API server takes, and never cut within a character, which the API server would
// store otherwise, so that the status would be written again and again.
func TestMessagesAreBounded(t *testing.T) {
	for _, problem := range []string{strings.Repeat("a", 1<<20), strings.Repeat("ä", 1<<14), "a" + strings.Repeat("ä", 1<<14), strings.Repeat("a€", 1<<13)} {
		in := with(input(status.RollingOut, p1(rt.Clusters("c1"))), problem)
		got := status.Build(in)
		message := meta.FindStatusCondition(got.Conditions, applied).Message
		if len(message) > 5000 || len(message) < 4000 || !utf8.ValidString(message) || !strings.HasSuffix(message, " …") {
			t.Errorf("%d bytes, valid %v, ends with %q", len(message), utf8.ValidString(message), message[len(message)-5:])
		}
		stable(t, in, got)
	}
	exact := strings.Repeat("a", 4096)
	got := status.Build(with(input(status.RollingOut, p1(rt.Clusters("c1"))), exact))
	if message := meta.FindStatusCondition(got.Conditions, applied).Message; message != exact {
		t.Errorf("%d bytes", len(message))
	}
}

// TestSummary counts works by their own generation, per placement, and clusters once.
func TestSummary(t *testing.T) {
	works := rt.Works(
		done("c1"),
		rt.Work("c2", rt.Bears("bbb"), rt.InFlight(0)),
		rt.Work("c3", rt.Bears("bbb"), rt.Generation(2), rt.Applied(0, rt.Observed(1)), rt.Available(0, rt.Observed(1)),
			rt.IsDegraded(0, rt.Observed(1)), rt.Progresses(0, rt.Observed(1))),
		rt.Work("d1", rt.OfPlacement("p2"), rt.Bears("bbb"), rt.Applied(0), rt.Available(0, rt.Observed(0)), rt.IsDegraded(0)),
		rt.Work("e1", rt.OfPlacement("gone"), rt.Bears("aaa"), rt.Succeeded(0), rt.Deleting()),
	)
	refs := rt.Refs(
		rt.Ref("p1", rt.Group("a", "c1", "c2"), rt.Group("b", "c3")),
		rt.Ref("p2", rt.Clusters("c1", "d1", "d2")),
		rt.Ref("p3", rt.Missing()),
	)
	got := status.Build(input(status.RollingOut, refs, works))
	type counts = upstream.ManifestWorkReplicaSetSummary
	total := counts{Total: 5, Applied: 4, Available: 3, Degraded: 1, Progressing: 1, DesiredTotal: 5, Updated: 1}
	if diff := cmp.Diff(total, got.Summary); diff != "" {
		t.Errorf("summary:\n%s", diff)
	}
	placements := []upstream.PlacementSummary{
		{Name: "p1", AvailableDecisionGroups: "2 (3 / 3 clusters applied)",
			Summary: counts{Total: 3, Applied: 2, Available: 1, Progressing: 1, DesiredTotal: 3, Updated: 1}},
		{Name: "p2", AvailableDecisionGroups: "1 (1 / 3 clusters applied)",
			Summary: counts{Total: 1, Applied: 1, Available: 1, Degraded: 1, DesiredTotal: 2}},
		{Name: "p3", AvailableDecisionGroups: "0 (0 / 0 clusters applied)"},
	}
	if diff := cmp.Diff(placements, got.PlacementsSummary); diff != "" {
		t.Errorf("placementSummary:\n%s", diff)
	}
}

// TestSummaryTwice: a placement that is referred to twice is counted once.
func TestSummaryTwice(t *testing.T) {
	got := status.Build(input(status.RollingOut, rt.Works(done("c1")), rt.Refs(rt.Ref("p1", rt.Clusters("c1")), rt.Ref("p1", rt.Clusters("c1")))))
	if got.PlacementsSummary[0].Summary.Total != 1 || got.PlacementsSummary[1].Summary.Total != 0 || got.Summary.DesiredTotal != 1 || got.Summary.Total != 1 {
		t.Errorf("%+v %+v", got.Summary, got.PlacementsSummary)
	}
}

// TestAvailableDecisionGroups says how far today's template came, as upstream's hub does: a work counts once it is written, whatever its
// agent reports, and the works of the older revision don't.
func TestAvailableDecisionGroups(t *testing.T) {
	selected := p1(rt.Group("a", "c1", "c2"), rt.Group("b", "c3"))
	edited := rt.Work("c2", rt.Bears("bbb"), rt.Edited())
	unselected := rt.Work("c4", rt.Bears("bbb"), rt.InFlight(0), rt.Unselected(10*minute))
	for name, tc := range map[string]struct {
		in   *status.Input
		want string
	}{
		"nothing written yet": {
			in:   input(status.RollingOut, selected, rt.Works(old("c1"), old("c2"), old("c3"))),
			want: "2 (0 / 3 clusters applied)",
		},
		"one succeeded, one is in flight": {
			in:   input(status.RollingOut, selected, rt.Works(done("c1"), inFlight("c2"), old("c3"))),
			want: "2 (2 / 3 clusters applied)",
		},
		"one was edited by hand": {
			in:   input(status.RollingOut, selected, rt.Works(done("c1"), edited, old("c3"))),
			want: "2 (1 / 3 clusters applied)",
		},
		"one is not selected any more": {
			in:   input(status.RollingOut, selected, rt.Works(done("c1"), done("c2"), done("c3"), unselected)),
			want: "2 (3 / 3 clusters applied)",
		},
		"aborted": {
			in:   input(status.Aborted, rt.Aborted(), selected, rt.Works(old("c1"), old("c2"), old("c3"))),
			want: "2 (0 / 3 clusters applied)",
		},
	} {
		if got := status.Build(tc.in).PlacementsSummary[0].AvailableDecisionGroups; got != tc.want {
			t.Errorf("%s: %s, wanted %s", name, got, tc.want)
		}
	}
}

// TestUpdated counts clusters at the update revision, and none once an abort is carried out.
func TestUpdated(t *testing.T) {
	snapshot := []rt.SnapshotOption{p1(rt.Clusters("c1", "c2")), rt.Works(done("c1"), old("c2"))}
	for stage, want := range map[status.Stage]int{status.RollingOut: 1, status.Stalled: 1, status.Aborting: 1, status.Aborted: 0} {
		got := status.Build(input(stage, snapshot...))
		if got.Summary.Updated != want || got.PlacementsSummary[0].Summary.Updated != want || got.Summary.DesiredTotal != 2 {
			t.Errorf("%s: %+v", stage, got.Summary)
		}
	}
}

// TestRevisions: the fields that decide are written as they were decided.
func TestRevisions(t *testing.T) {
	collisions := int32(3)
	in := input(status.Aborted, rt.Aborted(), p1(rt.Clusters("c1")), rt.Works(old("c1")))
	in.Revisions = status.Revisions{CollisionCount: &collisions, CurrentRevision: "aaa", UpdateRevision: "bbb", AbortedTime: &now}
	got := status.Build(in)
	if diff := cmp.Diff(in.Revisions, status.RevisionsOf(&got)); diff != "" {
		t.Error(diff)
	}
}

// TestPlacementVerifiedNamesAll: several missing Placements and several bad fields are all named.
func TestPlacementVerifiedNamesAll(t *testing.T) {
	in := input(status.RollingOut, rt.Refs(rt.Ref("p1", rt.Missing()), rt.Ref("p2", rt.Missing())))
	if c := status.PlacementVerified(in); !strings.Contains(c.Message, "spec.placementRefs[0]") || !strings.Contains(c.Message, "spec.placementRefs[1]") {
		t.Error(c.Message)
	}
	in = input(status.RollingOut, p1(rt.Clusters("c1")))
	in.Plan.Refs[0].Err = errors.New("one")
	in.Plan.Refs = append(in.Plan.Refs, rollout.RefOutcome{Err: fmt.Errorf("two")})
	if c := status.PlacementVerified(in); c.Message != "one; two" {
		t.Error(c.Message)
	}
}

// TestIgnoredRefsAreNamed: of too many placementRefs the first count, and the conditions say what that means. What is complete stays so (R8, R13).
func TestIgnoredRefsAreNamed(t *testing.T) {
	const said = "spec.placementRefs has 7 entries and the first 1 count: clusters that only the others select get no new revision and keep their works, " +
		"no work is deleted and no rollout completes; select more clusters with each Placement, or make several ManifestWorkReplicaSets"
	for stage, want := range map[status.Stage]string{status.RollingOut: "NewRevisionCreated True", status.Complete: "NewManifestWorkAvailable False"} {
		heads, messages := told(status.Build(input(stage, p1(rt.Clusters("c1")), rt.Works(done("c1")), rt.IgnoredRefs(6))))
		if heads[verified] != "NotAsExpected False" || messages[verified] != said || heads[progressing] != want {
			t.Errorf("%s: %s, %q, %s", stage, heads[verified], messages[verified], heads[progressing])
		}
		if waits := strings.Contains(messages[progressing], "no rollout completes while spec.placementRefs has more than 1 entries"); waits != (stage == status.RollingOut) {
			t.Errorf("%s: %q", stage, messages[progressing])
		}
	}
	heads, messages := told(status.Build(input(status.RollingOut, p1(rt.Missing()), rt.IgnoredRefs(6))))
	if heads[verified] != "PlacementDecisionNotFound False" || !strings.HasPrefix(messages[verified], said+"; spec.placementRefs[0].name: there is no Placement") {
		t.Errorf("%s: %q", heads[verified], messages[verified])
	}
}

// TestLargerHistoryLimitIsNamed: Progressing says in every stage that less of the history is kept than the spec asks for, and nothing else changes (R5).
func TestLargerHistoryLimitIsNamed(t *testing.T) {
	const said = "spec.revisionHistoryLimit is 101 and 100 counts: of the old revisions the newest 100 are kept; set it to at most 100"
	for _, stage := range []status.Stage{status.RollingOut, status.Stalled, status.Complete, status.Aborting, status.Aborted} {
		in := input(stage, p1(rt.Clusters("c1")), rt.Works(done("c1")))
		in.PrunedNote = "a note"
		in.Object.Spec.RevisionHistoryLimit = ptr.To[int32](100)
		before, words := told(status.Build(in))
		in.Object.Spec.RevisionHistoryLimit = ptr.To[int32](101)
		heads, messages := told(status.Build(in))
		if !maps.Equal(heads, before) || messages[progressing] != words[progressing]+"; "+said || messages[applied] != words[applied] {
			t.Errorf("%s: %v, %q, before %v, %q", stage, heads, messages, before, words)
		}
	}
}

// TestUnheardClustersAreNamed names the clusters whose agents were not heard over a broker, and what the reader can do (R11).
func TestUnheardClustersAreNamed(t *testing.T) {
	const named = "1 cluster (c1) not heard since this hub started: no progressDeadline fires there before the agent reports; " +
		"connect the agent to the broker, or take the cluster out of the Placement"
	fleet := p1(rt.Clusters("c1", "c2"))
	for name, tc := range map[string]struct {
		stage status.Stage
		works []rollout.Work
		of    []string
	}{
		"in flight": {status.RollingOut, []rollout.Work{inFlight("c1"), done("c2")}, []string{"Progressing", "PlacementRolledOut"}},
		"stalled": {status.Stalled, []rollout.Work{failed("c1"), done("c2")},
			[]string{"Progressing", "PlacementRolledOut", "ManifestworkApplied"}},
		"aborted": {status.Aborted, []rollout.Work{old("c1"), old("c2")}, []string{"Progressing", "PlacementRolledOut"}},
	} {
		t.Run(name, func(t *testing.T) {
			options := []rt.SnapshotOption{fleet, rt.Heard(0, "c2"), rt.Works(tc.works...)}
			if tc.stage == status.Aborted {
				options = append(options, rt.Aborted())
			}
			_, messages := told(status.Build(input(tc.stage, options...)))
			for _, condition := range tc.of {
				if !strings.Contains(messages[condition], named) {
					t.Errorf("%s: %q", condition, messages[condition])
				}
			}
		})
	}
}
