package hub

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/measure"
)

// The drivers that require a broker.
const (
	MQTT = "mqtt"
	GRPC = "grpc"
)

// Broker is a broker in a separate process.
type Broker struct {
	plane  *Plane
	binary string
	args   []string
	child  *process.Process
	// Driver is the driver of its protocol.
	Driver string
	// Address is the address where it listens, even after a restart.
	Address string
	// Config is the path of the manager's configuration.
	Config string
}

// StartBroker starts a broker for a driver beside the hub's API server: the benchmark's own broker, or a mosquitto with default settings.
func (p *Plane) StartBroker(ctx context.Context, driver, binary, mosquitto string) (*Broker, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	b := &Broker{plane: p, binary: binary, Driver: driver, Address: fmt.Sprintf("127.0.0.1:%d", port), Config: p.env.Group.Path("broker.yaml")}
	b.args = []string{"-driver=" + driver, "-listen=" + b.Address}
	if mosquitto != "" {
		b.binary, b.args = mosquitto, []string{"-p", fmt.Sprint(port)}
	}
	if err := os.WriteFile(b.Config, []byte(b.config()), 0o600); err != nil {
		return nil, err
	}
	return b, b.Start(ctx)
}

// config returns the manager's configuration.
func (b *Broker) config() string {
	if b.Driver == GRPC {
		return fmt.Sprintf("url: %s\n", b.Address)
	}
	return fmt.Sprintf(`brokerHost: %s
topics:
  sourceEvents: sources/mwrsctrl/clusters/+/sourceevents
  agentEvents: sources/mwrsctrl/clusters/+/agentevents
  sourceBroadcast: sources/mwrsctrl/sourcebroadcast
  agentBroadcast: clusters/+/agentbroadcast
`, b.Address)
}

// Start starts the broker, and returns once it listens.
func (b *Broker) Start(ctx context.Context) error {
	var err error
	b.child, err = b.plane.env.Group.Start(process.Command{Name: "broker", Path: b.binary, Args: b.args})
	if err != nil {
		return err
	}
	return b.child.WaitReady(ctx, time.Minute, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.Address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// PeakMemory returns the broker's peak memory since it was last started, in bytes.
func (b *Broker) PeakMemory() (int64, error) { return measure.PeakMemory(b.child.PID()) }

// Stop ends the broker, which loses its whole state.
func (b *Broker) Stop(ctx context.Context) error { return b.child.Stop(ctx) }
