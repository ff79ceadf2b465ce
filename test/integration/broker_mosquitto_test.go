package integration

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/test/internal/authority"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// mosquittoBinary finds mosquitto. Without mosquitto, the test is skipped, or fails if all tests are required.
func mosquittoBinary(t *testing.T) string {
	t.Helper()
	for _, candidate := range []string{os.Getenv("MOSQUITTO"), "mosquitto", "/usr/sbin/mosquitto"} {
		if path, err := exec.LookPath(candidate); candidate != "" && err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("there is no mosquitto: install Debian's package")
	}
	t.Skip("there is no mosquitto: install Debian's package")
	return ""
}

// newMosquitto starts a real mosquitto with the files of deploy/broker. Only the paths, the port, and the user that it runs as differ.
func newMosquitto(t *testing.T) *broker {
	t.Helper()
	binary := mosquittoBinary(t)
	b := &broker{t: t, address: freeAddress(t), authority: authority.New(t)}
	b.authority.Server()
	directory := t.TempDir()
	for from, to := range map[string]string{"ca.crt": "ca.crt", "server.crt": "tls.crt", "server.key": "tls.key"} {
		copyFile(t, b.authority.Path(from), filepath.Join(directory, to))
	}
	copyFile(t, "../../deploy/broker/mosquitto.acl", filepath.Join(directory, "mosquitto.acl"))
	config, err := os.ReadFile("../../deploy/broker/mosquitto.conf")
	require.NoError(t, err)
	text := string(config)
	_, port, err := net.SplitHostPort(b.address)
	require.NoError(t, err)
	for _, change := range [][2]string{
		{"listener 8883\n", "listener " + port + " 127.0.0.1\n"}, {"/mosquitto/certs/", directory + "/"}, {"/mosquitto/config/", directory + "/"},
	} {
		require.Contains(t, text, change[0])
		text = strings.ReplaceAll(text, change[0], change[1])
	}
	path := filepath.Join(directory, "mosquitto.conf")
	require.NoError(t, os.WriteFile(path, []byte("user root\n"+text), 0o600))
	command := exec.Command(binary, "-c", path)
	log, err := os.Create(filepath.Join(directory, "log"))
	require.NoError(t, err)
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	b.process = command.Process
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
		if t.Failed() {
			data, _ := os.ReadFile(log.Name())
			t.Logf("mosquitto: %s", data[max(0, len(data)-4000):])
		}
	})
	await.Eventually(t, patience, "mosquitto listens", func() error {
		conn, err := net.Dial("tcp", b.address)
		if err != nil {
			return fmt.Errorf("it does not: %w", err)
		}
		return conn.Close()
	})
	return b
}

// signal sends a signal to the mosquitto process. SIGSTOP makes the broker stall: its connections stay open, and it accepts nothing until
// SIGCONT.
func (b *broker) signal(signal syscall.Signal) {
	b.t.Helper()
	require.NoError(b.t, b.process.Signal(signal))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o600))
}
