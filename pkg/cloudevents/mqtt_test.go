package cloudevents

import (
	"context"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
)

// The broker is told the maximum size of a packet. That size is enough for one event and no more.
func TestPacketSizeIsAnnounced(t *testing.T) {
	transport := newMQTTTransport(&mqtt.MQTTOptions{KeepAlive: 60, Username: "me"}, "hub")
	connect := transport.connectOption()
	require.Equal(t, uint32(maxPacket), *connect.Properties.MaximumPacketSize)
	require.True(t, connect.Properties.RequestProblemInfo, "as without any property")
	require.Equal(t, "hub", connect.ClientID)
	require.Equal(t, "me", connect.Username)
}

// Packets that are not decoded hold a bounded amount of memory: the broker waits until there is room again, or the connection ends.
func TestUnreadPacketsHaveAMemory(t *testing.T) {
	s := &mqttSession{closed: make(chan struct{}), room: semaphore.NewWeighted(unreadBytes)}
	packet := &paho.Publish{Topic: "topic", Payload: make([]byte, maxEvent), Properties: &paho.PublishProperties{}}
	packet.Properties.User.Add("ce-metadata", "header")
	size := sizeOfPacket(packet)
	require.Equal(t, int64(maxEvent+len("topic")+len("ce-metadata")+len("header")), size)
	for range unreadBytes / size {
		require.True(t, s.waitForRoom(t.Context(), size))
	}
	waited := make(chan bool, 1)
	go func() { waited <- s.waitForRoom(t.Context(), size) }()
	s.room.Release(size)
	require.True(t, soonest(t, waited), "there is room again")
	go func() { waited <- s.waitForRoom(t.Context(), size) }()
	close(s.closed)
	require.False(t, soonest(t, waited), "the connection ended")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, s.waitForRoom(ctx, size))
	require.LessOrEqual(t, sizeOfPacket(&paho.Publish{Payload: make([]byte, unreadBytes+1)}), int64(unreadBytes), "one that is too large waits for all the room")
}

// soonest returns the next value of a channel. It waits long enough for a busy machine.
func soonest(t *testing.T, from <-chan bool) bool {
	t.Helper()
	select {
	case answer := <-from:
		return answer
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came within 10 s")
		return false
	}
}
