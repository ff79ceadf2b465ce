package cloudevents

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cloudeventstypes "github.com/cloudevents/sdk-go/v2/types"
	"k8s.io/apimachinery/pkg/types"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	resync "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/payload"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// link is a transport that tells of its coming and going, and of agents that were away.
type link struct {
	options.CloudEventTransport

	name        string
	connection  Connection
	agentReturn time.Duration
	// knows says whether the hub has a work.
	knows func(types.UID) bool
	// heard takes down which agents send anything.
	heard *heard
	// returned is called when an agent asks for its works: it was away, or is new.
	returned func(cluster string)

	up atomic.Bool
}

// Connect implements options.CloudEventTransport.
func (l *link) Connect(ctx context.Context) error {
	err := l.CloudEventTransport.Connect(ctx)
	if err != nil {
		l.lost()
	}
	return err
}

// Subscribe implements options.CloudEventTransport. From here on agents are heard.
func (l *link) Subscribe(ctx context.Context) error {
	if err := l.CloudEventTransport.Subscribe(ctx); err != nil {
		l.lost()
		return err
	}
	l.up.Store(true)
	l.connection.Back(l.name, l.agentReturn)
	return nil
}

// Close implements options.CloudEventTransport. sdk-go calls it whenever the transport failed.
func (l *link) Close(ctx context.Context) error {
	l.lost()
	return l.CloudEventTransport.Close(ctx)
}

func (l *link) lost() {
	l.up.Store(false)
	l.connection.Lost(l.name)
}

// Receive implements options.CloudEventTransport.
func (l *link) Receive(ctx context.Context, handle options.ReceiveHandlerFn) error {
	return l.CloudEventTransport.Receive(ctx, func(ctx context.Context, event cloudevents.Event) {
		if cluster, err := cloudeventstypes.ToString(event.Extensions()[eventtypes.ExtensionClusterName]); err == nil {
			l.heard.note(cluster)
		}
		cluster, asks := askedBy(&event)
		if asks {
			event = l.onlyKnown(event)
		}
		handle(ctx, event)
		if asks {
			l.returned(cluster)
		}
	})
}

// askedBy says which agent asks for its works, if one does.
func askedBy(event *cloudevents.Event) (cluster string, asks bool) {
	kind, err := eventtypes.ParseCloudEventsType(event.Type())
	if err != nil || kind.Action != eventtypes.ResyncRequestAction || kind.SubResource != eventtypes.SubResourceSpec {
		return "", false
	}
	cluster, err = cloudeventstypes.ToString(event.Extensions()[eventtypes.ExtensionClusterName])
	return cluster, err == nil && cluster != ""
}

// onlyKnown takes what this hub does not know out of the list of what an agent has: sdk-go would have it deleted from the cluster, and
// a hub that was just restarted does not know yet what it had.
func (l *link) onlyKnown(event cloudevents.Event) cloudevents.Event {
	list, err := resync.DecodeSpecResyncRequest(event)
	if err != nil {
		return event // sdk-go says what is wrong with it.
	}
	known := slices.DeleteFunc(list.Versions, func(v resync.ResourceVersion) bool { return !l.knows(types.UID(v.ResourceID)) })
	filtered := event.Clone()
	if err := filtered.SetData(cloudevents.ApplicationJSON, &resync.ResourceVersionList{Versions: known}); err != nil {
		return event
	}
	return filtered
}

// ask makes the agent of a cluster, or all of them, report all that they have.
func (l *link) ask(ctx context.Context, cluster string) error {
	if !l.up.Load() {
		return errors.New("the broker is not connected")
	}
	event := eventtypes.NewEventBuilder(SourceID, eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType,
		SubResource:         eventtypes.SubResourceStatus,
		Action:              eventtypes.ResyncRequestAction,
	}).WithClusterName(cluster).NewEvent()
	if err := event.SetData(cloudevents.ApplicationJSON, &resync.ResourceStatusHashList{Hashes: []resync.ResourceStatusHash{}}); err != nil {
		return err
	}
	return l.Send(ctx, event)
}
