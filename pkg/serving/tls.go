// Package serving holds the TLS flags of both commands, which OCM's operator sets since version 1.3.
package serving

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	sdktls "open-cluster-management.io/sdk-go/pkg/tls"
)

// The flags, as OCM's operator writes them.
const (
	flagMinVersion   = "tls-min-version"
	flagCipherSuites = "tls-cipher-suites"
)

// versions are the values of --tls-min-version that OCM's help names. sdk-go also takes OpenSSL's names, such as TLSv1.2.
var versions = []string{"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"}

// TLS holds the flags that restrict the TLS versions and cipher suites of clients. They apply to every TLS port of the process.
type TLS struct {
	// MinVersion is the lowest version that a client may use; empty for the default, TLS 1.2.
	MinVersion string
	// CipherSuites are the names of the cipher suites that a client may use, separated by commas; empty for the default. They apply up to
	// TLS 1.2: Go does not allow a choice of cipher suites for TLS 1.3.
	CipherSuites string
}

// AddFlags registers the flags.
func (o *TLS) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.MinVersion, flagMinVersion, o.MinVersion,
		"Lowest TLS version that clients of the serving ports may use: "+strings.Join(versions, ", ")+". If not set, VersionTLS12.")
	flags.StringVar(&o.CipherSuites, flagCipherSuites, o.CipherSuites,
		"Comma-separated names of the cipher suites that clients of the serving ports may use up to TLS 1.2. If not set, a safe selection.")
}

// Config returns the configuration from the flags; nil if none of them is set. An error names the flag and the allowed
// values.
func (o *TLS) Config() (*sdktls.TLSConfig, error) {
	if _, err := sdktls.ParseTLSVersion(o.MinVersion); err != nil {
		return nil, fmt.Errorf("--%s=%s: use one of %s", flagMinVersion, o.MinVersion, strings.Join(versions, ", "))
	}
	if _, unknown := sdktls.ParseCipherSuites(o.CipherSuites); len(unknown) > 0 {
		return nil, fmt.Errorf("--%s=%s: %s: no such cipher suite; separate by commas any of %s",
			flagCipherSuites, o.CipherSuites, strings.Join(unknown, ", "), strings.Join(suites(), ", "))
	}
	return sdktls.ConfigFromFlags(o.MinVersion, o.CipherSuites)
}

// suites returns the names of all cipher suites that sdk-go accepts, the secure ones first.
func suites() []string {
	var names []string
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		names = append(names, suite.Name)
	}
	return names
}
