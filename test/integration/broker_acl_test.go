package integration

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"os"
	"slices"
	"strings"
	"testing"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/stretchr/testify/require"
)

// permissions are the lines of a mosquitto access control file, as far as deploy/broker uses them. The user of a client is the common name
// of its certificate.
type permissions struct {
	mochi.HookBase
	rules []permission
}

type permission struct {
	// user is empty for all users.
	user  string
	write bool
	topic string
}

// readPermissions reads deploy/broker/mosquitto.acl.
func readPermissions(t *testing.T) *permissions {
	t.Helper()
	data, err := os.ReadFile("../../deploy/broker/mosquitto.acl")
	require.NoError(t, err)
	p := &permissions{}
	user := ""
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if fields[0] == "user" {
			require.Len(t, fields, 2, lines.Text())
			user = fields[1]
			continue
		}
		require.Len(t, fields, 3, lines.Text())
		require.Contains(t, []string{"topic", "pattern"}, fields[0])
		require.Contains(t, []string{"read", "write"}, fields[1])
		rule := permission{write: fields[1] == "write", topic: fields[2]}
		if fields[0] == "topic" {
			require.NotEmpty(t, user, "a topic of nobody: %s", lines.Text())
			rule.user = user
		}
		p.rules = append(p.rules, rule)
	}
	require.NotEmpty(t, p.rules)
	return p
}

// ID implements mochi.Hook.
func (p *permissions) ID() string { return "permissions" }

// Provides implements mochi.Hook.
func (p *permissions) Provides(event byte) bool {
	return slices.Contains([]byte{mochi.OnConnectAuthenticate, mochi.OnACLCheck}, event)
}

// OnConnectAuthenticate implements mochi.Hook. TLS has already verified the certificate.
func (p *permissions) OnConnectAuthenticate(client *mochi.Client, _ packets.Packet) bool {
	return userOf(client) != ""
}

// OnACLCheck implements mochi.Hook.
func (p *permissions) OnACLCheck(client *mochi.Client, topic string, write bool) bool {
	return slices.ContainsFunc(p.rules, func(rule permission) bool { return rule.allows(userOf(client), topic, write) })
}

// userOf returns the common name of a client's certificate.
func userOf(client *mochi.Client) string {
	conn, secure := client.Net.Conn.(*tls.Conn)
	if !secure {
		return ""
	}
	certificates := conn.ConnectionState().PeerCertificates
	if len(certificates) == 0 {
		return ""
	}
	return certificates[0].Subject.CommonName
}

func (p *permission) allows(user, topic string, write bool) bool {
	if write != p.write || p.user != "" && p.user != user {
		return false
	}
	rule, levels := strings.Split(p.topic, "/"), strings.Split(topic, "/")
	return slices.EqualFunc(rule, levels, func(rule, level string) bool {
		return rule == "+" || rule == level || rule == "%u" && level == user
	})
}
