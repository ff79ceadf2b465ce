package cloudevents

import (
	"testing"

	"github.com/stretchr/testify/require"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
)

// The client announces limits to the broker: a maximum packet size that fits exactly one event, and the number of packets that may wait.
func TestPacketSizeIsAnnounced(t *testing.T) {
	transport := &mqttTransport{options: &mqtt.MQTTOptions{KeepAlive: 60, Username: "me"}, clientID: "hub"}
	connect := transport.connectOption()
	require.Equal(t, uint32(maxPacket), *connect.Properties.MaximumPacketSize)
	require.Equal(t, uint16(maxWaiting), *connect.Properties.ReceiveMaximum)
	require.True(t, connect.Properties.RequestProblemInfo, "as without any property")
	require.Equal(t, "hub", connect.ClientID)
	require.Equal(t, "me", connect.Username)
}

// A broker that stalls is noticed soon, whatever the configuration says.
func TestKeepAliveIsShort(t *testing.T) {
	for configured, want := range map[uint16]uint16{0: maxKeepAlive, 5: 5, 60: maxKeepAlive} {
		transport := &mqttTransport{options: &mqtt.MQTTOptions{KeepAlive: configured}, clientID: "hub"}
		require.Equal(t, want, transport.connectOption().KeepAlive)
	}
}
