package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	resync "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/payload"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func TestClientIsAnAPIServer(t *testing.T) {
	r := newRig(t, nil)
	created := r.create(owned("c1", "v1"))
	require.Equal(t, created.Generation, r.wire.last(t).Generation)
	_, err := r.cluster("c1").Create(t.Context(), owned("c1", "v1"), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), err)

	labelled, err := r.patch(created, fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":%q,"labels":{"a":"b"}}}`, created.UID, created.ResourceVersion))
	require.NoError(t, err)
	require.Equal(t, created.Generation, labelled.Generation, "the metadata alone is no new generation")
	require.Equal(t, "b", r.wire.last(t).Labels["a"])

	_, err = r.patch(created, fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"labels":{"a":"c"}}}`, created.ResourceVersion))
	require.True(t, apierrors.IsConflict(err), "R15: %v", err)
	_, err = r.patch(created, `{"metadata":{"uid":"other"}}`)
	require.True(t, apierrors.IsConflict(err), err)

	changed, err := r.patch(created, `{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}`)
	require.NoError(t, err)
	require.Greater(t, changed.Generation, created.Generation)
	require.Equal(t, workv1.DeletePropagationPolicyTypeOrphan, r.wire.last(t).Spec.DeleteOption.PropagationPolicy)

	// A JSON patch is applied literally, so a null in a manifest is kept.
	_, err = r.jsonPatch(created, fmt.Sprintf(`[{"op":"add","path":"/metadata/uid","value":%q},{"op":"add","path":"/metadata/resourceVersion","value":"1"}]`, created.UID))
	require.True(t, apierrors.IsConflict(err), "R15: %v", err)
	withNull := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"demo","namespace":"default"},"data":null}`
	changed, err = r.jsonPatch(created, fmt.Sprintf(`[{"op":"add","path":"/metadata/uid","value":%q},{"op":"add","path":"/metadata/resourceVersion","value":%q},`+
		`{"op":"add","path":"/spec/deleteOption","value":""},{"op":"remove","path":"/spec/deleteOption","value":null},`+
		`{"op":"add","path":"/spec/workload/manifests","value":[%s]}]`, created.UID, changed.ResourceVersion, withNull))
	require.NoError(t, err)
	require.Nil(t, changed.Spec.DeleteOption)
	require.JSONEq(t, withNull, string(r.wire.last(t).Spec.Workload.Manifests[0].Raw))

	_, err = r.patch(created, `{"spec":{"workload":{"manifests":[]}}}`)
	require.True(t, apierrors.IsInvalid(err), "an agent would refuse it without saying so: %v", err)
	_, err = r.patch(testWork("c2", 0), `{}`)
	require.True(t, apierrors.IsNotFound(err), err)
}

// A write that the broker rejects has no effect, and its generation is never used for other content.
func TestBrokerRefuses(t *testing.T) {
	r := newRig(t, nil)
	created := r.create(owned("c1", "v1"))
	r.wire.breaks(errors.New("no such luck"))
	_, err := r.patch(created, `{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}`)
	require.True(t, apierrors.IsServiceUnavailable(err), "try again: %v", err)
	require.Nil(t, r.store.get(created.UID).Spec.DeleteOption)
	_, err = r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), "the answer is not known: %v", err)
	err = r.cluster("c1").Delete(t.Context(), "web", metav1.DeleteOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), err)
	require.Zero(t, r.store.get(created.UID).DeletionTimestamp)
	r.wire.breaks(nil)
	changed, err := r.patch(created, `{"spec":{"deleteOption":{"propagationPolicy":"Foreground"}}}`)
	require.NoError(t, err)
	require.Equal(t, created.Generation+2, changed.Generation)
}

func TestDeletionWaitsForTheAgent(t *testing.T) {
	r := newRig(t, nil)
	for _, cluster := range []string{"c1", "c2"} {
		r.create(owned(cluster, "v1"))
	}
	held := r.store.get(workUID("c2", "web"))
	r.wire.tell(t, held)
	r.eventually("c2 reports", func() bool { return len(r.store.get(held.UID).Finalizers) > 0 })

	require.NoError(t, r.cluster("c1").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	require.Nil(t, r.store.get(workUID("c1", "web")), "no agent ever had it")
	stale := held.ResourceVersion
	err := r.cluster("c2").Delete(t.Context(), "web", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &stale}})
	require.True(t, apierrors.IsConflict(err), err)
	require.NoError(t, r.cluster("c2").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	require.NotZero(t, r.store.get(held.UID).DeletionTimestamp)

	gone := held.DeepCopy()
	gone.Status.Conditions = []metav1.Condition{condition(common.ResourceDeleted, 0)}
	r.wire.tell(t, gone)
	r.eventually("it is gone", func() bool { return r.store.get(held.UID) == nil })
}

