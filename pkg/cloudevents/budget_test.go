package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	workv1 "open-cluster-management.io/api/work/v1"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// newTypes returns conditions with unknown types, about 570 kB of JSON.
func newTypes(event int, generation int64) []metav1.Condition {
	conditions := make([]metav1.Condition, 0, 3001)
	conditions = append(conditions, condition(workv1.WorkApplied, generation))
	for i := range 3000 {
		c := condition(fmt.Sprintf("Made-%d-Up-%d", event, i), generation)
		c.Reason, c.LastTransitionTime = "Forged", metav1.NewTime(noon)
		conditions = append(conditions, c)
	}
	return conditions
}

// allocated returns the number of bytes that a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Merging a report with made-up condition types takes time and memory linear in the size of the report. The merge does not hold the lock,
// so nothing waits for it.
func TestMadeUpConditionTypes(t *testing.T) {
	const reports, patience, bytes = 12, 2 * time.Second, 64 << 20
	s, _ := newTestStore()
	s.put(testWork("c1", 5))
	s.put(testWork("c2", 5))
	made := make([]*workv1.ManifestWork, reports)
	for i := range made {
		made[i] = reported("c1", 5, int64(i+2), newTypes(i, 5)...)
	}
	stop, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			select {
			case <-stop:
				longest <- most
				return
			default:
			}
			began := time.Now()
			s.get(workUID("c2", "web"))
			most = max(most, time.Since(began))
			runtime.Gosched()
		}
	}()
	began := time.Now()
	spent := allocated(func() {
		for _, report := range made {
			require.Equal(t, noted, s.report(report))
		}
	})
	took := time.Since(began)
	close(stop)
	waited := <-longest
	t.Logf("%d reports took %s and %d bytes; another cluster's work was waited for up to %s", reports, took, spent, waited)
	require.Less(t, took, patience)
	require.Less(t, spent, uint64(bytes))
	require.Less(t, waited, patience/4, "nothing waits for the merge")
	kept := s.get(workUID("c1", "web"))
	require.LessOrEqual(t, len(kept.Status.Conditions), len(readConditions)+maxOtherConditions)
	require.Contains(t, conditionTypes(kept), workv1.WorkApplied)
}

// The manifest status that an agent reports is bounded by the manifests of its work.
func TestMadeUpManifests(t *testing.T) {
	s, _ := newTestStore()
	work := testWork("c1", 5)
	work.Spec = spec("v1")
	s.put(work)
	for event := range 5 {
		report := reported("c1", 5, int64(event+2), condition(workv1.WorkApplied, 5))
		for i := range 5000 {
			m := workv1.ManifestCondition{Conditions: []metav1.Condition{condition(workv1.ManifestDegraded, 5)}}
			m.ResourceMeta.Name = fmt.Sprint(event, "-", i)
			report.Status.ResourceStatus.Manifests = append(report.Status.ResourceStatus.Manifests, m)
		}
		report.Status.ResourceStatus.Manifests[0].ResourceMeta.Name = strings.Repeat("x", maxResourceMeta+1)
		require.Equal(t, noted, s.report(report))
	}
	manifests := s.get(work.UID).Status.ResourceStatus.Manifests
	require.Len(t, manifests, mostManifests(work))
	require.Equal(t, "4-1", manifests[0].ResourceMeta.Name, "the last report comes first")
}

// A status that is merged while its work is written is merged again into the written work.
func TestMergeIntoWhatWasWritten(t *testing.T) {
	s, _ := newTestStore()
	s.put(testWork("c1", 5))
	report := reported("c1", 5, 2, condition(workv1.WorkApplied, 5))
	_, before := s.judge(report)
	changed := testWork("c1", 6)
	changed.Labels = map[string]string{"a": "b"}
	s.put(changed)
	require.False(t, s.replace(before, before.merge(report)))
	require.Equal(t, noted, s.report(report))
	now := s.get(changed.UID)
	require.Equal(t, int64(6), now.Generation)
	require.Equal(t, []string{workv1.WorkApplied}, conditionTypes(now))
}

// large returns a report of a work that is unknown to the hub, with annotations of the given size.
func (r *rig) large(cluster string, i, annotations, feedback int) cloudevents.Event {
	r.t.Helper()
	work := owned(cluster, "lost")
	work.Name = fmt.Sprintf("made-up-%d", i)
	work.UID = workUID(cluster, work.Name)
	work.Annotations["made-up"] = strings.Repeat("x", annotations)
	value := strings.Repeat("y", feedback)
	m := workv1.ManifestCondition{}
	m.StatusFeedbacks.Values = []workv1.FeedbackValue{{Name: "made-up", Value: workv1.FieldValue{Type: workv1.String, String: &value}}}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
	return r.wire.report(r.t, work)
}

// readAll waits until the hub has read every event.
func (r *rig) readAll() {
	r.t.Helper()
	r.eventually("every event is read", func() bool {
		arrived, handled := r.wire.Progress()
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		return arrived == handled && r.store.unread == 0
	})
}

