package hub

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	commonoptions "open-cluster-management.io/ocm/pkg/common/options"
)

// upstreamFlags are the flags of `work manager` of ocm v1.3.1 with their defaults, without those of the process (logging,
// --feature-gates), which cmd/work registers. The Deployment that the ClusterManager operator writes must continue to work. v1.2.0 has
// all of them except those for TLS.
var upstreamFlags = map[string]string{
	"config":                         "",
	"kubeconfig":                     "",
	"namespace":                      "",
	"listen":                         "",
	"terminate-on-files":             "[]",
	"kube-api-qps":                   "200", // upstream's is 50
	"kube-api-burst":                 "400", // upstream's is 100
	"disable-leader-election":        "false",
	"leader-election-lease-duration": "2m17s",
	"leader-election-renew-deadline": "1m47s",
	"leader-election-retry-period":   "26s",
	"work-driver":                    "kube",
	"work-driver-config":             "",
	"cloudevents-client-id":          "",
	"tls-min-version":                "",
	"tls-cipher-suites":              "",
}

func TestManagerTakesUpstreamsFlags(t *testing.T) {
	cmd := NewManagerCommand()
	require.Equal(t, "manager", cmd.Name())
	for name, value := range upstreamFlags {
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			flag = cmd.PersistentFlags().Lookup(name)
		}
		require.NotNil(t, flag, "--%s", name)
		require.Equal(t, value, flag.DefValue, "--%s", name)
	}
	linked := pflag.NewFlagSet("upstream", pflag.ContinueOnError)
	commonoptions.NewOptions().AddFlags(linked)
	linked.VisitAll(func(flag *pflag.Flag) {
		require.Contains(t, upstreamFlags, flag.Name, "--%s is new in the linked release", flag.Name)
	})
	require.Equal(t, "3s", cmd.Flags().Lookup("success-settle").DefValue)
	require.Equal(t, "false", cmd.Flags().Lookup("owner-key-hash").DefValue, "until OCM writes the label")
	require.Equal(t, "0", cmd.Flags().Lookup("cloudevents-qps").DefValue, "an abort over a broker is as fast as the broker")
}

func TestOptionsValidate(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		wanted string
	}{
		"the defaults":          {func(*Options) {}, ""},
		"an unknown driver":     {func(o *Options) { o.WorkDriver = "kafka" }, "--work-driver=kafka: use kube, mqtt or grpc"},
		"a negative settle":     {func(o *Options) { o.SuccessSettle = -time.Second }, "--success-settle=-1s: use 0s or more"},
		"a negative return":     {func(o *Options) { o.CloudEventsAgentReturn = -time.Second }, "--cloudevents-agent-return=-1s: use 0s or more"},
		"a negative rate":       {func(o *Options) { o.CloudEventsQPS = -1 }, "--cloudevents-qps=-1: use 0 for no limit, or more"},
		"not a TLS version":     {func(o *Options) { o.TLS.MinVersion = "TLS" }, "--tls-min-version=TLS: use one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13"},
		"without a settle time": {func(o *Options) { o.SuccessSettle = 0 }, ""},
		"a CloudEvents hub":     {func(o *Options) { o.WorkDriver = "mqtt" }, ""},
		"another broker driver": {func(o *Options) { o.WorkDriver = "grpc" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			test.change(o)
			err := o.Validate()
			if test.wanted == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.wanted)
			}
		})
	}
}

// The error about a kubeconfig that can't be read names its flag.
func TestWorkDriverConfigIsNamed(t *testing.T) {
	o := NewOptions()
	o.WorkDriverConfig = filepath.Join(t.TempDir(), "missing")
	_, err := newKubeWorks(t.Context(), o, &rest.Config{}, nil)
	require.ErrorContains(t, err, "--work-driver-config="+o.WorkDriverConfig)
}
