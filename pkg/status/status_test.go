package status_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

const minute = time.Minute

var now = metav1.NewTime(rt.At(10 * minute))

// input returns the input of a status at 10m, of generation 7, with the plan that rollout.Decide makes for a snapshot.
func input(stage status.Stage, options ...rt.SnapshotOption) *status.Input {
	s := rt.Snapshot(append([]rt.SnapshotOption{rt.Now(10 * minute)}, options...)...)
	in := &status.Input{
		Object: &workv1alpha1.ManifestWorkReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: rt.OwnerName, Namespace: rt.OwnerNamespace, Generation: 7},
		},
		Ledger: &ledger.Ledger{Format: ledger.Format, Seq: 1, Update: ledger.Named{Hash: s.Update.Hash}},
		Stage:  stage, Snapshot: s, Plan: rollout.Decide(s), Now: now,
	}
	in.Ledger.Counted = in.Plan.Records.Counted
	return in
}

// build builds a status without an error.
func build(in *status.Input) workv1alpha1.ManifestWorkReplicaSetStatus {
	built, err := status.Build(in)
	if err != nil {
		panic(err)
	}
	return built
}

func p1(options ...rt.RefOption) rt.SnapshotOption {
	return rt.Refs(rt.Ref("p1", append([]rt.RefOption{rt.Progressive(1), rt.Deadline("5m")}, options...)...))
}

func skip(ref *placement.Ref) { ref.Strategy.UnavailableClusters = workv1alpha1.SkipUnavailable }

func onHold(cluster string) rt.SnapshotOption {
	return func(s *rollout.Snapshot) { s.Holds = map[string]placement.Hold{cluster: {Reason: "maintenance"}} }
}

func old(cluster string) work.Work { return rt.Work(cluster, rt.AtRevision("aaa"), rt.Succeeded(0)) }
func done(cluster string) work.Work {
	return rt.Work(cluster, rt.AtRevision("bbb"), rt.WrittenAt(2*minute), rt.Succeeded(3*minute))
}
func failed(cluster string) work.Work {
	return rt.Work(cluster, rt.AtRevision("bbb"), rt.WrittenAt(2*minute), rt.InFlight(2*minute))
}
func inFlight(cluster string) work.Work {
	return rt.Work(cluster, rt.AtRevision("bbb"), rt.WrittenAt(9*minute), rt.InFlight(9*minute))
}

// told returns the conditions as "Type: Reason Status" and their messages, except conditions that only repeat another condition for
// kstatus.
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

// noneYet is the text in the conditions if no rollout has completed yet.
const noneYet = "there is no stable revision to return to: no rollout has completed yet; repair the clusters, or put a good template into the spec"