// After a restart, the agents report which works they have, and the revisions provide the content of these works.
func TestRestore(t *testing.T) {
	v1 := spec("v1")
	r := newRig(t, fakeOwners{"ns/web": nil, "ns/web/v1": &v1})
	restored := make(chan error)
	go func() { restored <- r.Restore(t.Context(), map[string]int{"ns.web": 2}) }()

	told := owned("c1", "v1")
	told.Generation = 7
	told.Status.Conditions = []metav1.Condition{condition("Applied", 7)}
	told.Spec = workv1.ManifestWorkSpec{}
	r.wire.tell(t, told)
	lost := owned("c2", "v0")
	lost.Generation = 7
	r.wire.tell(t, lost)
	foreign := owned("c3", "v1")
	foreign.Labels = nil
	r.wire.tell(t, foreign)

	r.eventually("c1 is known again", func() bool { return r.store.get(told.UID) != nil })
	found := r.store.get(told.UID)
	require.Equal(t, v1, found.Spec)
	require.Equal(t, int64(7), found.Generation)
	require.Equal(t, map[string]string{workv1alpha1.LabelReplicaSet: "ns.web", workv1alpha1.LabelControllerHash: "v1"}, found.Labels)
	require.Equal(t, owned("c1", "v1").Annotations, found.Annotations)
	require.Equal(t, []string{"Applied"}, conditionTypes(found))
	r.eventually("both count as told", func() bool { return len(r.missing(map[string]int{"ns.web": 2})) == 0 })
	require.Nil(t, r.store.get(lost.UID), "the content of v0 is not known")
	require.Equal(t, []string{"v0"}, r.Claimed("ns.web", func(cluster, name string) bool { return cluster == lost.Namespace && name == lost.Name }))
	require.Empty(t, r.Claimed("ns.web", func(string, string) bool { return false }), "the owner can have no such work")
	require.Empty(t, r.Claimed("ns.other", func(string, string) bool { return true }))
	select {
	case <-restored:
		t.Fatal("there may be more to come")
	default:
	}
	r.clock.SetTime(noon.Add(restoreQuiet))
	require.NoError(t, <-restored)

	// The controller creates the work of the other cluster again, with a higher generation than its agent knows.
	require.Greater(t, r.create(owned("c2", "v1")).Generation, lost.Generation)
	require.Equal(t, []string{"status resync_request", "spec create_request c2"}, r.wire.said())
}

// While the API server has not returned the owner of a reported work, the work may still be restored. Nothing is decided until then.
func TestRestoreWaitsForTheAPIServer(t *testing.T) {
	r := newRig(t, nil)
	r.owners = brokenOwners{}
	restored := make(chan error)
	go func() { restored <- r.Restore(t.Context(), map[string]int{"ns.web": 1}) }()
	r.wire.tell(t, owned("c1", "v1"))
	r.eventually("the report has come", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		return len(r.store.reports) == 1 && !r.asked.IsZero()
	})
	r.clock.SetTime(noon.Add(restorePatience - time.Second))
	require.Len(t, r.missing(map[string]int{"ns.web": 1}), 1)
	select {
	case <-restored:
		t.Fatal("the API server has not answered")
	default:
	}
	r.clock.SetTime(noon.Add(restorePatience))
	require.NoError(t, <-restored)
}

// A work that is being deleted counts until it is gone, even if no Placement selects its cluster any more.
func TestDeletingWorkIsRestored(t *testing.T) {
	r := newRig(t, fakeOwners{"ns/web": nil, "ns/web!c1": nil})
	told := owned("c1", "v1")
	told.DeletionTimestamp = &metav1.Time{Time: noon}
	r.wire.tell(t, told)
	r.eventually("it is known", func() bool { return r.store.get(told.UID) != nil })
	require.Empty(t, r.store.get(told.UID).Spec.Workload.Manifests)
	require.NotZero(t, r.store.get(told.UID).DeletionTimestamp)
}

