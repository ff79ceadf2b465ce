package operator

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	operatorv1 "open-cluster-management.io/api/operator/v1"
	"open-cluster-management.io/ocm/pkg/operator/helpers/chart"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/tooltest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/registration"
	"github.com/open-cluster-management-io/work-rollback/test/operator/operatortest"
)

// release is the name of the Helm release and of the Deployment of deploy/chart.
const release = "work-rollback"

// besideHub is a hub of OCM on which Helm installs deploy/chart.
type besideHub struct {
	*hub
	helm       string
	kubeconfig string
	// chart runs as the Deployment of the chart. hub.work runs as the Deployment of the operator.
	chart *sandbox.WorkHub
	// webhookPods runs the webhook as the Deployment of the chart.
	webhookPods *sandbox.Kubelet
}

// TestBesideTheOperator is one story on one hub, like TestWithTheOperator: each part begins where the previous one ended.
func TestBesideTheOperator(t *testing.T) {
	helm := tooltest.Path(t, "../..", "helm", "helm")
	b := &besideHub{hub: newHub(t), helm: helm}
	b.joinAndPlace(t)
	b.runHubs(t)
	for _, part := range []struct {
		name string
		play func(*testing.T)
	}{
		{"Helm installs the chart", b.installs},
		{"rollout and abort", b.rollsOutAndAborts},
		{"OCM is upgraded", b.survivesAnUpgradeOfOCM},
		{"to the image in the operator's Deployment", b.movesIn},
		{"and back to the chart", b.movesOut},
		{"both at once", b.doctorReportsBoth},
		{"the webhook", b.servesTheWebhook},
	} {
		if !t.Run(part.name, part.play) {
			return
		}
	}
}

// runHubs prepares this hub as the process of both Deployments, which do not exist yet. Each process waits while the other holds the Lease.
func (b *besideHub) runHubs(t *testing.T) {
	binary := operatortest.BuildWork(t)
	var err error
	b.kubeconfig, err = b.Plane.Kubeconfig("")
	require.NoError(t, err)
	for deployment, work := range map[string]**sandbox.WorkHub{release: &b.chart, sandbox.WorkController: &b.work} {
		*work, err = sandbox.NewDeployedWorkHub(b.Env.Group, binary, sandbox.ShortLease()...)
		require.NoError(t, err)
		b.RunDeployment(t, deployment, *work)
	}
	b.webhook, err = sandbox.NewWebhookServer(b.Env.Group, binary)
	require.NoError(t, err)
	b.webhookPods = b.RunDeployment(t, release+"-webhook", b.webhook)
}

// runHelm runs the first command of docs/install.md that begins with these words, with additional arguments.
func (b *besideHub) runHelm(t *testing.T, words string, more ...string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/install.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), words+" ")
	require.True(t, found, "docs/install.md has no command %s", words)
	line, _, _ := strings.Cut(strings.ReplaceAll(words+" "+rest, "\\\n", " "), "\n")
	command := exec.CommandContext(t.Context(), b.helm, append(strings.Fields(line)[1:], more...)...)
	command.Dir = "../.."
	command.Env = append(os.Environ(), "KUBECONFIG="+b.kubeconfig, "HOME="+t.TempDir())
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s", line, output)
}

func (b *besideHub) install(t *testing.T, more ...string) {
	t.Helper()
	b.runHelm(t, "helm upgrade --install "+release, more...)
}

// installs: the chart takes over OCM's CRD. Installing the chart again does not restart the hub.
func (b *besideHub) installs(t *testing.T) {
	require.False(t, knowsAborts(b.definition(t)))
	b.install(t)
	eventually(t, "the hub of the chart runs", func() error {
		if !b.chart.Listens() {
			return errors.New("it does not")
		}
		return nil
	})
	require.True(t, knowsAborts(b.definition(t)))
	process := b.chart.Process()
	b.install(t)
	b.create(t, "v1")
	b.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	b.everywhere(t, "v1")
	require.Same(t, process, b.chart.Process())
	b.operatorRunsNone(t)
}

// operatorRunsNone requires that the operator does not run a work controller.
func (b *besideHub) operatorRunsNone(t *testing.T) {
	t.Helper()
	eventually(t, "the operator runs no work controller", func() error {
		_, err := b.Kube.AppsV1().Deployments(sandbox.HubNamespace).Get(t.Context(), sandbox.WorkController, metav1.GetOptions{})
		return gone(err)
	})
}

func (b *besideHub) rollsOutAndAborts(t *testing.T) {
	b.update(t, "v2", false)
	aborted := b.reaches(t, workv1alpha1.ReasonRolloutAborted)
	require.NotNil(t, aborted.Status.AbortedTime)
	b.everywhere(t, "v1")
	b.update(t, "v3", true)
	b.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	b.everywhere(t, "v3")
	require.Equal(t, []string{"v1", "v2", "v3"}, b.versions(t))
}

