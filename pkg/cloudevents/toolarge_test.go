package cloudevents

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"
)

// A work that exceeds the max_packet_size announced by the broker, or whose metadata does not fit into an MQTT header (65,535 bytes), is
// rejected and named, like any other work that can't be written. It must not break the connection, which carries all other works: rollouts
// and aborts would stop, and no deadline would fire.
func TestWorkThatIsTooLargeForTheBroker(t *testing.T) {
	large := owned("c1", "v1")
	large.Spec = spec(strings.Repeat("x", 100<<10))
	labelled := owned("c1", "v1")
	for i := range 2000 { // The labels of a ManifestWorkReplicaSet are copied to its works, and an API server does not limit how many there are.
		labelled.Labels[fmt.Sprintf("example.com/a-label-of-a-tenant-%d", i)] = "true"
	}
	for name, work := range map[string]*workv1.ManifestWork{"the packet": large, "the metadata": labelled} {
		t.Run(name, func(t *testing.T) {
			d, connection := newMosquittoDriver(t, "max_packet_size 98304")
			_, err := d.Works().WorkV1().ManifestWorks("c1").Create(t.Context(), work, metav1.CreateOptions{})
			require.Error(t, err)
			require.NotContains(t, connection.all(), "lost broker", "the connection stays: %v", err)
			require.True(t, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
			_, err = d.Works().WorkV1().ManifestWorks("c2").Create(t.Context(), owned("c2", "v1"), metav1.CreateOptions{})
			require.NoError(t, err)
		})
	}
}

func newMosquittoDriver(t *testing.T, option string) (*Driver, *fakeConnection) {
	t.Helper()
	address := mosquittoWith(t, option)
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `brokerHost: %s
topics:
  sourceEvents: sources/mwrsctrl/clusters/+/sourceevents
  agentEvents: sources/mwrsctrl/clusters/+/agentevents
  sourceBroadcast: sources/mwrsctrl/sourcebroadcast
  agentBroadcast: clusters/+/agentbroadcast
`, address), 0o600))
	connection := &fakeConnection{}
	d, err := New(t.Context(), Options{
		Type: "mqtt", ConfigFile: config, ClientID: "hub", Owners: fakeOwners{}, Connection: connection, Clock: clock.RealClock{},
	})
	require.NoError(t, err)
	require.Eventually(t, d.link.up.Load, 10*time.Second, 10*time.Millisecond)
	return d, connection
}

// mosquittoWith starts a mosquitto with an option and without permissions.
func mosquittoWith(t *testing.T, option string) (address string) {
	t.Helper()
	binary, err := exec.LookPath("mosquitto")
	if err != nil {
		binary, err = exec.LookPath("/usr/sbin/mosquitto") // Not on the PATH of every user.
	}
	if err != nil {
		t.Skip("there is no mosquitto: install Debian's package")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	path := filepath.Join(t.TempDir(), "mosquitto.conf")
	text := fmt.Sprintf("user root\nlistener %s 127.0.0.1\nallow_anonymous true\n%s\n", port, option)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	command := exec.Command(binary, "-c", path)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	return address
}
