package integration

import (
	"context"
	"fmt"
	"testing"

	cloudeventsmqtt "github.com/cloudevents/sdk-go/protocol/mqtt_paho/v2"
	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
	agentcodec "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/agent/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	resync "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/payload"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	works "github.com/open-cluster-management-io/work-rollback/pkg/cloudevents"
)

// intruder has the certificate of a cluster's agent.
type intruder struct {
	t      *testing.T
	client *mqttClient
}

func newIntruder(t *testing.T, b *broker, cluster string) *intruder {
	t.Helper()
	client, err := b.dial(t.Context(), b.agentConfig(cluster), "intruder", nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(&paho.Disconnect{}) })
	return &intruder{t: t, client: client}
}

// publish returns an error if the broker does not permit it.
func (i *intruder) publish(topic string, event *cloudevents.Event) error {
	i.t.Helper()
	message := &paho.Publish{QoS: 1, Topic: topic}
	require.NoError(i.t, cloudeventsmqtt.WritePubMessage(context.Background(), (*binding.EventMessage)(event), message))
	_, err := i.client.Publish(i.t.Context(), message)
	return err
}

// report returns a report of a cluster's agent about its work.
func report(t *testing.T, cluster, owner string, conditions ...metav1.Condition) *cloudevents.Event {
	t.Helper()
	namespace, name, ok := workv1alpha1.ParseOwnerLabelValue(owner)
	require.True(t, ok, namespace)
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster, Name: name, UID: types.UID(utils.UID(works.SourceID, common.ManifestWorkGR.String(), cluster, name)), Generation: 1 << 30,
		Labels: map[string]string{workv1alpha1.LabelReplicaSet: owner, common.CloudEventsOriginalSourceLabelKey: works.SourceID},
	}}
	work.Status.Conditions = conditions
	return reportOf(t, work)
}

// reportOf encodes an agent's report about a work.
func reportOf(t *testing.T, work *workv1.ManifestWork) *cloudevents.Event {
	t.Helper()
	event, err := agentcodec.NewManifestBundleCodec().Encode("agent", eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceStatus, Action: eventtypes.UpdateRequestAction,
	}, work)
	require.NoError(t, err)
	return event
}

// question returns the request that an agent sends when it has reconnected.
func question(t *testing.T, cluster string) *cloudevents.Event {
	t.Helper()
	event := eventtypes.NewEventBuilder("agent", eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceSpec, Action: eventtypes.ResyncRequestAction,
	}).WithClusterName(cluster).NewEvent()
	require.NoError(t, event.SetData(cloudevents.ApplicationJSON, &resync.ResourceVersionList{}))
	return &event
}

// The broker's permissions limit an agent to its own topics, and the hub limits it to its own works there.
func TestCloudEventsIntruder(t *testing.T) {
	t.Parallel()
	b := newSecureBroker(t)
	f := newEventFleet(t, "mqtt-intruder", "mqtt", b.sourceConfig(), b.agentConfig, &b.sent)
	f.start(progressive(1, "30s", 0, abortAll))
	f.quiet()
	victim, own := f.cluster("c1"), f.cluster("c2")
	owner := workv1alpha1.OwnerLabelValue(f.namespace, f.name)
	gone := metav1.Condition{Type: common.ResourceDeleted, Status: metav1.ConditionTrue, Reason: "Forged"}
	before := f.sent.works()
	i := newIntruder(t, b, own)

	// On the topics of another cluster, or of the hub.
	for _, topic := range []string{
		"sources/mwrsctrl/clusters/" + victim + "/agentevents", "clusters/" + victim + "/agentbroadcast",
		"sources/mwrsctrl/clusters/" + victim + "/sourceevents", "sources/mwrsctrl/clusters/" + own + "/sourceevents", "sources/mwrsctrl/sourcebroadcast",
	} {
		require.Error(t, i.publish(topic, report(t, victim, owner, gone)), "the broker must not take it: %s", topic)
	}
	for _, topic := range []string{
		"sources/mwrsctrl/clusters/" + victim + "/sourceevents", "sources/mwrsctrl/clusters/+/sourceevents", "sources/#", "#",
		"sources/mwrsctrl/clusters/+/agentevents", "clusters/+/agentbroadcast",
	} {
		_, err := i.client.Subscribe(t.Context(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: topic, QoS: 1}}})
		require.Error(t, err, "the broker must not let it listen: %s", topic)
	}

	// On its own topics, about another cluster.
	events, broadcast := "sources/mwrsctrl/clusters/"+own+"/agentevents", "clusters/"+own+"/agentbroadcast"
	for _, topic := range []string{events, broadcast} {
		for _, event := range []*cloudevents.Event{
			report(t, victim, owner, gone), report(t, victim, owner), question(t, victim), question(t, ""),
		} {
			require.NoError(t, i.publish(topic, event))
		}
		forged := report(t, victim, owner, gone)
		forged.SetExtension(eventtypes.ExtensionClusterName, own)
		require.NoError(t, i.publish(topic, forged))
	}
	asked := f.sent.count(eventtypes.ResyncResponseAction, own)
	require.NoError(t, i.publish(broadcast, question(t, own)))
	eventually(t, "the hub has read all of it", func() error {
		if f.sent.count(eventtypes.ResyncResponseAction, own) == asked {
			return fmt.Errorf("it has not answered the question")
		}
		return nil
	})
	require.Zero(t, f.sent.count(eventtypes.ResyncResponseAction, victim))
	f.unsent(before, "nothing is sent")
	f.quiet()

	// Everything else continues.
	f.roll("v2", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
}
