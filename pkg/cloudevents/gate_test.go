package cloudevents

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// attack sends an event on the topic of c2, whose agent is compromised, and waits until the event is refused.
func (r *rig) attack(event cloudevents.Event, why Refusal) {
	r.t.Helper()
	before := r.refusals.of(why)
	r.wire.sends(event, "c2")
	r.eventually(fmt.Sprintf("it is refused: %s", why), func() bool { return r.refusals.of(why) > before })
}

// An agent can't forge, suppress, delete or read anything that belongs to another cluster.
func TestAgentSpeaksForItsClusterOnly(t *testing.T) {
	r := newRig(t, fakeOwners{"ns/web": nil})
	work := r.create(owned("c1", "v1"))
	sent := r.wire.said()
	forged := func(change func(*workv1.ManifestWork)) *workv1.ManifestWork {
		copied := work.DeepCopy()
		change(copied)
		return copied
	}
	success := forged(func(w *workv1.ManifestWork) {
		w.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, w.Generation), condition(workv1.WorkAvailable, w.Generation)}
	})
	gone := forged(func(w *workv1.ManifestWork) {
		w.Status.Conditions = []metav1.Condition{condition(common.ResourceDeleted, 0)}
	})
	ahead := forged(func(w *workv1.ManifestWork) { w.Generation += 1000 })

	for name, report := range map[string]*workv1.ManifestWork{"a success": success, "a deletion": gone, "another generation": ahead} {
		t.Run(name+" of another cluster", func(t *testing.T) {
			event := r.wire.report(t, report)
			r.attack(event, RefusedCluster)
			// The name of the agent's own cluster does not help: the work belongs to another cluster.
			event.SetExtension(eventtypes.ExtensionClusterName, "c2")
			r.attack(event, RefusedWork)
			delete(event.Extensions(), eventtypes.ExtensionWorkMeta)
			event.SetExtension(eventtypes.ExtensionWorkMeta, nil)
			r.attack(event, RefusedWork)
		})
	}
	t.Run("a work with the name of another cluster", func(t *testing.T) {
		event := r.wire.report(t, forged(func(w *workv1.ManifestWork) { w.UID = workUID("c2", "web") }))
		event.SetExtension(eventtypes.ExtensionClusterName, "c2")
		r.attack(event, RefusedWork)
	})
	t.Run("a question for another cluster", func(t *testing.T) { r.attack(question(t, "c1"), RefusedCluster) })
	t.Run("a question for all clusters", func(t *testing.T) { r.attack(question(t, ""), RefusedCluster) })
	t.Run("a write", func(t *testing.T) {
		event := question(t, "c2")
		event.SetType("io.open-cluster-management.works.v1alpha1.manifestbundles.spec.update_request")
		r.attack(event, RefusedKind)
	})
	t.Run("what is no event", func(t *testing.T) { r.attack(cloudevents.Event{}, RefusedCluster) })

	require.Equal(t, work, r.store.get(work.UID), "nothing changed")
	require.Equal(t, sent, r.wire.said(), "nothing was sent")
	_, heard := r.HeardSince("c1")
	require.False(t, heard)
}

// If the transport does not know the sender, the work must belong to the cluster that the event names. A gRPC server lets an agent publish
// only for its own cluster.
func TestEventWithoutATopic(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	event := r.wire.report(t, work)
	cluster, ok := namedCluster(t.Context(), &event)
	require.True(t, ok)
	require.Equal(t, "c1", cluster)
	_, why := r.gate.judge(cluster, &event)
	require.Empty(t, why)
	_, why = r.gate.judge("c2", &event)
	require.Equal(t, RefusedWork, why)
	asked := question(t, "")
	_, ok = namedCluster(t.Context(), &asked)
	require.False(t, ok)
}

// The hub keeps no record and no counter for the name that an agent gives itself, because an agent can make up any number of names.
func TestNamesOfAgentsAreNotKept(t *testing.T) {
	r := newRig(t, nil)
	event := r.wire.report(t, r.create(owned("c1", "v1")))
	event.SetSource("whatever I like")
	r.arrived(context.WithoutCancel(t.Context()), event)
	r.eventually("the report counts", func() bool { return r.refusals.counted("received report") == 1 })
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	require.Equal(t, []string{"c1"}, slices.Collect(maps.Keys(r.store.clusters)))
}

// The hub refuses a report with a sequence ID that no clock produces. Otherwise, no later report would count.
func TestImplausibleSequence(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c2", "v1"))
	for _, sequence := range []string{fmt.Sprint(math.MaxInt64), "-1", "x", "", "99999999999999999999"} {
		event := r.wire.report(t, work)
		event.SetExtension(eventtypes.ExtensionStatusUpdateSequenceID, sequence)
		r.attack(event, RefusedSequence)
	}
	r.clock.SetTime(noon.Add(-maxAhead + time.Minute))
	r.answers(work.UID) // The agent's clock is ahead, but by less than maxAhead.
}

// If an agent claims a work whose owner does not select its cluster, the hub does not send it the template.
func TestTemplateStaysWithSelectedClusters(t *testing.T) {
	v1 := spec("v1")
	r := newRig(t, fakeOwners{"ns/web": nil, "ns/web/v1": &v1, "ns/web!c2": nil})
	claimed := owned("c2", "v1")
	claimed.Generation, claimed.Spec = 7, workv1.ManifestWorkSpec{}
	r.wire.tell(t, claimed)
	r.eventually("the claim is known", func() bool {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		kept := r.store.reports[claimed.UID]
		return kept != nil && !kept.kept.unwanted.IsZero()
	})
	r.wire.asks(t, "c2")
	r.eventually("it is answered", func() bool { return count(r.wire.said(), "status resync_request c2") == 1 })
	require.Nil(t, r.store.get(claimed.UID))
	require.Zero(t, count(r.wire.said(), "spec resync_response c2"))
}

// A cluster can't fill the hub's memory with made-up works, and other clusters are not affected.
func TestUnknownWorksHaveAQuota(t *testing.T) {
	r := newRig(t, fakeOwners{"ns/web": nil})
	madeUp := func(cluster string, i int) *workv1.ManifestWork {
		work := owned(cluster, "lost")
		work.Name = fmt.Sprintf("web-%d", i)
		work.UID = workUID(cluster, work.Name)
		return work
	}
	for i := range maxUnknown {
		r.wire.tell(t, madeUp("c2", i))
	}
	for i := range 10 {
		r.attack(r.wire.report(t, madeUp("c2", maxUnknown+i)), RefusedQuota)
	}
	r.wire.tell(t, madeUp("c1", 0))
	r.eventually("another cluster's report is kept", func() bool {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		return len(r.store.reports) == maxUnknown+1 && r.store.cluster("c1").unknown() == 1
	})
	own := r.create(owned("c2", "v1"))
	r.answers(own.UID)
}

// An agent that asks continuously is answered only at intervals.
func TestQuestionsHaveAPace(t *testing.T) {
	r := newRig(t, nil)
	r.create(owned("c1", "v1"))
	for range 20 {
		r.wire.asks(t, "c1")
	}
	r.eventually("it is answered", func() bool { return count(r.wire.said(), "status resync_request c1") == 1 })
	r.eventually("and once more after a while", func() bool {
		r.clock.Step(time.Second)
		return count(r.wire.said(), "status resync_request c1") == 2
	})
	require.Equal(t, 2, count(r.wire.said(), "spec resync_response c1"))
}
