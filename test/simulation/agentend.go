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

// agentEnd is the agent of a cluster. It keeps the works that it receives, as sdk-go's client does, and requests them whenever it connects
// again.
type agentEnd struct {
	network *Network
	cluster string
	store   *store.AgentInformerWatcherStore
	// connected is true if there is a connection; back is the time at which the connection returns.
	connected bool
	back      time.Time
	// unsettled is the time at which the agent was last disconnected, was restarted, or began to handle its works
	// differently.
	unsettled time.Time
	// applied is the version that the agent last applied, even if it no longer has the work; empty for none.
	applied string
}

func newStore() *store.AgentInformerWatcherStore {
	s := store.NewAgentInformerWatcherStore()
	s.Watcher.Stop() // It is not used.
	return s
}

// agent returns the agent of a cluster. A new agent connects soon.
func (n *Network) agent(cluster string) *agentEnd {
	a := n.agents[cluster]
	if a == nil {
		a = &agentEnd{network: n, cluster: cluster, store: newStore(), back: n.now()}
		n.agents[cluster] = a
	}
	return a
}

// clusters returns the names of the clusters that have an agent.
func (n *Network) clusters() []string { return slices.Sorted(maps.Keys(n.agents)) }

// works returns the works of the agent, by name.
func (a *agentEnd) works() []*workv1.ManifestWork {
	var works []*workv1.ManifestWork
	for _, stored := range a.store.Store.List() {
		works = append(works, stored.(*workv1.ManifestWork))
	}
	slices.SortFunc(works, func(a, b *workv1.ManifestWork) int { return strings.Compare(a.Name, b.Name) })
	return works
}

// lose ends the connection for a time.
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

// RestartAgent makes an agent lose its memory. The objects that it applied stay.
func (n *Network) RestartAgent(cluster string) {
	a := n.agent(cluster)
	if n.world.lying() {
		return
	}
	n.world.Tell("network: the agent of %s is restarted", cluster)
	for _, work := range a.works() {
		if done := n.world.agents[work.UID]; done != nil {
			// It repeats its last report.
			done.stage, done.due = max(0, done.stage-1), n.now().Add(reportDelay)
		}
	}
	a.store = newStore()
	a.lose(0)
}

// reconsider makes an agent handle its works differently. A silent agent returns.
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

// ask requests the works of the agent from the hub, as sdk-go's client does.
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

// receive handles an event from the hub as sdk-go's client does.
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

// publish reports the agent's state of a work, and whether the broker accepted the report.
func (a *agentEnd) publish(action eventtypes.EventAction, work *workv1.ManifestWork) bool {
	event, err := codec.NewManifestBundleCodec().Encode(a.cluster+"-agent", eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceStatus, Action: action,
	}, work)
	if err != nil {
		panic(err)
	}
	a.network.sequence++
	// sdk-go derives its sequence IDs from the clock of the machine.
	at := a.network.now().Add(a.network.world.AgentsAhead[a.cluster]).UnixMilli() - snowflake.Epoch
	event.SetExtension(eventtypes.ExtensionStatusUpdateSequenceID, strconv.FormatInt(at<<22+a.network.sequence, 10))
	return a.network.toHub(a, *event)
}

func (a *agentEnd) keep(work *workv1.ManifestWork) {
	if err := a.store.Update(work); err != nil {
		panic(err)
	}
}

// runAgents lets every agent that is due report once, and returns the time at which the next one is due; zero if none
// is.
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

// run processes a work of the agent, and returns the time at which there is more to do.
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

// reportPrefix is the prefix of the reason that identifies a report in any copy of the work.
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
			// An agent does not remove a condition.
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

// reportOf returns the number of the report whose status a work has; 0 for none.
func reportOf(work *workv1.ManifestWork) int64 {
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	if applied == nil {
		return 0
	}
	number, _ := strconv.ParseInt(strings.TrimPrefix(applied.Reason, reportPrefix), 10, 64)
	return number
}

// haveAgent creates the agent of a cluster if works travel over a broker.
func (w *World) haveAgent(cluster string) {
	if w.Network != nil {
		w.Network.agent(cluster)
	}
}

// lying reports whether an agent has yet to correct a false report about a work, or corrected it a moment ago. A fault in the network can
// then make the hub believe the report for longer than --success-settle, the time that R10 waits.
func (w *World) lying() bool {
	for _, a := range w.agents {
		if (a.outcome == Lies || a.outcome == LiesThenHangs) && a.stage > 0 && w.Clock.Since(a.said) < settleTime {
			return true
		}
	}
	return false
}
