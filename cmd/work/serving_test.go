package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStartsAsEachReleaseStartsIt: both commands serve with the arguments that the operator of any supported release renders.
func TestStartsAsEachReleaseStartsIt(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	broker := writeBrokerConfigs(t, m)
	for _, release := range releases {
		for _, row := range release.managers {
			name := strings.Join(release.tags, " ") + " manager " + row.name
			t.Run(name, func(t *testing.T) {
				args := strings.Fields(strings.ReplaceAll(row.args, "$(POD_NAME)", "pod-0"))
				// The files of a Pod have other paths on this machine; serveManager passes the kubeconfig.
				for i, arg := range args {
					if strings.HasPrefix(arg, "--work-driver-config=") {
						args[i] = "--work-driver-config=" + broker[row.values["WorkDriver"].(string)]
					}
				}
				child, _ := m.serveManager(t, fileName(name), args...)
				require.NotContains(t, child.LogTail(200), "unknown flag")
			})
		}
		for _, row := range release.webhooks {
			name := strings.Join(release.tags, " ") + " webhook " + row.name
			t.Run(name, func(t *testing.T) {
				m.serveWebhook(t, fileName(name), strings.Fields(row.args)...)
			})
		}
	}
}

// fileName returns the name of a log file.
func fileName(name string) string {
	return strings.NewReplacer(" ", "-", ",", "").Replace(name)
}

// writeBrokerConfigs writes the files of the Secret work-driver-config, by driver, for a broker that does not exist.
func writeBrokerConfigs(t *testing.T, m *machine) map[string]string {
	t.Helper()
	files := map[string]string{}
	for driver, content := range map[string]string{
		"mqtt": "brokerHost: 127.0.0.1:1\ntopics:\n" +
			"  sourceEvents: sources/hub/clusters/+/sourceevents\n  agentEvents: sources/hub/clusters/+/agentevents\n",
		"grpc": "url: 127.0.0.1:1\n",
	} {
		files[driver] = m.group.Path(driver + ".yaml")
		require.NoError(t, os.WriteFile(files[driver], []byte(content), 0o600))
	}
	return files
}

// handshake returns the result of a TLS handshake with a version and, if given, only these cipher suites.
func handshake(address string, version uint16, suites ...uint16) error {
	connection, err := tls.Dial("tcp", address, &tls.Config{
		MinVersion: version, MaxVersion: version, CipherSuites: suites,
		InsecureSkipVerify: true, //nolint:gosec // Who serves is not what these tests are about.
	})
	if err != nil {
		return err
	}
	return connection.Close()
}

// TestTLSFlagsBoundEveryPort: every TLS port of both commands rejects a client that offers less than the flags require.
func TestTLSFlagsBoundEveryPort(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const suite = "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
	for _, test := range []struct {
		name  string
		flags []string
		// lowest is the lowest version that is served.
		lowest uint16
		// narrow is true if only the suite above is served with TLS 1.2.
		narrow bool
	}{
		{"no flags", nil, tls.VersionTLS12, false},
		{"TLS 1.2", []string{"--tls-min-version=VersionTLS12"}, tls.VersionTLS12, false},
		{"TLS 1.3", []string{"--tls-min-version=VersionTLS13"}, tls.VersionTLS13, false},
		{"one cipher suite", []string{suite}, tls.VersionTLS12, true},
		{"TLS 1.2 and one cipher suite", []string{"--tls-min-version=VersionTLS12", suite}, tls.VersionTLS12, true},
		{"TLS 1.3 and one cipher suite of TLS 1.2", []string{"--tls-min-version=VersionTLS13", suite}, tls.VersionTLS13, false},
		{"OpenSSL's name of a version", []string{"--tls-min-version=TLSv1.3"}, tls.VersionTLS13, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, manager := m.serveManager(t, fileName("manager "+test.name), append([]string{"manager"}, test.flags...)...)
			_, webhooks, health, metrics := m.serveWebhook(t, fileName("webhook "+test.name), append([]string{"webhook-server"}, test.flags...)...)
			// The server reports that it is ready before its metrics port listens.
			require.Eventually(t, func() bool { return handshake(metrics, tls.VersionTLS13) == nil }, time.Minute, 10*time.Millisecond)
			for port, address := range map[string]string{"manager": manager, "webhooks": webhooks, "webhooks' metrics": metrics} {
				for _, version := range []uint16{tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
					err := handshake(address, version)
					if version < test.lowest {
						require.Error(t, err, "%s: %s", port, tls.VersionName(version))
					} else {
						require.NoError(t, err, "%s: %s", port, tls.VersionName(version))
					}
				}
				if test.lowest <= tls.VersionTLS12 {
					require.NoError(t, handshake(address, tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384), port)
					require.Equal(t, test.narrow, handshake(address, tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256) != nil, port)
				}
			}
			// This port has no TLS, as docs/upgrade.md describes.
			require.NoError(t, isOK(t.Context(), "http://"+health+"/healthz"))
		})
	}
}

