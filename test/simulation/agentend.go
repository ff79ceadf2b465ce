package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/snowflake"
	cloudevents "github.com/cloudevents/sdk-go/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/agent/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/store"
	resync "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/payload"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// agentEnd is the agent of a cluster: it keeps what it receives, as sdk-go's client does, and asks for its works whenever it is connected again.
type agentEnd struct {
	network *Network
	cluster string
	store   *store.AgentInformerWatcherStore
	// connected says that there is a connection; back is when there is one again.
	connected bool
	back      time.Time
	// unsettled is when it was last not connected, was restarted, or began to make something else of what it has.
	unsettled time.Time
	// applied is the version that it last applied, even if it no longer has the work; empty for none.
	applied string
}

func newStore() *store.AgentInformerWatcherStore {
	s := store.NewAgentInformerWatcherStore()
	s.Watcher.Stop() // Nobody watches.
	return s
}

// agent finds the agent of a cluster. One that is new is connected soon.
func (n *Network) agent(cluster string) *agentEnd {
	a := n.agents[cluster]
	if a == nil {
		a = &agentEnd{network: n, cluster: cluster, store: newStore(), back: n.now()}
		n.agents[cluster] = a
	}
	return a
}

// clusters are the names of those with an agent.
func (n *Network) clusters() []string { return slices.Sorted(maps.Keys(n.agents)) }

// works are those that the agent has, by name.
func (a *agentEnd) works() []*workv1.ManifestWork {
	var works []*workv1.ManifestWork
	for _, stored := range a.store.Store.List() {
		works = append(works, stored.(*workv1.ManifestWork))
	}
	slices.SortFunc(works, func(a, b *workv1.ManifestWork) int { return strings.Compare(a.Name, b.Name) })
	return works
}

// lose ends the connection for some time.
func (a *agentEnd) lose(during time.Duration) {
	a.connected, a.back, a.unsettled = false, a.network.now().Add(during), a.network.now()
	a.network.drop(a.cluster)
}

// turn connects again.
func (a *agentEnd) turn() (acted bool) {
	if a.connected || a.back.After(a.network.now()) || a.network.back.After(a.network.now()) {
		return false
	}
	a.connected, a.unsettled = true, a.network.now()
	a.ask()
	a.network.moved = true
	return true
}

// RestartAgent takes its memory from an agent. What it had applied stays.
func (n *Network) RestartAgent(cluster string) {
	a := n.agent(cluster)
	if n.world.lying() {
		return
	}
	n.world.Tell("network: the agent of %s is restarted", cluster)
	for _, work := range a.works() {
		if done := n.world.agents[work.UID]; done != nil {
			// It reports again what it found last.
			done.stage, done.due = max(0, done.stage-1), n.now().Add(reportDelay)
		}
	}
	a.store = newStore()
	a.lose(0)
}

// reconsider has an agent make something else of what it has. One that said nothing is there again.
func (n *Network) reconsider(cluster string) {
	for _, name := range n.clusters() {
		if a := n.agents[name]; cluster == "" || cluster == name {
			a.unsettled = n.now()
			if a.connected {
				a.ask()
			}
		}
	}
}

// ask tells the hub what the agent has, as sdk-go's client does.
func (a *agentEnd) ask() {
	event := eventtypes.NewEventBuilder(a.cluster+"-agent", eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceSpec, Action: eventtypes.ResyncRequestAction,
	}).WithOriginalSource(eventtypes.SourceAll).WithClusterName(a.cluster).NewEvent()
	has := &resync.ResourceVersionList{}
	for _, work := range a.works() {
		has.Versions = append(has.Versions, resync.ResourceVersion{ResourceID: string(work.UID), ResourceVersion: work.Generation})
	}
	if err := event.SetData(cloudevents.ApplicationJSON, has); err != nil {
		panic(err)
	}
	a.network.sequence++
	a.network.toHub(a, event)
}

// receive is what sdk-go's client does with an event of the hub.
func (a *agentEnd) receive(event cloudevents.Event) {
	kind, err := eventtypes.ParseCloudEventsType(event.Type())
	if err != nil {
		panic(err)
	}
	if kind.SubResource == eventtypes.SubResourceStatus && kind.Action == eventtypes.ResyncRequestAction {
		for _, work := range a.works() {
			if a.network.world.outcome(a.cluster, Version(work)) != Silent {
				a.publish(eventtypes.ResyncResponseAction, work)
			}
		}
		return
	}
	work, err := codec.NewManifestBundleCodec().Decode(&event)
	if err == nil {
		err = a.store.HandleReceivedResource(context.Background(), work)
	}
	if err != nil {
		panic(err)
	}
}