// Reports about made-up works hold a bounded amount of memory, regardless of their size. The reports from other agents are kept.
func TestMadeUpReportsHaveAMemory(t *testing.T) {
	r := newRig(t, fakeOwners{"ns/web": nil})
	before := heapInUse()
	grown := func() int { return int(heapInUse()) - int(before) }
	const oversized, allowed = 40, 150 // These reports are 320 MB and 210 MB together.
	for i := range oversized {
		r.wire.sends(r.large("c2", i, 0, 8<<20), "c2")
	}
	r.readAll()
	require.Less(t, grown(), 32<<20, "each is larger than a report can be")
	require.Equal(t, oversized, r.refusals.of(RefusedSize))
	for i := range allowed {
		r.wire.sends(r.large("c2", i, 400<<10, 1<<20), "c2")
	}
	r.readAll()
	require.Less(t, grown(), clusterBytes+32<<20, "a cluster has so much and no more")
	require.Positive(t, r.refusals.of(RefusedQuota))
	r.wire.sends(r.large("c1", 0, 1000, 0), "c1")
	r.eventually("another cluster's report is kept", func() bool {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		return r.store.cluster("c1").unknown() == 1
	})
}

// The reports of many agents together also hold a bounded amount of memory. Beyond that bound, each agent can still hold a small amount.
func TestMemoryOfAllClusters(t *testing.T) {
	s, _ := newTestStore()
	for i := 0; s.take(s.cluster(fmt.Sprint("greedy", i/16)), 1<<20); i++ {
	}
	require.LessOrEqual(t, s.bytes, allBytes)
	c1 := s.cluster("c1")
	require.True(t, s.take(c1, assuredBytes))
	require.False(t, s.take(c1, 1))
	s.give(c1, assuredBytes)
	require.Zero(t, c1.bytes)
}

// slowOwners answers slowly, as an API server may.
type slowOwners struct {
	fakeOwners
	asked chan struct{}
	leave chan struct{}
}

func (o slowOwners) Find(ctx context.Context, claim Claim) (Owner, error) {
	if claim.Name == "web" {
		return o.fakeOwners.Find(ctx, claim)
	}
	select {
	case o.asked <- struct{}{}:
	default:
	}
	select {
	case <-o.leave:
	case <-ctx.Done():
	}
	return Owner{}, ctx.Err()
}

// Four agents report works of made-up owners. While the API server is asked about these owners, the reports from other agents are
// processed, and the live read before an abort is answered.
func TestMadeUpOwnersDelayNobody(t *testing.T) {
	owners := slowOwners{fakeOwners: fakeOwners{"ns/web": nil}, asked: make(chan struct{}, 1), leave: make(chan struct{})}
	r := newRig(t, nil, func(o *Options) { o.Owners = owners })
	defer close(owners.leave)
	work := r.create(owned("c1", "v1"))
	for liar := range 4 {
		for i := range 50 {
			cluster := fmt.Sprintf("liar%d", liar)
			made := owned(cluster, "v1")
			made.Labels["work.open-cluster-management.io/manifestworkreplicaset"] = fmt.Sprintf("ns.made-up-%d", i)
			made.Name = fmt.Sprintf("made-up-%d", i)
			made.UID = workUID(cluster, made.Name)
			r.wire.tell(t, made)
		}
	}
	<-owners.asked
	r.answers(work.UID)
	told := r.store.get(work.UID).DeepCopy()
	told.Status.Conditions = append(told.Status.Conditions, condition(workv1.WorkDegraded, told.Generation))
	answer := r.wire.report(t, told)
	r.wire.meanwhile(func(event cloudevents.Event) {
		if action(event) == eventtypes.ResyncRequestAction {
			go r.wire.sends(answer, "c1")
		}
	})
	got, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err, "the live look is not starved")
	require.Contains(t, conditionTypes(got), workv1.WorkDegraded)
}

// A cluster that sends continuously takes turns with the others.
func TestFloodTakesTurns(t *testing.T) {
	r := newRig(t, fakeOwners{"ns/web": nil})
	flooding, work := r.create(owned("c2", "v1")), r.create(owned("c1", "v1"))
	event := r.wire.report(t, flooding)
	stop, stopped := make(chan struct{}), sync.WaitGroup{}
	stopped.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				r.wire.sends(event, "c2")
			}
		}
	})
	for range 20 {
		r.answers(work.UID)
	}
	close(stop)
	stopped.Wait()
}

// ahead sends a report of a generation that is newer than the hub's.
func (r *rig) ahead(work *workv1.ManifestWork, generation int64) {
	r.t.Helper()
	told := work.DeepCopy()
	told.Generation = generation
	r.wire.tell(r.t, told)
}

