package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// revisionOf returns a revision with a number, created at Epoch, with changes to its record.
func revisionOf(hash string, number int64, marks ...func(*revision.Record)) revision.Revision {
	object := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: revision.Name(rt.OwnerName, hash), Namespace: rt.OwnerNamespace, CreationTimestamp: metav1.NewTime(rt.Epoch), Annotations: map[string]string{},
		},
		Revision: number,
	}
	found := revision.Revision{Object: object, Hash: hash, Template: rt.Template(hash), Digest: rt.DigestOf(hash)}
	for _, mark := range marks {
		mark(&found.Record)
	}
	return found
}

func abortedAt(since time.Duration) func(*revision.Record) {
	return func(r *revision.Record) { r.Abort = &revision.Abort{At: rt.At(since)} }
}

func retriedAt(since time.Duration) func(*revision.Record) {
	return func(r *revision.Record) { r.Retried = rt.At(since) }
}

// listing returns the input of a status with aaa as the current and bbb as the update revision, and with the given revisions.
func listing(stage status.Stage, works []work.Work, revisions ...revision.Revision) *status.Input {
	in := input(stage, p1(rt.Clusters("c1", "c2", "c3")), rt.Works(works...))
	in.Ledger.Current.Hash = "aaa"
	in.History = &revision.History{Revisions: revisions}
	return in
}

func works(all ...work.Work) []work.Work { return all }

// states returns the states in the list, with the number of clusters that have each revision, in order.
func states(in *status.Input) []string {
	var told []string
	listed := build(in).Revisions
	for i := range listed {
		told = append(told, fmt.Sprintf("%s %s %d", listed[i].Hash, listed[i].State, listed[i].Clusters))
	}
	return told
}

// The state of a revision is the first state that applies. aaa is the current revision, and bbb is the update revision.
func TestRevisionStates(t *testing.T) {
	for name, tc := range map[string]struct {
		stage status.Stage
		works []work.Work
		bbb   []func(*revision.Record)
		// aborted is status.abortedTime.
		aborted bool
		want    []string
	}{
		"the rollout is stalled": {status.Stalled, works(failed("c1"), old("c2")), nil, false, []string{"bbb NotReady 1", "aaa Available 1"}},
		"stalled, what has it is well": {
			status.Stalled, works(done("c1"), old("c2")), nil, false, []string{"bbb NotReady 1", "aaa Available 1"},
		},
		"stalled, and no work has it": {status.Stalled, works(old("c1")), nil, false, []string{"bbb Archived 0", "aaa Available 1"}},
		"the older revision is not well": {
			status.RollingOut, works(done("c1"), rt.Work("c2", rt.AtRevision("aaa"), rt.InFlight(0))), nil, false, []string{"bbb Progressing 1", "aaa NotReady 1"},
		},
		"an edited work": {
			status.Complete, works(done("c1"), rt.Work("c2", rt.AtRevision("bbb"), rt.Edited(), rt.InFlight(0))), nil, false, []string{"bbb NotReady 2", "aaa Archived 0"},
		},
		"the abort is decided, and no revision records it yet": {
			status.Aborting, works(failed("c1"), old("c2")), nil, true, []string{"bbb Aborted 1", "aaa Available 1"},
		},
		"nothing is selected": {status.RollingOut, nil, nil, false, []string{"bbb Progressing 0", "aaa Archived 0"}},
		"a cluster with two works": {
			status.Complete, works(done("c1"), rt.Work("c1", rt.Named("web-2"), rt.AtRevision("bbb"), rt.Succeeded(0)), done("c2")), nil, false,
			[]string{"bbb Available 2", "aaa Archived 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := listing(tc.stage, tc.works, revisionOf("aaa", 1), revisionOf("bbb", 2, tc.bbb...))
			if tc.aborted {
				in.Ledger.Abort = &revision.Abort{At: rt.At(minute)}
			}
			require.Equal(t, tc.want, states(in))
			in.Object.Spec.Paused, in.Snapshot.Paused = true, true
			require.Equal(t, tc.want, states(in), "a pause changes no state")
		})
	}
}

