package webhook

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/openshift/library-go/pkg/assets"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	certutil "k8s.io/client-go/util/cert"
	"open-cluster-management.io/ocm/manifests"
	commonoptions "open-cluster-management.io/ocm/pkg/common/options"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/webhooks"
)

// TestTakesUpstreamsFlags compares with the options of upstream's server, and with the two flags of ocm v1.2.0 that no package which
// compiles here registers.
func TestTakesUpstreamsFlags(t *testing.T) {
	wanted := map[string]string{"manifestLimit": "512000", "kubeconfig": ""}
	upstream := pflag.NewFlagSet("upstream", pflag.ContinueOnError)
	commonoptions.NewWebhookOptions().AddFlags(upstream)
	upstream.VisitAll(func(flag *pflag.Flag) { wanted[flag.Name] = flag.DefValue })
	require.Equal(t, map[string]string{"port": "9443", "certdir": "", "manifestLimit": "512000", "kubeconfig": ""}, wanted)

	cmd := NewCommand()
	require.Equal(t, "webhook-server", cmd.Name())
	for name, value := range wanted {
		flag := cmd.Flags().Lookup(name)
		require.NotNil(t, flag, "--%s", name)
		require.Equal(t, value, flag.DefValue, "--%s", name)
	}
}

// render fills in one of the manifests that the ClusterManager operator of ocm v1.2.0 applies.
func render(t *testing.T, file string, into any) {
	t.Helper()
	text, err := manifests.ClusterManagerManifestFiles.ReadFile("cluster-manager/" + file)
	require.NoError(t, err)
	filled := assets.MustCreateAssetFromTemplate(file, text, manifests.HubConfig{
		ClusterManagerName: "cluster-manager", ClusterManagerNamespace: "open-cluster-management-hub", HostedMode: true,
		WorkFeatureGates:    []string{"--feature-gates=ManifestWorkReplicaSet=true,NilExecutorValidating=true"},
		RegistrationWebhook: manifests.Webhook{Port: 9443}, WorkWebhook: manifests.Webhook{Port: 9443},
		RegistrationAPIServiceCABundle: "Y2E=",
	})
	require.NoError(t, yaml.Unmarshal(filled.Data, into))
}

// TestFitsTheOperatorsDeployment: arguments, ports, probes and certificates are those of the Deployment that is there already.
func TestFitsTheOperatorsDeployment(t *testing.T) {
	deployment := &appsv1.Deployment{}
	render(t, "management/work/webhook-deployment.yaml", deployment)
	container := deployment.Spec.Template.Spec.Containers[0]
	args := container.Args
	require.Equal(t, []string{"/work", "webhook-server", "port=9443"}, args[:3])

	options := NewOptions()
	require.EqualValues(t, options.Port, container.Ports[0].ContainerPort)
	require.Equal(t, filepath.Join("/tmp", "k8s-webhook-server", "serving-certs"), container.VolumeMounts[0].MountPath)
	t.Setenv("TMPDIR", "/tmp")
	require.Equal(t, container.VolumeMounts[0].MountPath, options.certDir())
	require.Equal(t, ":"+container.LivenessProbe.HTTPGet.Port.String(), options.HealthAddress)
	require.Equal(t, "/healthz", container.LivenessProbe.HTTPGet.Path)
	require.Equal(t, "/healthz", container.ReadinessProbe.HTTPGet.Path)

	cmd := NewCommand()
	gates := cmd.Flags().String("feature-gates", "", "cmd/work registers it")
	ran := false
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ran = true
		require.Equal(t, []string{"port=9443"}, args)
		require.Equal(t, "/var/run/secrets/hub/kubeconfig", cmd.Flags().Lookup("kubeconfig").Value.String())
		return nil
	}
	cmd.SetArgs(args[2:])
	require.NoError(t, cmd.Execute())
	require.True(t, ran)
	require.NotEmpty(t, *gates)
}

// TestFitsTheConfigurations: what the operator makes API servers call is served, and so is what ours does.
func TestFitsTheConfigurations(t *testing.T) {
	theirs := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	render(t, "hub/work/webhook-validatingconfiguration.yaml", theirs)
	require.Len(t, theirs.Webhooks, 1)
	require.Equal(t, WorkPath, *theirs.Webhooks[0].ClientConfig.Service.Path)

	ours := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict(webhooks.ReplicaSets, ours))
	require.Len(t, ours.Webhooks, 1)
	require.Equal(t, ReplicaSetPath, *ours.Webhooks[0].ClientConfig.Service.Path)
	require.NotEqual(t, theirs.Name, ours.Name, "the operator would write it back")
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
		"the defaults":       {func(*Options) {}, ""},
		"no port":            {func(o *Options) { o.Port = 0 }, "--port=0: use a port between 1 and 65535"},
		"no port of TCP":     {func(o *Options) { o.Port = 70000 }, "--port=70000: use a port between 1 and 65535"},
		"no manifests":       {func(o *Options) { o.ManifestLimit = 0 }, "--manifestLimit=0: use a number of bytes above 0"},
		"no certificate yet": {func(o *Options) { o.CertDir = empty }, "--certdir=" + empty + ": name a directory that holds the tls.crt and tls.key"},
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