// TestTLSFlagsWinOverTheConfiguration: the flags override the file that --config names. Its other settings still apply.
func TestTLSFlagsWinOverTheConfiguration(t *testing.T) {
	m := newMachine(t)
	file := m.group.Path("config.yaml")
	config := fmt.Sprintf(`apiVersion: operator.openshift.io/v1alpha1
kind: GenericOperatorConfig
servingInfo:
  minTLSVersion: VersionTLS12
  certFile: %[1]s/tls.crt
  keyFile: %[1]s/tls.key
`, m.certificates)
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	_, address := m.serveManager(t, "manager-config", "manager", "--config="+file, "--tls-min-version=VersionTLS13")
	require.Error(t, handshake(address, tls.VersionTLS12))
	require.NoError(t, handshake(address, tls.VersionTLS13))

	wanted, err := tls.LoadX509KeyPair(filepath.Join(m.certificates, "tls.crt"), filepath.Join(m.certificates, "tls.key"))
	require.NoError(t, err)
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // The certificate is compared below.
	require.NoError(t, err)
	defer connection.Close()
	require.Equal(t, wanted.Certificate[0], connection.ConnectionState().PeerCertificates[0].Raw, "the certificate from the file")
}

// TestPorts: health and metrics are served on the ports that OCM's operator renders.
func TestPorts(t *testing.T) {
	m := newMachine(t)
	_, _, health, metrics := m.serveWebhook(t, "webhook-ports", "webhook-server")
	require.NoError(t, isOK(t.Context(), "http://"+health+"/healthz"))
	require.NoError(t, handshake(metrics, tls.VersionTLS12))
}

// TestFlagsThatCannotBeUsed: the command ends, and its error names the flag and the valid values.
func TestFlagsThatCannotBeUsed(t *testing.T) {
	m := newMachine(t)
	webhook := []string{"webhook-server", "--kubeconfig=" + m.kubeconfig, "--certdir=" + m.certificates}
	manager := []string{"manager", "--kubeconfig=" + m.kubeconfig}
	for _, test := range []struct {
		commands [][]string
		flag     string
		wanted   []string
	}{
		{[][]string{manager, webhook}, "--tls-min-version=VersionTLS99", []string{
			"--tls-min-version=VersionTLS99: use one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13",
		}},
		{[][]string{manager, webhook}, "--tls-cipher-suites=TLS_AES_128_GCM_SHA256,NO_SUCH", []string{
			"--tls-cipher-suites=TLS_AES_128_GCM_SHA256,NO_SUCH: NO_SUCH: no such cipher suite", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		}},
		{[][]string{webhook}, "--health-probe-port=65536", []string{"--health-probe-port=65536: use a port up to 65535, or 0 for none"}},
		{[][]string{webhook}, "--metrics-port=65536", []string{"--metrics-port=65536: use a port up to 65535, or 0 for none"}},
		{[][]string{manager}, "--work-driver=kafka", []string{"--work-driver=kafka: use kube, mqtt or grpc"}},
		{[][]string{manager}, "--config=/not/there --tls-min-version=VersionTLS12", []string{"--config=/not/there: name a GenericOperatorConfig in YAML"}},
	} {
		for _, command := range test.commands {
			t.Run(command[0]+" "+test.flag, func(t *testing.T) {
				child := m.start(t, fileName(fmt.Sprintf("%s-%d", command[0], len(test.flag))), slices.Concat(command, strings.Fields(test.flag))...)
				select {
				case <-child.Done():
				case <-t.Context().Done():
				}
				_, err := child.Exited()
				for _, wanted := range test.wanted {
					require.ErrorContains(t, err, wanted)
				}
				require.ErrorContains(t, err, "exit status 1")
			})
		}
	}
}
