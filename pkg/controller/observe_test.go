package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// A pass reads the time and the last gap together. Package rollout treats a process that has just started in the same way.
func TestPassKnowsTheLastGap(t *testing.T) {
	clock := clocktesting.NewFakeClock(rt.Epoch)
	c := NewWithStores(Config{Connection: connectivity.New(clock), Clock: clock}, NewStores())
	clock.Step(time.Minute)
	p := c.newPass(&replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}}, "ns/web")
	require.Equal(t, rt.At(time.Minute), p.now)
	require.Equal(t, rollout.UnknownGap(rt.Epoch), p.gap)
}

// A pass may compute the decision for another revision, or for a rollout that was not aborted. This changes nothing: an observed success
// belongs to the revision of the work.
func TestAskingChangesNothing(t *testing.T) {
	clock := clocktesting.NewFakeClock(rt.Epoch)
	c := NewWithStores(Config{Connection: connectivity.New(clock), Clock: clock}, NewStores())
	look := func(at time.Duration) *pass {
		w := rt.Work("c1", rt.AtRevision("aaa"), rt.Applied(0), rt.Available(0), rt.Rests(0))
		w.Object.Spec = *rt.Revision("aaa").Template
		digest, err := revision.DigestOf(&w.Object.Spec)
		require.NoError(t, err)
		p := &pass{
			now: rt.At(at), memory: c.owners.OwnerOf("ns/web", ""), observed: observed{
				object: &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}}, works: []*workv1.ManifestWork{w.Object},
			},
		}
		p.Update = rt.Revision("aaa")
		p.Update.Digest = digest
		p.facts.Object, p.facts.Template = p.object.ManifestWorkReplicaSet, digest
		p.facts.Before.Update = ledger.Named{Hash: "aaa", Digest: digest}
		p.facts.Notes.Works = []work.Work{{Object: w.Object, Digest: digest}}
		p.seen = []*memory.Work{p.memory.Works.WorkOf(w.Object.UID)}
		c.noteWorks(p)
		return p
	}
	require.Equal(t, rt.At(time.Second), look(time.Second).facts.Notes.Works[0].SucceededSince)
	p := look(2 * time.Second)
	for _, aborted := range []bool{false, true} {
		p.Ledger.Abort = &revision.Abort{}
		for _, update := range []*work.Revision{rt.Revision("bbb"), p.Update} {
			require.Equal(t, rt.At(time.Second), p.facts.SnapshotOf(&p.Ledger, update, aborted).Works[0].SucceededSince)
		}
	}
	require.Equal(t, rt.At(time.Second), look(3 * time.Second).facts.Notes.Works[0].SucceededSince)
	require.Zero(t, look(3 * time.Second).facts.Notes.Works[0].StateChangedAt)
}