// publish reports what the agent has of a work, and whether the broker took it.
func (a *agentEnd) publish(action eventtypes.EventAction, work *workv1.ManifestWork) bool {
	event, err := codec.NewManifestBundleCodec().Encode(a.cluster+"-agent", eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceStatus, Action: action,
	}, work)
	if err != nil {
		panic(err)
	}
	a.network.sequence++
	// sdk-go takes its sequence IDs from the clock of the machine.
	at := a.network.now().Add(a.network.world.AgentsAhead[a.cluster]).UnixMilli() - snowflake.Epoch
	event.SetExtension(eventtypes.ExtensionStatusUpdateSequenceID, strconv.FormatInt(at<<22+a.network.sequence, 10))
	return a.network.toHub(a, *event)
}

func (a *agentEnd) keep(work *workv1.ManifestWork) {
	if err := a.store.Update(work); err != nil {
		panic(err)
	}
}

// runAgents lets every agent that is due report once, and returns when the next one is due, zero for never.
func (n *Network) runAgents() time.Time {
	var next time.Time
	for _, cluster := range n.clusters() {
		a := n.agents[cluster]
		if !a.connected {
			continue
		}
		for _, work := range a.works() {
			next = earliest(next, a.run(work))
		}
	}
	return next
}

// run works on what the agent has, and returns when there is more to do.
func (a *agentEnd) run(work *workv1.ManifestWork) time.Time {
	w := a.network.world
	outcome := w.outcome(a.cluster, Version(work))
	if done := w.agents[work.UID]; outcome == Silent && done != nil && done.lied(work) {
		outcome = done.outcome
	}
	switch {
	case outcome == Silent:
		return time.Time{}
	case !work.DeletionTimestamp.IsZero():
		gone := work.DeepCopy()
		meta.SetStatusCondition(&gone.Status.Conditions, metav1.Condition{Type: common.ResourceDeleted, Status: metav1.ConditionTrue, Reason: "ManifestsDeleted"})
		w.cleanUp(work)
		a.applied = ""
		if a.publish(eventtypes.UpdateRequestAction, gone) {
			if err := a.store.Delete(work); err != nil {
				panic(err)
			}
		}
		return time.Time{}
	case len(work.Finalizers) == 0:
		work = work.DeepCopy()
		work.Finalizers = []string{workv1.ManifestWorkFinalizer}
		a.keep(work)
	}
	a.applied = Version(work)
	return w.runReports(work, outcome)
}

// reportPrefix begins the reason by which a report is known again, wherever the work that has it is.
const reportPrefix = "Report"

// report sends a new status of a work, and numbers it.
func (n *Network) report(work *workv1.ManifestWork, status *workv1.ManifestWorkStatus) (number int64, sent bool) {
	n.reports++
	if applied := meta.FindStatusCondition(status.Conditions, workv1.WorkApplied); applied != nil {
		applied.Reason = fmt.Sprint(reportPrefix, n.reports)
	}
	for i := range status.ResourceStatus.Manifests {
		m := &status.ResourceStatus.Manifests[i]
		m.ResourceMeta.Ordinal = int32(i)
		if meta.FindStatusCondition(m.Conditions, workv1.ManifestDegraded) == nil {
			// An agent does not take a condition back.
			m.Conditions = append(m.Conditions, metav1.Condition{Type: workv1.ManifestDegraded, Status: metav1.ConditionFalse, ObservedGeneration: work.Generation})
		}
	}
	reported := work.DeepCopy()
	reported.Status = *status
	a := n.agent(work.Namespace)
	n.truth = n.world.agents[work.UID].lied(work)
	defer func() { n.truth = false }()
	if !a.publish(eventtypes.UpdateRequestAction, reported) {
		return 0, false
	}
	a.keep(reported)
	return n.reports, true
}

// reportOf is the number of the report whose status a work has; 0 for none.
func reportOf(work *workv1.ManifestWork) int64 {
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	if applied == nil {
		return 0
	}
	number, _ := strconv.ParseInt(strings.TrimPrefix(applied.Reason, reportPrefix), 10, 64)
	return number
}

// haveAgent makes the agent of a cluster where works travel over a broker.
func (w *World) haveAgent(cluster string) {
	if w.Network != nil {
		w.Network.agent(cluster)
	}
}

// lying reports whether an agent has said of a work what it takes back, or has taken it back a moment ago. What goes wrong in the network then lets the
// hub believe for longer what R10 waits for within --success-settle.
func (w *World) lying() bool {
	for _, a := range w.agents {
		if (a.outcome == Lies || a.outcome == LiesThenHangs) && a.stage > 0 && w.Clock.Since(a.said) < settleTime {
			return true
		}
	}
	return false
}
