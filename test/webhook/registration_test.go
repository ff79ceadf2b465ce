package webhook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/webhooks"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/registration"
)

// The webhook of deploy/webhooks is called once the hub has copied the address and the CA. The hub has only the permissions of
// deploy/webhooks.
func TestRegistrationFollowsTheOperators(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	namespace, err := hub.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "r-", Labels: map[string]string{lookedAtBy: "registered"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	configurations := hub.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	theirs, ours := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	require.NoError(t, operators("hub/work/webhook-validatingconfiguration.yaml", theirs))
	require.NoError(t, yaml.UnmarshalStrict(webhooks.ReplicaSets, ours))
	server := hub.servers[usual]
	theirs.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{
		URL: ptr.To(*server.URL + *theirs.Webhooks[0].ClientConfig.Service.Path), CABundle: server.CABundle,
	}
	for _, configuration := range []*admissionregistrationv1.ValidatingWebhookConfiguration{theirs, ours} {
		configuration.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{lookedAtBy: "registered"}}
		_, err := configurations.Create(ctx, configuration, metav1.CreateOptions{})
		require.NoError(t, err)
	}

	user, groups := serviceAccount(hubNamespace, "work-controller-sa")
	config, err := hub.plane.UserConfig(user, groups...)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	keeper := &registration.Keeper{Client: client}
	changed, err := keeper.Once(ctx)
	require.NoError(t, err)
	require.False(t, changed, "without the permissions, nothing is tried")
	for _, file := range []string{"clusterrole.yaml", "clusterrolebinding.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../deploy/webhooks", file))
		require.NoError(t, err)
		require.NoError(t, sandbox.Apply(ctx, hub.config, parse(t, string(data))))
	}
	eventually(t, "the hub copies the address and the CA", func() error {
		changed, err := keeper.Once(ctx)
		if err == nil && !changed {
			err = fmt.Errorf("nothing changed")
		}
		return err
	})
	dry := as(t, hub.config, namespace.Name)
	dry.dryRun = []string{metav1.DryRunAll}
	eventually(t, "the API server calls it", func() error {
		_, err := dry.create(replicaSetResource, replicaSet(t, "name: a, ", "name: a, annotations: {a: "+strings.Repeat("x", 30000)+"}, "))
		if err == nil || !strings.Contains(err.Error(), "which exceeds the 20000 limit") {
			return fmt.Errorf("for a large object the answer is %w", err)
		}
		return nil
	})
	changed, err = keeper.Once(ctx)
	require.NoError(t, err)
	require.False(t, changed)
}