// The hub waits for offline agents only for a limited time.
func TestRestoreIsPatientForAWhile(t *testing.T) {
	r := newRig(t, nil)
	require.NoError(t, r.Restore(t.Context(), nil), "there is nothing to wait for")
	restored := make(chan error)
	go func() { restored <- r.Restore(t.Context(), map[string]int{"ns.web": 1}) }()
	r.eventually("it asked", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return !r.asked.IsZero()
	})
	r.clock.SetTime(noon.Add(restorePatience))
	require.NoError(t, <-restored)
}

// A work is deleted, but not at once, if its owner was deleted or stopped selecting its cluster while the agent was not reachable.
func TestUnwantedWorkGoes(t *testing.T) {
	v1 := spec("v1")
	for name, owners := range map[string]fakeOwners{
		"its owner is gone":               {},
		"its owner does not select it":    {"ns/web": nil, "ns/web/v1": &v1, "ns/web!c1": nil},
		"and its revision is gone, as it": {"ns/web": nil, "ns/web!c1": nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, owners)
			report := owned("c1", "v1")
			require.True(t, r.keep(report))
			do := func() {
				_, err := r.mend(t.Context(), report)
				require.NoError(t, err)
			}
			do()
			r.clock.SetTime(noon.Add(unwantedFor - time.Second))
			do()
			require.NotContains(t, r.wire.said(), "spec delete_request c1")
			r.clock.SetTime(noon.Add(unwantedFor))
			do()
			require.Contains(t, r.wire.said(), "spec delete_request c1")
			require.NotZero(t, r.store.get(report.UID).DeletionTimestamp)
			require.Empty(t, r.store.get(report.UID).Spec.Workload.Manifests)
		})
	}
}

// TestUnwantedWorksHaveALimit: even if many reports are processed at the same time, at most maxUnwanted works are deleted at once.
func TestUnwantedWorksHaveALimit(t *testing.T) {
	r := newRig(t, fakeOwners{})
	reports := make([]*workv1.ManifestWork, 2*maxUnwanted)
	for i := range reports {
		reports[i] = owned("c1", "v1")
		reports[i].Name = fmt.Sprintf("made-up-%d", i)
		reports[i].UID = workUID("c1", reports[i].Name)
		require.True(t, r.keep(reports[i]))
	}
	// A report may wait while the deletion of another work is being stored, so the last round reaches the limit.
	for _, after := range []time.Duration{0, unwantedFor, unwantedFor} {
		r.clock.SetTime(noon.Add(after))
		var all sync.WaitGroup
		for _, report := range reports {
			all.Go(func() {
				_, err := r.mend(t.Context(), report)
				assert.NoError(t, err)
			})
		}
		all.Wait()
	}
	require.Equal(t, maxUnwanted, r.wire.deletions())
}

// The work of a cluster stays while the cluster is away, or while its availability is unknown. A cluster without a Lease is not away.
func TestWorkOfAnAwayClusterStays(t *testing.T) {
	for name, tc := range map[string]struct {
		available, exists, goes bool
	}{
		"its Lease is late, or can't be read": {exists: true},
		"it is available":                     {available: true, exists: true, goes: true},
		"there is no Lease":                   {goes: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fakeOwners{"ns/web": nil, "ns/web!c1": nil})
			r.available = func(context.Context, string) (bool, bool) { return tc.available, tc.exists }
			report := owned("c1", "v1")
			require.True(t, r.keep(report))
			for _, passed := range []time.Duration{0, unwantedFor, 2 * unwantedFor} {
				r.clock.SetTime(noon.Add(passed))
				_, err := r.mend(t.Context(), report)
				require.NoError(t, err)
			}
			require.Equal(t, tc.goes, slices.Contains(r.wire.said(), "spec delete_request c1"))
		})
	}
}

// An agent that reconnects asks for its works. The hub does not delete works that it does not know (yet), but asks for reports about them.
func TestAgentComesBack(t *testing.T) {
	r := newRig(t, fakeOwners{"ns/web": nil})
	known := r.create(owned("c1", "v1"))
	r.wire.asks(t, "c1", resync.ResourceVersion{ResourceID: string(known.UID), ResourceVersion: known.Generation},
		resync.ResourceVersion{ResourceID: "something-else", ResourceVersion: 3})
	r.eventually("it is asked", func() bool { return slices.Contains(r.wire.said(), "status resync_request c1") })
	require.Equal(t, []string{
		"status resync_request", "spec create_request c1",
		"spec resync_response c1", // The known work. A deletion of the unknown work would be a second resync_response.
		"status resync_request c1",
	}, r.wire.said())
}

