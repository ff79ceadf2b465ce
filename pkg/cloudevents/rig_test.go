package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"
	cloudevents "github.com/cloudevents/sdk-go/v2"
	cloudeventstypes "github.com/cloudevents/sdk-go/v2/types"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	agentcodec "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/agent/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	resync "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/payload"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// delivery is an event, and the cluster of the topic on which it arrived.
type delivery struct {
	event   cloudevents.Event
	cluster string
}

// wire is a transport for a test that plays the agents.
type wire struct {
	errs     chan error
	received chan delivery

	mu     sync.Mutex
	broken error
	// sending is called with each event, before the sender learns that it was sent. It may be nil.
	sending func(event cloudevents.Event)
	sent    []cloudevents.Event
	// arrived and handled count the events that arrived, and those that were handled.
	arrived, handled atomic.Int64
	// refusals is the number of connections that fail before one succeeds.
	refusals atomic.Int32
	// sequence is the last sequence ID of a report.
	sequence int64
}

func (w *wire) Connect(context.Context) error {
	if w.refusals.Add(-1) >= 0 {
		return errors.New("nobody listens")
	}
	return nil
}
func (w *wire) Subscribe(context.Context) error { return nil }
func (w *wire) Close(context.Context) error     { return nil }
func (w *wire) ErrorChan() <-chan error         { return w.errs }

func (w *wire) Send(_ context.Context, event cloudevents.Event) error {
	w.mu.Lock()
	sending, broken := w.sending, w.broken
	if broken == nil {
		w.sent = append(w.sent, event)
	}
	w.mu.Unlock()
	if sending != nil {
		sending(event)
	}
	return broken
}

// fail makes each send fail with an error. With nil, sends succeed again.
func (w *wire) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = err
}

// meanwhile sets the function that is called while an event is being sent.
func (w *wire) meanwhile(sending func(event cloudevents.Event)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sending = sending
}

// action returns the action of an event.
func action(event cloudevents.Event) eventtypes.EventAction {
	kind, _ := eventtypes.ParseCloudEventsType(event.Type())
	return kind.Action
}

func (w *wire) Receive(ctx context.Context, handle options.ReceiveHandlerFn) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case d := <-w.received:
			handle(withSender(ctx, d.cluster), d.event)
			w.handled.Add(1)
		}
	}
}

func (w *wire) Progress() (arrived, handled int64) { return w.arrived.Load(), w.handled.Load() }

// sends delivers an event on the topic of a cluster.
func (w *wire) sends(event cloudevents.Event, cluster string) {
	w.arrived.Add(1)
	w.received <- delivery{event, cluster}
}

func (w *wire) breaks(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = err
}

// said returns the subresource, action and cluster of each event that was sent.
func (w *wire) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := []string{}
	for i := range w.sent {
		kind, _ := eventtypes.ParseCloudEventsType(w.sent[i].Type())
		cluster, _ := cloudeventstypes.ToString(w.sent[i].Extensions()[eventtypes.ExtensionClusterName])
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s %s %s", kind.SubResource, kind.Action, cluster)))
	}
	return said
}

// forget clears the sent events.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = nil
}

// deletions returns the number of sent events that delete a work.
func (w *wire) deletions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for i := range w.sent {
		if _, deletes := w.sent[i].Extensions()[eventtypes.ExtensionDeletionTimestamp]; deletes {
			n++
		}
	}
	return n
}

// last decodes the last event as its agent would.
func (w *wire) last(t *testing.T) *workv1.ManifestWork {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	work, err := agentcodec.NewManifestBundleCodec().Decode(&w.sent[len(w.sent)-1])
	require.NoError(t, err)
	return work
}

// tell sends an agent's report of a work.
func (w *wire) tell(t testing.TB, work *workv1.ManifestWork) {
	t.Helper()
	w.sends(w.report(t, work), work.Namespace)
}

// report returns an agent's report of a work.
func (w *wire) report(t testing.TB, work *workv1.ManifestWork) cloudevents.Event {
	t.Helper()
	work = work.DeepCopy()
	if work.Labels == nil {
		work.Labels = map[string]string{}
	}
	work.Labels[common.CloudEventsOriginalSourceLabelKey] = SourceID
	event, err := agentcodec.NewManifestBundleCodec().Encode("agent", eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceStatus, Action: eventtypes.UpdateRequestAction,
	}, work)
	require.NoError(t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sequence++
	event.SetExtension(eventtypes.ExtensionStatusUpdateSequenceID, fmt.Sprint((noon.UnixMilli()-snowflake.Epoch)<<22+w.sequence))
	return *event
}