// TestConditions checks the table of docs/conditions.md, row by row, with the texts that the messages must contain.
func TestConditions(t *testing.T) {
	two := rt.Clusters("c1", "c2")
	for name, tc := range map[string]struct {
		in   *status.Input
		want [4]string
		// says holds the expected messages, by condition. Conditions that are not listed may have any message.
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
			want: [4]string{"PlacementDecisionNotFound False", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				verified:  `spec.placementRefs[0].name: the decisions of Placement "p1" are being written: they lack 1 of 2 clusters; until then, the hub does not start clusters`,
				rolledOut: "1 of 1 cluster succeeded; waiting for the decisions of Placement p1",
			},
		},
		"complete": {
			in:   input(status.Complete, rt.Rolling("bbb", "bbb"), p1(two), rt.Works(done("c1"), done("c2"))),
			want: [4]string{"AsExpected True", "AsExpected True", "NewManifestWorkAvailable False", "Complete True"},
			says: map[string]string{
				applied:     "2 clusters up to date",
				progressing: "New revision web-bbb is successfully progressed",
				rolledOut:   "2 clusters at revision web-bbb",
			},
		},
		"complete without clusters that are skipped and on hold": {
			in: input(status.Complete, rt.Rolling("bbb", "bbb"), p1(rt.Clusters("c1", "c2", "c3"), skip), rt.Works(done("c1"), old("c2"), old("c3")),
				rt.Unavailable(0, "c2"), onHold("c3")),
			want: [4]string{"AsExpected True", "AsExpected True", "NewManifestWorkAvailable False", "Complete True"},
			says: map[string]string{rolledOut: "1 of 3 clusters (1 skipped, 1 on hold) at revision web-bbb"},
		},
		"rolling out, and some are skipped and on hold": {
			in: input(status.RollingOut, p1(rt.Clusters("c1", "c2", "c3"), skip), rt.Works(inFlight("c1"), old("c2"), old("c3")),
				rt.Unavailable(0, "c2"), onHold("c3")),
			want: [4]string{"AsExpected True", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{rolledOut: "0 of 3 clusters succeeded, 1 in flight, 1 skipped, 1 on hold"},
		},
		"complete, and one joins": {
			in:   input(status.Complete, rt.Rolling("bbb", "bbb"), p1(two), rt.Works(done("c1"))),
			want: [4]string{"AsExpected True", "Processing False", "NewManifestWorkAvailable False", "Progressing False"},
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
		"failed, and nothing to return to": {
			in:   input(status.Stalled, rt.Rolling("", "bbb"), p1(two, rt.AbortAll()), rt.Works(failed("c1"), old("c2"))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "ProgressDeadlineExceeded False", "RolloutDegraded False"},
			says: map[string]string{
				progressing: "the rollout of revision web-bbb is stalled: 1 cluster (c1) not successful within the progressDeadline; " +
					"failureStrategy AbortAll has no effect: " + noneYet,
			},
		},
		"failed, nothing to return to, and one is in flight": {
			in:   input(status.RollingOut, rt.Rolling("", "bbb"), p1(two, rt.AbortAll()), rt.Works(failed("c1"), inFlight("c2"))),
			want: [4]string{"AsExpected True", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				progressing: "revision web-bbb: 0 of 2 clusters succeeded, 1 in flight, 1 failed; 1 cluster (c1) not successful within the progressDeadline; " +
					"failureStrategy AbortAll has no effect: " + noneYet,
			},
		},
		"complete, and then nothing is selected": {
			in:   input(status.Complete, rt.Rolling("bbb", "bbb"), p1()),
			want: [4]string{"PlacementDecisionEmpty False", "PlacementDecisionEmpty False", "NewManifestWorkAvailable False", "Progressing False"},
			says: map[string]string{rolledOut: "the placements select no cluster"},
		},
		"a completed work does not go back": {
			in: input(status.Aborted, rt.Aborted(), p1(two), rt.Works(old("c1"),
				rt.Work("c2", rt.AtRevision("aaa"), rt.Generation(3), rt.IsComplete(0, rt.Observed(2))))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "RolloutAborted False", "RolloutDegraded False"},
			says: map[string]string{
				progressing: "the rollout of revision web-bbb was aborted; rolling back to revision web-aaa, confirmed by 1 of 2 clusters; " +
					"1 cluster (c2) completed at another revision: agents do not change a completed ManifestWork, so delete it to get revision web-aaa there",
			},
		},
		"a completed work takes no new revision": {
			in: input(status.Stalled, p1(two), rt.Works(done("c1"),
				rt.Work("c2", rt.AtRevision("bbb"), rt.Generation(2), rt.IsComplete(0, rt.Observed(1))))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "ProgressDeadlineExceeded False", "RolloutDegraded False"},
			says: map[string]string{
				applied: "1 cluster (c2) completed at an older revision: agents do not change a completed ManifestWork, so delete it to get the new revision there",
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
		"a problem in an abort that is under way": {
			in:   with(input(status.Aborting, rt.Aborted(), p1(two), rt.Works(old("c1"), failed("c2"))), "the broker is not connected"),
			want: [4]string{"AsExpected True", "NotAsExpected False", "ProgressDeadlineExceeded False", "Progressing False"},
			says: map[string]string{
				progressing: "the rollout of revision web-bbb is being aborted; rolling back to revision web-aaa, confirmed by 1 of 2 clusters; the broker is not connected",
			},
		},
		"aborting, and the current revision is lost": {
			in:   input(status.Aborting, rt.Rolling("", "bbb"), rt.Aborted(), p1(two), rt.Works(failed("c1"), old("c2"))),
			want: [4]string{"AsExpected True", "NotAsExpected False", "ProgressDeadlineExceeded False", "Progressing False"},
			says: map[string]string{rolledOut: noneYet},
		},
		"a problem in an abort, and the current revision is lost": {
			in:   with(input(status.Aborted, rt.Rolling("", "bbb"), rt.Aborted(), p1(two), rt.Works(failed("c1"), old("c2"))), "a: fix it"),
			want: [4]string{"AsExpected True", "NotAsExpected False", "RolloutAborted False", "RolloutDegraded False"},
			says: map[string]string{
				progressing: "the rollout of revision web-bbb was aborted; " + noneYet + "; a: fix it",
				rolledOut:   noneYet,
			},
		},
		"a problem beside a rejection": {
			in: with(input(status.RollingOut, p1(two), rt.Works(done("c1"), old("c2")), rt.Rejected("c2", 8*minute, 9*minute)),
				"the API server rejects 1 ManifestWork", "writes of 1 ManifestWork keep failing"),
			want: [4]string{"AsExpected True", "NotAsExpected False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				progressing: "revision web-bbb: 1 of 2 clusters succeeded, 1 in flight; the API server rejects the ManifestWork of cluster c2: no quota in c2; " +
					"fix the cause: the hub retries the write at least once a minute; writes of 1 ManifestWork keep failing",
			},
		},
		"a problem while rolling out": {
			in:   with(input(status.RollingOut, p1(two), rt.Works(inFlight("c1"), old("c2"))), "a: fix it", "b: fix it"),
			want: [4]string{"AsExpected True", "NotAsExpected False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				applied:     "a: fix it; b: fix it",
				progressing: "revision web-bbb: 0 of 2 clusters succeeded, 1 in flight, 1 waiting; a: fix it; b: fix it",
			},
		},
		"a Placement is missing": {
			in:   input(status.RollingOut, rt.Refs(rt.Ref("p1", two), rt.Ref("p2", rt.Missing())), rt.Works(inFlight("c1"), inFlight("c2"))),
			want: [4]string{"PlacementDecisionNotFound False", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				verified:    `spec.placementRefs[1].name: there is no Placement "p2" in namespace default: create it, or remove the reference; until then, the hub does not start clusters or delete ManifestWorks`,
				progressing: "revision web-bbb: 0 of 2 clusters succeeded, 2 in flight; waiting for Placement p2",
			},
		},
		"a Placement is missing, and its clusters have been available for less than a minute": {
			in:   input(status.RollingOut, rt.Refs(rt.Ref("p1", rt.Missing())), rt.Works(inFlight("c1")), rt.AvailableAgain(10*minute-time.Second, "c1")),
			want: [4]string{"PlacementDecisionNotFound False", "PlacementDecisionEmpty False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{progressing: "revision web-bbb: 0 of 0 clusters succeeded; waiting for Placement p1"},
		},
		"a strategy can't be read": {
			in:   input(status.RollingOut, p1(two, rt.Deadline("5 minutes")), rt.Works(done("c1"))),
			want: [4]string{"NotAsExpected False", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				verified: `spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline: "5 minutes" is not a valid deadline: use None, or a duration above zero such as 90s, 10m or 2h`,
			},
		},
		"what is selected is not known": {
			in:   input(status.RollingOut, rt.Refs(rt.Ref("p1", rt.Missing()), rt.Ref("p2"))),
			want: [4]string{"PlacementDecisionNotFound False", "PlacementDecisionEmpty False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				applied:   "it is not known which clusters the placements select: see the condition PlacementVerified",
				rolledOut: "it is not known which clusters the placements select: see the condition PlacementVerified; waiting for Placement p1",
			},
		},
		"a cluster has just left a Placement with several slices": {
			in:   input(status.RollingOut, p1(rt.Clusters("c1"), rt.Slices(2)), rt.Works(done("c1"), rt.Work("c2", rt.AtRevision("bbb"), rt.WrittenAt(0), rt.Succeeded(0), rt.Unselected(minute)))),
			want: [4]string{"AsExpected True", "Processing False", "NewRevisionCreated True", "Progressing False"},
			says: map[string]string{
				rolledOut: "1 of 1 cluster succeeded; waiting for about 3m0s, because Placement p1 has just dropped 1 cluster (c2): " +
					"OCM may be moving clusters between its PlacementDecisions",
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
			got := build(tc.in)
			heads, messages := told(got)
			want := map[string]string{verified: tc.want[0], applied: tc.want[1], progressing: tc.want[2], rolledOut: tc.want[3]}
			require.Equal(t, want, heads, "reasons")
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
	in.Ledger.Abort = &revision.Abort{At: rt.At(minute), Reason: reason}
	return in
}

func with(in *status.Input, problems ...string) *status.Input {
	in.Problems, in.Rejection = problems, "the API server rejects 1 ManifestWork"
	return in
}

// stable checks P7: a status that is built from itself at a later time is the same.
func stable(t *testing.T, in *status.Input, first workv1alpha1.ManifestWorkReplicaSetStatus) {
	t.Helper()
	again := *in
	again.Object = in.Object.DeepCopy()
	again.Object.Status = *first.DeepCopy()
	again.Now = metav1.NewTime(in.Now.Add(time.Hour))
	require.Equal(t, first, build(&again), "the same status is built otherwise the second time")
	require.Equal(t, first, again.Object.Status, "Build changed the object's status")
}

// TestOwnerLabel checks the last row of the table: the message mentions 63.
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

// TestMessagesAreBounded: messages are far below the limit of the API server, and are never cut within a character. The API server would
// store such a character differently, so the status would be written in each pass.
func TestMessagesAreBounded(t *testing.T) {
	for _, problem := range []string{strings.Repeat("a", 1<<20), strings.Repeat("ä", 1<<14), "a" + strings.Repeat("ä", 1<<14), strings.Repeat("a€", 1<<13)} {
		in := with(input(status.RollingOut, p1(rt.Clusters("c1"))), problem)
		got := build(in)
		message := meta.FindStatusCondition(got.Conditions, applied).Message
		if len(message) > 5000 || len(message) < 4000 || !utf8.ValidString(message) || !strings.HasSuffix(message, "…") {
			t.Errorf("%d bytes, valid %v, ends with %q", len(message), utf8.ValidString(message), message[len(message)-5:])
		}
		stable(t, in, got)
	}
	exact := strings.Repeat("a", 4096)
	got := build(with(input(status.RollingOut, p1(rt.Clusters("c1"))), exact))
	if message := meta.FindStatusCondition(got.Conditions, applied).Message; message != exact {
		t.Errorf("%d bytes", len(message))
	}
}

// TestLedger: the status holds the ledger, and projects it.
func TestLedger(t *testing.T) {
	in := input(status.Aborted, rt.Aborted(), p1(rt.Clusters("c1")), rt.Works(old("c1")))
	l := &ledger.Ledger{
		Format: ledger.Format, Owner: "u1", Seq: 4, Update: ledger.Named{Hash: "bbb"}, Current: ledger.Named{Hash: "aaa"}, Collisions: 3,
		Abort:    &revision.Abort{At: now.Time, By: "alice", Said: "leaks memory", Reason: "alice set status.abortedTime: leaks memory"},
		Troubles: []ledger.Trouble{{Cluster: "c1", State: ledger.Failed, Since: rt.At(minute)}, {Cluster: "c2", State: ledger.TriedAgain, Since: rt.At(minute)}},
		Halted:   map[string]time.Time{"p1": rt.At(minute), "gone": rt.At(0)}, Counted: map[string]int{"p1": 7},
	}
	in.Ledger = l
	got := build(in)
	decoded, err := ledger.Decode(got.Ledger, "u1")
	require.NoError(t, err)
	require.True(t, decoded.Equal(l))
	require.Equal(t, []string{"bbb", "aaa", "alice", "leaks memory"}, []string{got.UpdateRevision, got.CurrentRevision, got.AbortedBy, got.AbortReason})
	require.Equal(t, int32(3), *got.CollisionCount)
	require.Equal(t, now, *got.AbortedTime)
	require.Equal(t, []workv1alpha1.ClusterFailure{{Cluster: "c1", Since: metav1.NewTime(rt.At(minute))}}, got.Failures)
	require.Equal(t, 1, got.Summary.Failed, "what the abort found, whatever the clusters report since")
	require.Equal(t, rt.At(minute), got.PlacementsSummary[0].HaltedTime.Time)
	require.Equal(t, int32(7), got.PlacementsSummary[0].Counted)
	stable(t, in, got)

	l.Ended = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err = status.Build(in)
	require.ErrorContains(t, err, "encoding the ledger")
}

// TestFreeze: the stored values of fields that another CRD drops do not change.
func TestFreeze(t *testing.T) {
	in := input(status.RollingOut, p1(rt.Clusters("c1", "c2")), rt.Works(inFlight("c1"), old("c2")))
	wanted := build(in)
	var stored workv1alpha1.ManifestWorkReplicaSetStatus
	status.Freeze(&wanted, &stored)
	full := build(in)
	require.Equal(t, full.Conditions, wanted.Conditions)
	require.Equal(t, full.Summary.ManifestWorkReplicaSetSummary, wanted.Summary.ManifestWorkReplicaSetSummary)
	require.Empty(t, wanted.Ledger+wanted.UpdateRevision+string(wanted.State))
	require.Zero(t, wanted.ObservedGeneration)
	require.Zero(t, wanted.Summary.Waiting+wanted.Summary.InFlight+wanted.PlacementsSummary[0].Summary.InFlight)
	require.Zero(t, wanted.PlacementsSummary[0].Counted)
	require.Equal(t, 2, full.PlacementsSummary[0].Summary.DesiredTotal)
	require.Equal(t, 2, wanted.PlacementsSummary[0].Summary.DesiredTotal)
	stored = *wanted.DeepCopy()
	status.Freeze(&full, &stored)
	require.Equal(t, stored, full)
}

// No condition and no event has control characters, wherever its text comes from: an agent, a webhook or a user.
func TestMessagesAreHarmless(t *testing.T) {
	const raw, harmless = "frozen by \x1b[31mpolicy\x1b[0m", `frozen by \x1b[31mpolicy\x1b[0m`
	var conditions []metav1.Condition
	status.Set(&conditions, metav1.Condition{Type: "Deleting", Message: raw}, 1, metav1.Now())
	require.Equal(t, harmless, conditions[0].Message)
	require.Equal(t, harmless, status.EventNote(raw))
}