// If a user adds the owner label to a work, the work counts only if its cluster is selected.
func TestStrayWorksAreNotCounted(t *testing.T) {
	stray := func(cluster string) work.Work {
		w := rt.Work(cluster, rt.Named("anything"), rt.AtRevision("aaa"), rt.Succeeded(0))
		w.UnexpectedName = true
		return w
	}
	in := listing(status.Complete, works(done("c1"), done("c2"), stray("c3"), stray("c4"), stray("c5")), revisionOf("aaa", 1), revisionOf("bbb", 2))
	require.Equal(t, []string{"bbb Available 2", "aaa Available 1"}, states(in))
}

// A revision that was aborted stays Aborted through later rollouts. A revision that can't be read has the state that its works show.
func TestStatesOfOlderRevisions(t *testing.T) {
	unreadable := revisionOf("ccc", 0)
	unreadable.Err, unreadable.Template, unreadable.Digest = fmt.Errorf("no template"), nil, ""
	in := listing(status.Complete, works(done("c1"), rt.Work("c2", rt.AtRevision("ccc"), rt.InFlight(0))),
		unreadable, revisionOf("ddd", 3, abortedAt(0)), revisionOf("bbb", 4))
	require.Equal(t, []string{"bbb Available 1", "ddd Aborted 0", "ccc NotReady 1"}, states(in))
}

// At most 16 revisions are listed, newest first: the current and the update revision, those that works have, and then the newest.
func TestBoundOfTheList(t *testing.T) {
	hashes := func(in *status.Input) []string {
		var told []string
		for _, rev := range build(in).Revisions {
			told = append(told, rev.Hash)
		}
		return told
	}
	var all []revision.Revision
	all = append(all, revisionOf("aaa", 1))
	for i := range 30 {
		all = append(all, revisionOf(fmt.Sprintf("r%02d", i), int64(i+2)))
	}
	all = append(all, revisionOf("bbb", 40))
	var borne []work.Work
	for i := range 3 {
		borne = append(borne, rt.Work(fmt.Sprintf("c%d", i+1), rt.AtRevision(fmt.Sprintf("r%02d", i)), rt.Succeeded(0)))
	}
	in := listing(status.RollingOut, borne, all...)
	want := []string{"bbb"}
	for i := 29; i >= 19; i-- {
		want = append(want, fmt.Sprintf("r%02d", i))
	}
	require.Equal(t, append(want, "r02", "r01", "r00", "aaa"), hashes(in))

	for i := 3; i < 20; i++ {
		borne = append(borne, rt.Work(fmt.Sprintf("c%d", i+1), rt.AtRevision(fmt.Sprintf("r%02d", i)), rt.Succeeded(0)))
	}
	want = []string{"bbb"}
	for i := 19; i >= 6; i-- {
		want = append(want, fmt.Sprintf("r%02d", i))
	}
	require.Equal(t, append(want, "aaa"), hashes(listing(status.RollingOut, borne, all...)), "of those that works have, the newest")
}

// Each time is in whole seconds, and follows from the records. Another pass, and the stored status, give the same times (P7).
func TestRevisionTimes(t *testing.T) {
	returned := revisionOf("aaa", 1, func(r *revision.Record) { r.Began = rt.At(minute + time.Nanosecond) })
	update := revisionOf("bbb", 2, retriedAt(time.Second))
	update.Object.Annotations[workv1alpha1.AnnotationChangeCause] = "image 2"
	in := listing(status.RollingOut, works(inFlight("c1")), returned, update)
	in.Ledger.Begun = ledger.Beginning{At: rt.At(minute), Retried: rt.At(2*minute + time.Millisecond)}
	list := build(in).Revisions
	at := func(since time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(rt.At(since))) }
	require.Equal(t, []workv1alpha1.RevisionStatus{
		{
			Name: "web-bbb", Hash: "bbb", Revision: 2, State: workv1alpha1.RevisionProgressing, Clusters: 1, ChangeCause: "image 2",
			FirstRolledOutTime: at(0), LastRolledOutTime: at(2 * minute),
		},
		{
			Name: "web-aaa", Hash: "aaa", Revision: 1, State: workv1alpha1.RevisionArchived,
			FirstRolledOutTime: at(0), LastRolledOutTime: at(minute),
		},
	}, list)

	var stored metav1.Time
	data, err := list[0].LastRolledOutTime.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, stored.UnmarshalJSON(data))
	require.True(t, equality.Semantic.DeepEqual(stored, *list[0].LastRolledOutTime))
	in.Now = metav1.NewTime(rt.At(time.Hour))
	in.Snapshot.Now = rt.At(time.Hour)
	require.True(t, equality.Semantic.DeepEqual(list, build(in).Revisions))
}

