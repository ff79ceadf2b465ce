package webhook

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	certutil "k8s.io/client-go/util/cert"
	commonoptions "open-cluster-management.io/ocm/pkg/common/options"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/webhooks"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/ocm"
)

// upstreamFlags are the flags of `work webhook-server` of ocm v1.3.1, with their defaults, as its --help shows them. v1.2.0 has the same
// flags except those for TLS and those for the ports of health checks and metrics.
var upstreamFlags = map[string]string{
	"certdir":           "",
	"health-probe-port": "8000",
	"kubeconfig":        "",
	"manifestLimit":     "512000",
	"metrics-port":      "8080",
	"port":              "9443",
	"tls-cipher-suites": "",
	"tls-min-version":   "",
}

// TestTakesUpstreamsFlags compares the flags with the table above, and the table with the options of the linked release.
func TestTakesUpstreamsFlags(t *testing.T) {
	linked := pflag.NewFlagSet("upstream", pflag.ContinueOnError)
	commonoptions.NewWebhookOptions().AddFlags(linked)
	linked.VisitAll(func(flag *pflag.Flag) {
		value, known := upstreamFlags[flag.Name]
		require.True(t, known, "--%s is new in the linked release", flag.Name)
		require.Equal(t, value, flag.DefValue, "--%s", flag.Name)
	})

	cmd := NewCommand()
	require.Equal(t, "webhook-server", cmd.Name())
	for name, value := range upstreamFlags {
		flag := cmd.Flags().Lookup(name)
		require.NotNil(t, flag, "--%s", name)
		require.Equal(t, value, flag.DefValue, "--%s", name)
	}
}

// render fills in one of the manifests that the ClusterManager operator of the linked release applies, in Hosted mode.
func render(t *testing.T, file string, into any) {
	t.Helper()
	values := ocm.Defaults()
	values["HostedMode"] = true
	values["WorkFeatureGates"] = []string{"--feature-gates=ManifestWorkReplicaSet=true,NilExecutorValidating=true"}
	values["RegistrationAPIServiceCABundle"], values["WorkAPIServiceCABundle"] = "Y2E=", "Y2E="
	require.NoError(t, ocm.Render(file, values, into))
}

// TestFitsTheOperatorsDeployment: ports, probes and certificates match those of the existing Deployment. The arguments that each release
// passes are tested in cmd/work.
func TestFitsTheOperatorsDeployment(t *testing.T) {
	deployment := &appsv1.Deployment{}
	render(t, ocm.WebhookDeployment, deployment)
	container := deployment.Spec.Template.Spec.Containers[0]
	require.Equal(t, []string{"/work", "webhook-server"}, container.Args[:2])

	cmd := NewCommand()
	gates := cmd.Flags().String("feature-gates", "", "cmd/work registers it")
	ran := false
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ran = true
		if len(args) > 0 {
			require.Equal(t, []string{"port=9443"}, args, "releases before 1.3 pass it without dashes")
		}
		value := func(name string) string { return cmd.Flags().Lookup(name).Value.String() }
		require.Equal(t, "/var/run/secrets/hub/kubeconfig", value("kubeconfig"))
		require.Equal(t, fmt.Sprint(container.Ports[0].ContainerPort), value("port"))
		require.Equal(t, container.LivenessProbe.HTTPGet.Port.String(), value("health-probe-port"))
		return nil
	}
	cmd.SetArgs(container.Args[2:])
	require.NoError(t, cmd.Execute())
	require.True(t, ran)
	require.NotEmpty(t, *gates)

	options := NewOptions()
	require.Equal(t, filepath.Join("/tmp", "k8s-webhook-server", "serving-certs"), container.VolumeMounts[0].MountPath)
	t.Setenv("TMPDIR", "/tmp")
	require.Equal(t, container.VolumeMounts[0].MountPath, options.certDir())
	require.Equal(t, "/healthz", container.LivenessProbe.HTTPGet.Path)
	require.Equal(t, "/healthz", container.ReadinessProbe.HTTPGet.Path)
}

func TestAddressOf(t *testing.T) {
	for port, wanted := range map[int]string{8000: ":8000", 0: "0", -1: "0"} {
		require.Equal(t, wanted, addressOf(port))
	}
}

// TestFitsTheConfigurations: every webhook that the operator configures is served, and so is every webhook that we configure.
func TestFitsTheConfigurations(t *testing.T) {
	theirs := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	render(t, "hub/work/webhook-validatingconfiguration.yaml", theirs)
	require.Len(t, theirs.Webhooks, 1)
	require.Equal(t, WorkPath, *theirs.Webhooks[0].ClientConfig.Service.Path)

	ours := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict(webhooks.ReplicaSets, ours))
	require.Len(t, ours.Webhooks, 1)
	require.Equal(t, ReplicaSetPath, *ours.Webhooks[0].ClientConfig.Service.Path)
	require.NotEqual(t, theirs.Name, ours.Name, "the operator would revert it")
	theirService, ourService := theirs.Webhooks[0].ClientConfig.Service, ours.Webhooks[0].ClientConfig.Service
	require.Equal(t, theirService.Name, ourService.Name)
	require.Equal(t, theirService.Namespace, ourService.Namespace)
	require.Equal(t, theirService.Port, ourService.Port)
}

func TestOptionsValidate(t *testing.T) {
	certs, empty := t.TempDir(), t.TempDir()
	writeCertificate(t, certs)
	for name, tc := range map[string]struct {
		change func(*Options)
		wanted string
	}{
		"the defaults":                 {func(*Options) {}, ""},
		"no port":                      {func(o *Options) { o.Port = 0 }, "--port=0: use a port between 1 and 65535"},
		"not a TCP port":               {func(o *Options) { o.Port = 70000 }, "--port=70000: use a port between 1 and 65535"},
		"no manifests":                 {func(o *Options) { o.ManifestLimit = 0 }, "--manifestLimit=0: use a number of bytes above 0"},
		"not a port for health checks": {func(o *Options) { o.HealthPort = 65536 }, "--health-probe-port=65536: use a port up to 65535, or 0 for none"},
		"not a port for metrics":       {func(o *Options) { o.MetricsPort = 65536 }, "--metrics-port=65536: use a port up to 65535, or 0 for none"},
		"ports switched off":           {func(o *Options) { o.HealthPort, o.MetricsPort = 0, -1 }, ""},
		"not a TLS version":            {func(o *Options) { o.TLS.MinVersion = "1.2" }, "--tls-min-version=1.2: use one of VersionTLS10, "},
		"without a certificate":        {func(o *Options) { o.CertDir = empty }, "--certdir=" + empty + ": name a directory that holds the tls.crt and tls.key"},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			o.CertDir = certs
			tc.change(o)
			err := o.Validate()
			if tc.wanted == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.wanted)
			}
		})
	}
}

func TestKubeconfigThatIsNotThere(t *testing.T) {
	_, err := loadConfig(filepath.Join(t.TempDir(), "missing"))
	require.ErrorContains(t, err, "--kubeconfig=")
}

func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, certName), cert, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, keyName), key, 0o600))
}