func TestAgentAstrayIsSentItsWorkAgain(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	ahead := work.DeepCopy()
	ahead.Generation += 1000
	r.wire.tell(t, ahead)
	r.eventually("it is sent again", func() bool { return r.store.get(work.UID).Generation > ahead.Generation })
	again := r.store.get(work.UID)
	require.Equal(t, again.Generation, r.wire.last(t).Generation)
	require.Equal(t, noon.Format(time.RFC3339Nano), again.Annotations[workv1alpha1.AnnotationAppliedAt], "its deadline begins anew")
	require.Equal(t, work.Spec, again.Spec)
}

func TestBrokerComesAndGoes(t *testing.T) {
	r := newRig(t, nil)
	require.Equal(t, []string{"back broker 1m0s"}, r.connection.all())
	r.wire.errs <- errors.New("broken pipe")
	r.eventually("it is lost", func() bool { return slices.Equal([]string{"back broker 1m0s", "lost broker"}, r.connection.all()) })
	_, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), err)
}

func TestConfigIsChecked(t *testing.T) {
	good := map[string]string{
		"brokerHost": "brokerHost: 127.0.0.1:1", "topics": "topics:", "sourceEvents": "  sourceEvents: sources/mwrsctrl/clusters/+/sourceevents",
		"agentEvents":     "  agentEvents: sources/mwrsctrl/clusters/+/agentevents",
		"sourceBroadcast": "  sourceBroadcast: sources/mwrsctrl/sourcebroadcast", "agentBroadcast": "  agentBroadcast: clusters/+/agentbroadcast",
	}
	ca := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(ca, []byte("a certificate"), 0o600))
	keys := []string{"brokerHost", "topics", "sourceEvents", "agentEvents", "sourceBroadcast", "agentBroadcast"}
	for name, test := range map[string]struct{ client, key, value, wanted string }{
		"no client":          {"", "", "", "--cloudevents-client-id is empty"},
		"no broker":          {"hub", "brokerHost", "", "brokerHost is required"},
		"another source":     {"hub", "agentEvents", "  agentEvents: sources/other/clusters/+/agentevents", "topics.agentEvents: the topic source \"other\" does not match"},
		"no sourceBroadcast": {"hub", "sourceBroadcast", "", "topics.sourceBroadcast is empty: set it to sources/mwrsctrl/sourcebroadcast"},
		"no agentBroadcast":  {"hub", "agentBroadcast", "", "topics.agentBroadcast is empty: set it to clusters/+/agentbroadcast"},
		"no certificate":     {"hub", "topics", "caFile: " + ca + "\ntopics:", "caFile is set, and clientCertFile and clientKeyFile are not"},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, key := range keys {
				if key == test.key {
					lines = append(lines, test.value)
				} else {
					lines = append(lines, good[key])
				}
			}
			path := filepath.Join(t.TempDir(), "config.yaml")
			require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
			_, err := New(Options{
				Type: "mqtt", ConfigFile: path, ClientID: test.client, Connection: &fakeConnection{}, Clock: clocktesting.NewFakePassiveClock(noon),
				Metrics: newRefusals(),
			})
			require.ErrorContains(t, err, test.wanted)
		})
	}
}

// This process has heard an agent since the agent's first message, of any kind.
func TestAgentIsHeard(t *testing.T) {
	r := newRig(t, fakeOwners{"ns/web": nil})
	work := r.create(owned("c1", "v1"))
	_, heard := r.HeardSince("c1")
	require.False(t, heard)
	r.wire.tell(t, work)
	r.eventually("a report is heard", func() bool {
		since, heard := r.HeardSince("c1")
		return heard && since.Equal(noon)
	})
	r.clock.Step(time.Minute)
	r.wire.tell(t, work)
	r.wire.asks(t, "c2")
	r.eventually("so is a question", func() bool {
		_, heard := r.HeardSince("c2")
		return heard
	})
	since, _ := r.HeardSince("c1")
	require.Equal(t, noon, since)
}
