package serving

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	sdktls "open-cluster-management.io/sdk-go/pkg/tls"
)

// commandFlags are the flags of library-go's command that these tests use.
func commandFlags(config string) *pflag.FlagSet {
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	flags.String(flagConfig, config, "")
	flags.StringArray(flagTerminateOnFiles, nil, "")
	return flags
}

func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		options TLS
		wanted  *sdktls.TLSConfig
		problem string
	}{
		"no flags":  {},
		"blank":     {options: TLS{MinVersion: " ", CipherSuites: " "}},
		"a version": {options: TLS{MinVersion: "VersionTLS13"}, wanted: &sdktls.TLSConfig{MinVersion: tls.VersionTLS13}},
		"OpenSSL's": {options: TLS{MinVersion: "TLSv1.2"}, wanted: &sdktls.TLSConfig{MinVersion: tls.VersionTLS12}},
		"one suite": {
			options: TLS{CipherSuites: "TLS_AES_128_GCM_SHA256"},
			wanted:  &sdktls.TLSConfig{MinVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_AES_128_GCM_SHA256}},
		},
		"no version": {
			options: TLS{MinVersion: "1.2"},
			problem: "--tls-min-version=1.2: use one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13",
		},
		"no suite": {
			options: TLS{CipherSuites: "A, TLS_AES_128_GCM_SHA256,B"},
			problem: "--tls-cipher-suites=A, TLS_AES_128_GCM_SHA256,B: A, B: no such cipher suite; separate by commas any of TLS_AES_128_GCM_SHA256, ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := test.options.Config()
			if test.problem != "" {
				require.ErrorContains(t, err, test.problem)
				_, err := test.options.ApplyToFlags(commandFlags(""))
				require.ErrorContains(t, err, test.problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.wanted, config)
		})
	}
}

func TestApplyToFlags(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	given := filepath.Join(t.TempDir(), "given.yaml")
	const config = "kind: Other\nservingInfo:\n  bindAddress: :1\n  minTLSVersion: VersionTLS10\n  cipherSuites: [X]\n"
	require.NoError(t, os.WriteFile(given, []byte(config), 0o600))
	for name, test := range map[string]struct {
		options TLS
		given   string
		wanted  string
		watched string
	}{
		"a version": {
			options: TLS{MinVersion: "TLSv1.3"}, watched: "[]",
			wanted: "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\nservingInfo:\n  minTLSVersion: VersionTLS13\n",
		},
		"suites": {
			options: TLS{CipherSuites: " TLS_AES_128_GCM_SHA256,, TLS_AES_256_GCM_SHA384"}, watched: "[]",
			wanted: "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\nservingInfo:\n" +
				"  cipherSuites:\n  - TLS_AES_128_GCM_SHA256\n  - TLS_AES_256_GCM_SHA384\n",
		},
		"a version that overrides the file": {
			options: TLS{MinVersion: "VersionTLS12"}, given: given, watched: "[" + given + "]",
			wanted: "kind: Other\nservingInfo:\n  bindAddress: :1\n  cipherSuites:\n  - X\n  minTLSVersion: VersionTLS12\n",
		},
		"suites that override the file": {
			options: TLS{CipherSuites: "TLS_AES_128_GCM_SHA256"}, given: given, watched: "[" + given + "]",
			wanted: "kind: Other\nservingInfo:\n  bindAddress: :1\n  cipherSuites:\n  - TLS_AES_128_GCM_SHA256\n  minTLSVersion: VersionTLS10\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			flags := commandFlags(test.given)
			remove, err := test.options.ApplyToFlags(flags)
			require.NoError(t, err)
			path := flags.Lookup(flagConfig).Value.String()
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, test.wanted, string(content))
			require.Equal(t, test.watched, flags.Lookup(flagTerminateOnFiles).Value.String())
			remove()
			require.NoFileExists(t, path)
		})
	}
}

// Without a TLS flag, nothing is written, and --config does not change.
func TestApplyToFlagsWithoutFlags(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	flags := commandFlags("/given")
	remove, err := (&TLS{}).ApplyToFlags(flags)
	require.NoError(t, err)
	remove()
	require.Equal(t, "/given", flags.Lookup(flagConfig).Value.String())

	_, err = (&TLS{MinVersion: "VersionTLS12"}).ApplyToFlags(commandFlags(""))
	require.ErrorContains(t, err, "is "+os.TempDir()+" writable?")
}

func TestAFileThatCannotBeRead(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("- a list"), 0o600))
	for _, file := range []string{broken, "/not/there"} {
		_, err := (&TLS{MinVersion: "VersionTLS12"}).ApplyToFlags(commandFlags(file))
		require.ErrorContains(t, err, "--config="+file+": name a GenericOperatorConfig in YAML")
	}
}