// asks sends the question of an agent that reconnects, with the works that it has.
func (w *wire) asks(t *testing.T, cluster string, has ...resync.ResourceVersion) {
	t.Helper()
	w.sends(question(t, cluster, has...), cluster)
}

// question returns the request for works that an agent sends when it reconnects.
func question(t *testing.T, cluster string, has ...resync.ResourceVersion) cloudevents.Event {
	t.Helper()
	event := eventtypes.NewEventBuilder("agent", eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceSpec, Action: eventtypes.ResyncRequestAction,
	}).WithClusterName(cluster).NewEvent()
	require.NoError(t, event.SetData(cloudevents.ApplicationJSON, &resync.ResourceVersionList{Versions: has}))
	return event
}

type rig struct {
	*Driver
	t          testing.TB
	clock      *clocktesting.FakeClock
	wire       *wire
	connection *fakeConnection
	refusals   *refusals
}

func newRig(t testing.TB, owners fakeOwners, change ...func(*Options)) *rig {
	if owners == nil {
		owners = fakeOwners{"ns/web": nil}
	}
	t.Helper()
	r := &rig{
		t: t, refusals: newRefusals(), clock: clocktesting.NewFakeClock(noon), connection: &fakeConnection{},
		wire: &wire{errs: make(chan error), received: make(chan delivery)},
	}
	o := Options{
		Type: "mqtt", ClientID: "hub", Owners: owners, Connection: r.connection, AgentReturn: time.Minute, Clock: r.clock, Metrics: r.refusals,
	}
	for _, c := range change {
		c(&o)
	}
	r.Driver = Assemble(o, Parts{
		Transport: r.wire, Tasks: newTasks(o.Clock), Mends: newTasks(o.Clock), Sends: newTasks(o.Clock), Await: poll,
	})
	start(t, r.Driver)
	r.eventually("it asks all agents what they have", func() bool { return slices.Contains(r.wire.said(), "status resync_request") })
	return r
}

// start starts a driver, and waits until it is connected.
func start(t testing.TB, d *Driver) {
	t.Helper()
	d.Start(t.Context())
	require.Eventually(t, d.Reachable, 10*time.Second, time.Millisecond, "it is connected")
}

func (r *rig) eventually(what string, check func() bool) {
	r.t.Helper()
	require.Eventually(r.t, check, 10*time.Second, 5*time.Millisecond, what)
}

func (r *rig) cluster(name string) workv1client.ManifestWorkInterface {
	return r.Works().WorkV1().ManifestWorks(name)
}

func spec(version string) workv1.ManifestWorkSpec {
	manifest := workv1.Manifest{}
	manifest.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","data":{"version":%q},"kind":"ConfigMap","metadata":{"name":"demo","namespace":"default"}}`, version)
	return workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{manifest}}}
}

// owned returns a work of the ManifestWorkReplicaSet ns/web at a revision.
func owned(cluster, hash string) *workv1.ManifestWork {
	work := testWork(cluster, 0)
	work.Labels = map[string]string{workv1alpha1.LabelReplicaSet: "ns.web", workv1alpha1.LabelControllerHash: hash}
	work.Annotations = map[string]string{workv1alpha1.AnnotationAppliedAt: "2026-06-01T11:00:00Z"}
	work.Spec = spec(hash)
	return work
}

func (r *rig) create(work *workv1.ManifestWork) *workv1.ManifestWork {
	r.t.Helper()
	created, err := r.cluster(work.Namespace).Create(r.t.Context(), work, metav1.CreateOptions{})
	require.NoError(r.t, err)
	return created
}

func (r *rig) patch(work *workv1.ManifestWork, patch string) (*workv1.ManifestWork, error) {
	return r.cluster(work.Namespace).Patch(r.t.Context(), work.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
}

func (r *rig) jsonPatch(work *workv1.ManifestWork, patch string) (*workv1.ManifestWork, error) {
	return r.cluster(work.Namespace).Patch(r.t.Context(), work.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
}