// survivesAnUpgradeOfOCM applies what `clusteradm upgrade clustermanager` renders: OCM's images, including the work image.
func (b *besideHub) survivesAnUpgradeOfOCM(t *testing.T) {
	crd, process, works := b.definition(t), b.chart.Process(), b.workGenerations(t)
	config := chart.NewDefaultClusterManagerChartConfig()
	config.Images = chart.ImagesConfig{Registry: "quay.io/open-cluster-management", Tag: "v1.2.1"}
	config.ClusterManager.ResourceRequirement.Type = operatorv1.ResourceQosClassDefault
	_, objects, err := chart.RenderClusterManagerChart(t.Context(), config, sandbox.OperatorNamespace)
	require.NoError(t, err)
	for _, content := range objects {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(content, object))
		if object.GetKind() == "ClusterManager" {
			require.NoError(t, sandbox.Apply(t.Context(), b.Plane.RESTConfig(), object))
		}
	}
	require.NoError(t, b.Operator.WaitApplied(t.Context()))
	require.Equal(t, crd.ResourceVersion, b.definition(t).ResourceVersion, "the operator wrote the CRD")
	require.Same(t, process, b.chart.Process())
	ended, _ := process.Exited()
	require.False(t, ended)
	require.Equal(t, works, b.workGenerations(t))
	b.operatorRunsNone(t)
	b.update(t, "v4", false)
	b.reaches(t, workv1alpha1.ReasonRolloutAborted)
	b.everywhere(t, "v3")
	b.update(t, "v3", true)
	b.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
}

// movesIn uninstalls the chart, and applies deploy/. The switch does not change works, and the history continues.
func (b *besideHub) movesIn(t *testing.T) {
	works, versions, before := b.workGenerations(t), b.versions(t), b.chart.Process()
	b.runHelm(t, "helm uninstall "+release)
	eventually(t, "the hub of the chart ends", func() error {
		if ended, _ := before.Exited(); !ended {
			return errors.New("it runs")
		}
		return nil
	})
	require.True(t, knowsAborts(b.definition(t)), "the CRD stays")
	require.NoError(t, sandbox.Deploy(t.Context(), b.Plane.RESTConfig()))
	require.NoError(t, b.Operator.WaitApplied(t.Context()))
	b.continues(t, works, versions, "v5")
}

// movesOut disables the feature gate, and installs the chart again.
func (b *besideHub) movesOut(t *testing.T) {
	works, versions := b.workGenerations(t), b.versions(t)
	b.setGate(t, operatorv1.FeatureGateModeTypeDisable)
	b.operatorRunsNone(t)
	b.install(t)
	b.continues(t, works, versions, "v6")
}

// continues makes the other hub roll out a version, and requires that it wrote no other work and lost no revision.
func (b *besideHub) continues(t *testing.T, works map[string]int64, versions []string, next string) {
	t.Helper()
	b.update(t, next, false)
	b.reaches(t, workv1alpha1.ReasonRolloutAborted)
	b.everywhere(t, b.content(t, versions))
	require.Equal(t, append(versions, next), b.versions(t))
	b.update(t, b.content(t, versions), true)
	b.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	for cluster, generation := range b.workGenerations(t) {
		require.LessOrEqual(t, generation, works[cluster]+2, "%s got more writes than the version and its abort", cluster)
	}
}

// content returns the version that was rolled out last.
func (b *besideHub) content(t *testing.T, versions []string) string {
	t.Helper()
	require.NotEmpty(t, versions)
	return versions[len(versions)-1]
}

// doctorReportsBoth: with both the feature gate and the chart, the Lease lets only one hub work, and the doctor reports a failure.
func (b *besideHub) doctorReportsBoth(t *testing.T) {
	doctor := func() (string, int) {
		var out bytes.Buffer
		code := plugin.Run(t.Context(), []string{"doctor", "--kubeconfig", b.kubeconfig},
			genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		return out.String(), code
	}
	output, _ := doctor()
	require.Contains(t, output, "system:serviceaccount:open-cluster-management-hub:work-rollback has the permissions of deploy/")
	require.NotContains(t, output, "one-hub")

	holder := b.holder(t)
	b.setGate(t, operatorv1.FeatureGateModeTypeEnable)
	eventually(t, "the operator's hub runs", func() error {
		if ended, _ := b.work.Process().Exited(); ended || !b.work.Listens() {
			return errors.New("it does not")
		}
		return nil
	})
	output, code := doctor()
	require.Equal(t, 1, code)
	require.Contains(t, output, "OCM's operator and deploy/chart both run a work hub in namespace open-cluster-management-hub")
	require.Equal(t, holder, b.holder(t))
}

// holder returns the hub that holds the Lease.
func (b *besideHub) holder(t *testing.T) string {
	t.Helper()
	lease, err := b.Kube.CoordinationV1().Leases(sandbox.HubNamespace).Get(context.WithoutCancel(t.Context()), "work-manager-lock", metav1.GetOptions{})
	require.NoError(t, err)
	return *lease.Spec.HolderIdentity
}

// servesTheWebhook: the webhook serves with the certificate of the chart, which an upgrade keeps. The test asks the server itself, because
// the API server can't reach a Service here.
func (b *besideHub) servesTheWebhook(t *testing.T) {
	b.install(t, "--set", "webhook.enabled=true")
	registered := b.registered(t)
	waiting, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, b.webhookPods.WaitRunning(waiting))
	good := web(t, "v1", true)
	answer := b.ask(t, registered, "manifestworkreplicasets", "v1alpha1", "ManifestWorkReplicaSet", encode(t, good))
	require.True(t, answer.Allowed, "%v", answer.Result)
	good.Spec.ManifestWorkTemplate.Workload.Manifests = nil
	answer = b.ask(t, registered, "manifestworkreplicasets", "v1alpha1", "ManifestWorkReplicaSet", encode(t, good))
	require.False(t, answer.Allowed)

	b.install(t, "--set", "webhook.enabled=true")
	require.Equal(t, registered, b.registered(t))
}

// registered returns the client configuration of the webhook of ManifestWorkReplicaSets.
func (b *besideHub) registered(t *testing.T) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	configuration, err := b.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), registration.Ours, metav1.GetOptions{})
	require.NoError(t, err)
	return configuration.Webhooks[0].ClientConfig
}
