package docs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/test/internal/authority"
)

// broker is an MQTT broker on loopback.
type broker struct {
	address   string
	server    *mochi.Server
	authority *authority.Authority
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	port, err := process.FreePort()
	require.NoError(t, err)
	b := &broker{address: fmt.Sprintf("127.0.0.1:%d", port), authority: authority.New(t), server: mochi.New(&mochi.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})}
	require.NoError(t, b.server.AddHook(new(auth.AllowHook), nil))
	require.NoError(t, b.server.AddListener(listeners.NewTCP(listeners.Config{ID: "tcp", Address: b.address, TLSConfig: b.authority.Server()})))
	require.NoError(t, b.server.Serve())
	t.Cleanup(func() { _ = b.server.Close() })
	return b
}

// listensTo returns the topics that a client of the broker subscribes to, or an error if there is no client with the name.
func (b *broker) listensTo(client string) (map[string]bool, error) {
	found, connected := b.server.Clients.Get(client)
	if !connected {
		return nil, fmt.Errorf("no client is called %s", client)
	}
	topics := map[string]bool{}
	for topic := range found.State.Subscriptions.GetAll() {
		topics[topic] = true
	}
	return topics, nil
}

// withBroker replaces the broker in the commands with one that exists, and gives the user the hub's certificate.
func (h *hub) withBroker(t *testing.T, commands string) string {
	const example, mounted = "broker.example.com:8883", " /var/run/secrets/work/"
	h.broker = newBroker(t)
	h.broker.authority.Client("mwrsctrl")
	for file, issued := range map[string]string{"ca.crt": "ca.crt", "tls.crt": "mwrsctrl.crt", "tls.key": "mwrsctrl.key"} {
		data, err := os.ReadFile(h.broker.authority.Path(issued))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(h.clone, file), data, 0o600))
	}
	require.Equal(t, 1, strings.Count(commands, example))
	require.Equal(t, 3, strings.Count(commands, mounted))
	commands = strings.ReplaceAll(commands, mounted, " "+h.mounted()+"/")
	return strings.Replace(commands, example, h.broker.address, 1)
}

// mounted returns the path where a kubelet would mount the Secret. On this machine, it is below the Deployment's directory.
func (h *hub) mounted() string {
	return h.Env.Group.Path(h.Plane.Name, "pods", sandbox.WorkController, "var/run/secrets/work")
}

// usesBroker: this hub uses the broker because of the operator's Deployment and the Secret that it mounts.
func (h *hub) usesBroker(t *testing.T, _ string) {
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	work, err := sandbox.NewDeployedWorkHub(h.Env.Group, h.binary, "--disable-leader-election",
		"--work-driver-config="+filepath.Join(h.mounted(), "config.yaml"))
	require.NoError(t, err)
	kubelet := h.RunDeployment(t, sandbox.WorkController, work)
	t.Cleanup(func() {
		kubelet.Stop()
		require.NoError(t, work.Stop(context.Background()))
	})
	eventually(t, "the hub listens at the broker", func() error {
		topics, err := h.broker.listensTo("work-controller-" + sandbox.WorkController + "-0")
		if err == nil && (!topics["sources/mwrsctrl/clusters/+/agentevents"] || !topics["clusters/+/agentbroadcast"]) {
			err = fmt.Errorf("it listens to %v", topics)
		}
		return err
	})
}

// showsDriver also checks that the operator reverts edits, and that an apply of deploy/ removes the gate, which deploy/ does not name.
func (h *hub) showsDriver(t *testing.T, output string) {
	for _, flag := range []string{
		"--work-driver=mqtt", "--work-driver-config=/var/run/secrets/work/config.yaml", "--cloudevents-client-id=work-controller-$(POD_NAME)",
	} {
		require.Contains(t, output, `"`+flag+`"`)
	}
	const deployment = "deployment cluster-manager-work-controller -n open-cluster-management-hub"
	const args = "kubectl get " + deployment + " -o jsonpath='{.spec.template.spec.containers[0].args}'"
	h.shell(t, "kubectl patch "+deployment+` --type=json -p '[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--success-settle=9s"}]'`)
	eventually(t, "the operator takes the flag back", func() error {
		if found := h.shell(t, args); found != output {
			return errors.New(found)
		}
		return nil
	})
	h.shell(t, "kubectl apply --server-side --force-conflicts -k deploy")
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	require.NotContains(t, h.shell(t, args), "work-driver")
}
