// Package authority issues certificates to a server on loopback and to its clients.
package authority

import (
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/crypto"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
)

// lifetime is the lifetime of the certificates.
const lifetime = 24 * time.Hour

// Authority issues certificates.
type Authority struct {
	t         *testing.T
	directory string
	ca        *crypto.CA
}

// New returns an authority.
func New(t *testing.T) *Authority {
	t.Helper()
	config, err := crypto.MakeSelfSignedCAConfigForDuration("test CA", lifetime)
	require.NoError(t, err)
	a := &Authority{t: t, directory: t.TempDir(), ca: &crypto.CA{Config: config, SerialGenerator: &crypto.RandomSerialGenerator{}}}
	a.write("ca", config, nil)
	return a
}

// write writes <name>.crt and <name>.key.
func (a *Authority) write(name string, issued *crypto.TLSCertificateConfig, err error) {
	a.t.Helper()
	require.NoError(a.t, err)
	require.NoError(a.t, issued.WriteCertConfigFile(a.Path(name+".crt"), a.Path(name+".key")))
}

// Path returns the path of a file: ca.crt of the authority, or <name>.crt and <name>.key of each client.
func (a *Authority) Path(file string) string { return filepath.Join(a.directory, file) }

// Server returns the configuration of a server on loopback that requires client certificates.
func (a *Authority) Server() *tls.Config {
	a.t.Helper()
	issued, err := a.ca.MakeServerCertForDuration(sets.New("127.0.0.1"), lifetime)
	a.write("server", issued, err)
	pair, err := tls.LoadX509KeyPair(a.Path("server.crt"), a.Path("server.key"))
	require.NoError(a.t, err)
	pool := x509.NewCertPool()
	pool.AddCert(a.ca.Config.Certs[0])
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// Client issues a certificate with a common name.
func (a *Authority) Client(name string) {
	a.t.Helper()
	issued, err := a.ca.MakeClientCertificateForDuration(&user.DefaultInfo{Name: name}, lifetime)
	a.write(name, issued, err)
}