// No agent can push the generations beyond the range of the resource version in an event.
func TestGenerationThatNoHubGives(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	for _, generation := range []int64{math.MaxInt32, maxGeneration + 1, -1} {
		before := r.refusals.of(RefusedGeneration)
		r.ahead(work, generation)
		r.eventually("it is refused", func() bool { return r.refusals.of(RefusedGeneration) > before })
	}
	require.Equal(t, work.Generation, r.store.get(work.UID).Generation)
	changed, err := r.patch(work, orphan)
	require.NoError(t, err)
	require.Equal(t, changed.Generation, r.wire.last(t).Generation)

	r.ahead(work, maxGeneration)
	r.eventually("the largest that counts is answered", func() bool { return r.store.get(work.UID).Generation > maxGeneration })
	require.Equal(t, r.store.get(work.UID).Generation, r.wire.last(t).Generation)
}

// An agent that keeps reporting a higher generation is answered a few times at once, and then at intervals.
func TestHigherGenerationsHaveAPace(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	const minutes = 10
	generation := work.Generation
	for range minutes * 6 {
		generation += 1000
		r.ahead(work, generation)
		r.readAll()
		r.clock.Step(10 * time.Second)
	}
	renewals := count(r.wire.said(), "spec update_request c1")
	require.LessOrEqual(t, renewals, renewalsAtOnce+1)
	require.GreaterOrEqual(t, renewals, renewalsAtOnce)

	other := r.create(owned("c2", "v1"))
	r.ahead(other, other.Generation+1000)
	r.eventually("another work does not wait", func() bool { return count(r.wire.said(), "spec update_request c2") == 1 })
}

// A work that could not be sent again does not count toward the rate limit. After an outage of the broker, the agent gets the work at once.
func TestFailedRenewalsDoNotCount(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	r.wire.breaks(errors.New("the broker is away"))
	for range 2 * renewalsAtOnce {
		_, err := r.renew(t.Context(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Name: work.Name, Namespace: work.Namespace, UID: work.UID, Generation: work.Generation + 1000,
		}})
		require.Error(t, err)
	}
	require.Zero(t, r.mayRenew(work.UID))
}

// TestNewGenerationChangesALabel: an agent applies unchanged content again only if a label changes. Otherwise, it would report no Applied for
// the new generation before its next resync, and the cluster could fail at its deadline.
func TestNewGenerationChangesALabel(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	before := r.wire.last(t)
	_, err := r.renew(t.Context(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name: work.Name, Namespace: work.Namespace, UID: work.UID, Generation: work.Generation + 1000,
	}})
	require.NoError(t, err)
	after := r.wire.last(t)
	require.NotEqual(t, before.Generation, after.Generation)
	require.Equal(t, before.Spec, after.Spec)
	require.NotEqual(t, before.Labels, after.Labels)

	kept, err := r.cluster("c1").Get(t.Context(), work.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, work.Labels, kept.Labels, "the label is on the work in the event alone")
	again, _ := restored(after)
	require.Equal(t, work.Labels, again.Labels)
}

// TestConnectsLater: a driver that starts without a broker connects when the broker is available.
func TestConnectsLater(t *testing.T) {
	r := newRig(t, nil)
	late := &wire{errs: make(chan error, 1), received: make(chan delivery)}
	late.refusals.Store(3)
	d := Assemble(Options{
		Type: "mqtt", ClientID: "hub", Owners: fakeOwners{}, Connection: &fakeConnection{}, AgentReturn: time.Minute, Clock: r.clock, Metrics: newRefusals(),
	}, Parts{Transport: late, Tasks: newTasks(r.clock), Mends: newTasks(r.clock), Sends: newTasks(r.clock), Await: poll})
	d.reconnects = wait.Backoff{Duration: time.Millisecond}
	start(t, d)
	require.Eventually(t, func() bool { return slices.Contains(late.said(), "status resync_request") }, 10*time.Second, time.Millisecond)
}

// A live read of a work whose agent is ahead is not delayed by the rate limit.
func TestLookWaitsForNoPace(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	ahead := work.Generation
	for range renewalsAtOnce {
		ahead += 1000
		r.ahead(work, ahead)
		r.eventually("it is sent again", func() bool { return r.store.get(work.UID).Generation > ahead })
	}
	r.ahead(work, ahead+1000)
	r.eventually("the next time it waits", func() bool {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		kept := r.store.reports[work.UID]
		return kept != nil && !kept.kept.unexpected.IsZero()
	})
	_, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
}

// Made-up works of an existing owner are restored a limited number of times.
func TestMadeUpNamesOfAnOwner(t *testing.T) {
	v1 := spec("v1")
	r := newRig(t, fakeOwners{"ns/web": nil, "ns/web/v1": &v1})
	for i := range 50 {
		made := owned("c2", "v1")
		made.Name, made.Generation = fmt.Sprintf("made-up-%d", i), 7
		made.UID = workUID("c2", made.Name)
		made.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, 7)}
		r.wire.tell(t, made)
	}
	r.readAll()
	r.eventually("every report is considered", func() bool {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		considered := 0
		for _, record := range r.store.reports {
			if record.kept.considered {
				considered++
			}
		}
		return considered == len(r.store.reports) && considered > 40
	})
	known, _ := r.store.in("c2")
	require.Len(t, known, maxOfOwner)
}