// An abort and its reason are those of the ledger while no revision records them. The reason has at most 256 bytes.
func TestAbortOfARevision(t *testing.T) {
	long := strings.Repeat("a", 250) + strings.Repeat("é", 100)
	in := listing(status.Aborting, works(failed("c1")), revisionOf("bbb", 2))
	in.Ledger.Abort = &revision.Abort{At: rt.At(minute), Reason: long}
	require.Nil(t, build(in).Revisions[0].ReachedClusters, "an earlier release decided it: the number is unknown")
	in.Ledger.Reached = ptr.To(int32(4))
	decided := build(in).Revisions
	require.Equal(t, ptr.To(int32(4)), decided[0].ReachedClusters, "the others have returned")
	require.Equal(t, rt.At(minute), decided[0].AbortedTime.Time)
	require.LessOrEqual(t, len(decided[0].AbortReason), 256)
	require.True(t, utf8.ValidString(decided[0].AbortReason))

	in.Stage = status.Aborted
	in.History.Revisions[0] = revisionOf("bbb", 2, abortedAt(minute), func(r *revision.Record) { r.Abort.Reason, r.Reached = long, ptr.To(int32(4)) })
	require.Equal(t, decided, build(in).Revisions, "that the revision records it changes nothing")

	in.Ledger = &ledger.Ledger{Current: ledger.Named{Hash: "ccc"}, Update: ledger.Named{Hash: "ccc"}}
	require.Equal(t, decided, build(in).Revisions, "nor does a later rollout")
}

// A change cause of any length has at most 256 bytes in the status.
func TestLongChangeCause(t *testing.T) {
	caused := revisionOf("bbb", 2)
	caused.Object.Annotations[workv1alpha1.AnnotationChangeCause] = strings.Repeat("é", 5000)
	in := listing(status.Complete, nil, caused)
	cause := build(in).Revisions[0].ChangeCause
	require.Len(t, cause, 255)
	require.True(t, utf8.ValidString(cause))
}

// The user who aborted the rollout, and the reason, stay in the status as long as the abort.
func TestAbortKeepsItsReason(t *testing.T) {
	in := listing(status.Aborted, nil, revisionOf("aaa", 1), revisionOf("bbb", 2))
	in.Ledger.Abort = &revision.Abort{At: rt.At(minute), By: "alice", Said: "leaks memory"}
	kept := build(in)
	require.Equal(t, []string{"alice", "leaks memory"}, []string{kept.AbortedBy, kept.AbortReason})
	in.Object.Status, in.Ledger.Abort = kept, nil
	ended := build(in)
	require.Empty(t, ended.AbortedBy+ended.AbortReason)
}

// TestReplacedRevision: if a revision is replaced during its rollout, the number of clusters that had it is kept.
func TestReplacedRevision(t *testing.T) {
	in := listing(status.RollingOut, works(inFlight("c1")), revisionOf("aaa", 1), revisionOf("bbb", 2))
	in.Object.Status.UpdateRevision = "aaa"
	in.Object.Status.Revisions = []workv1alpha1.RevisionStatus{{Hash: "aaa", Clusters: 3}}
	listed := build(in).Revisions
	require.Equal(t, ptr.To(int32(3)), listed[1].ReachedClusters)
	require.Nil(t, listed[0].ReachedClusters, "its rollout has not ended")

	in.Object.Status.UpdateRevision, in.Object.Status.Revisions = "bbb", listed
	require.Equal(t, listed, build(in).Revisions)
}
