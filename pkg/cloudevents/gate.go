package cloudevents

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cloudeventstypes "github.com/cloudevents/sdk-go/v2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// Refusal is the reason why an event from an agent is dropped. There are only a few reasons, because they are the
// values of a metric label.
type Refusal string

// The reasons to drop an event.
const (
	// RefusedKind means that the event is neither a report nor a question of an agent, or can't be read.
	RefusedKind Refusal = "kind"
	// RefusedCluster means that the event does not name a cluster, or names a cluster other than the one in its topic,
	// or contains a name that is not valid for a cluster.
	RefusedCluster Refusal = "cluster"
	// RefusedWork means that the event is about a work of another cluster, or of another source.
	RefusedWork Refusal = "work"
	// RefusedSequence means that its sequence ID is not a number, or is in the future: otherwise no later report would
	// ever count.
	RefusedSequence Refusal = "sequence"
	// RefusedQuota means that the event's cluster reports too many works that this hub does not know, or exceeds its
	// share of memory.
	RefusedQuota Refusal = "quota"
	// RefusedSize means that the event is larger than a report can be.
	RefusedSize Refusal = "size"
	// RefusedGeneration means that the event reports a generation that this hub never assigns to a work.
	RefusedGeneration Refusal = "generation"
)

// Refusals lists all reasons to drop an event.
var Refusals = []Refusal{RefusedKind, RefusedCluster, RefusedWork, RefusedSequence, RefusedQuota, RefusedSize, RefusedGeneration}

// maxAhead is how far an agent's clock may be ahead of the hub's before its reports are refused.
const maxAhead = 24 * time.Hour

// maxSequence is the maximum number of digits in a sequence ID.
const maxSequence = 19

// gate admits the events that an agent may send: events about its own cluster.
type gate struct {
	clock clock.PassiveClock
	// clusterOf returns the cluster of a work; empty if the hub does not have the work.
	clusterOf func(types.UID) string
}

// judge reports whether the agent of a cluster asks for its works, or why its event is dropped.
func (g *gate) judge(cluster string, event *cloudevents.Event) (asks bool, why Refusal) {
	kind, err := eventtypes.ParseCloudEventsType(event.Type())
	if err != nil || kind.CloudEventsDataType != payload.ManifestBundleEventDataType {
		return false, RefusedKind
	}
	if kind.SubResource == eventtypes.SubResourceSpec && kind.Action == eventtypes.ResyncRequestAction {
		return true, ""
	}
	return false, g.judgeReport(kind, event.Extensions(), cluster)
}

// judgeReport returns why an event that does not ask for works is dropped, if it is.
func (g *gate) judgeReport(kind *eventtypes.CloudEventsType, extensions map[string]any, cluster string) Refusal {
	switch {
	case kind.SubResource != eventtypes.SubResourceStatus || !reports.Has(kind.Action):
		return RefusedKind
	case !g.ownWork(extensions, cluster):
		return RefusedWork
	case !g.plausible(extensions):
		return RefusedSequence
	}
	return ""
}

// namedCluster returns the cluster that an event names. If the event names no cluster, a cluster other than the sender's, or a name that no
// cluster can have, namedCluster returns the sender's cluster and false.
func namedCluster(ctx context.Context, event *cloudevents.Event) (cluster string, ok bool) {
	cluster, err := cloudeventstypes.ToString(event.Extensions()[eventtypes.ExtensionClusterName])
	if sender, known := senderOf(ctx); err != nil || known && cluster != sender || !placement.IsClusterName(cluster) {
		return sender, false
	}
	return cluster, true
}

// reports are the actions by which an agent sends its status.
var reports = sets.New(eventtypes.CreateRequestAction, eventtypes.UpdateRequestAction, eventtypes.DeleteRequestAction,
	eventtypes.ResyncResponseAction)

// ownWork reports whether a report is about a work of the cluster that sent it, and of this source. The UID of a work
// is derived from both.
func (g *gate) ownWork(extensions map[string]any, cluster string) bool {
	id, err := cloudeventstypes.ToString(extensions[eventtypes.ExtensionResourceID])
	if err != nil {
		return false
	}
	known := g.clusterOf(types.UID(id))
	if known != "" && known != cluster {
		return false
	}
	told, bears := extensions[eventtypes.ExtensionWorkMeta]
	if !bears {
		return known != ""
	}
	text, err := cloudeventstypes.ToString(told)
	if err != nil {
		return false
	}
	var meta metav1.ObjectMeta
	if err := json.Unmarshal([]byte(text), &meta); err != nil {
		return false
	}
	return meta.Namespace == cluster && types.UID(id) == workUID(cluster, meta.Name)
}

// plausible reports whether the sequence ID of a report may come from a working clock.
func (g *gate) plausible(extensions map[string]any) bool {
	text, err := cloudeventstypes.ToString(extensions[eventtypes.ExtensionStatusUpdateSequenceID])
	if err != nil || len(text) > maxSequence {
		return false
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return false
	}
	return timeOf(text).Before(g.clock.Now().Add(maxAhead))
}
