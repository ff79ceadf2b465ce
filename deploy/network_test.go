package deploy_test

import (
	"bytes"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/ocm"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook"
)

// The policy for known addresses of the API servers opens the port of the webhooks only to these addresses, and changes nothing else. An
// API server accepts the policy only if it names addresses.
func TestNetworkPolicyForAPIServers(t *testing.T) {
	render := func(dir string) map[string]networkingv1.NetworkPolicySpec {
		objects, err := deploy.Kustomize(dir)
		require.NoError(t, err)
		policies := map[string]networkingv1.NetworkPolicySpec{}
		for _, object := range objects {
			policy := networkingv1.NetworkPolicy{}
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &policy, true))
			policies[policy.Name] = policy.Spec
		}
		return policies
	}
	open, bounded := render("network"), render("network-api-servers")
	rule := &bounded["work-webhook"].Ingress[0]
	require.Equal(t, webhook.NewOptions().Port, rule.Ports[0].Port.IntValue())
	require.Len(t, rule.From, 1)
	_, _, err := net.ParseCIDR(rule.From[0].IPBlock.CIDR)
	require.Error(t, err)
	rule.From = nil
	require.Equal(t, open, bounded)
}

// The policies select the pods of the operator's Deployments. The webhooks are open to API servers, wherever they run, and metrics only
// to a namespace for monitoring.
func TestNetworkPolicies(t *testing.T) {
	content, err := os.ReadFile("network/networkpolicy.yaml")
	require.NoError(t, err)
	policies := map[string]networkingv1.NetworkPolicySpec{}
	for _, document := range bytes.Split(content, []byte("\n---\n")) {
		policy := networkingv1.NetworkPolicy{}
		require.NoError(t, yaml.UnmarshalStrict(document, &policy))
		require.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes, "egress of the hub is not restricted")
		policies[policy.Name] = policy.Spec
	}
	require.Len(t, policies, 2)

	options := webhook.NewOptions()
	for name, test := range map[string]struct {
		deployment   string
		open, closed []int
	}{
		"work-webhook":    {ocm.WebhookDeployment, []int{options.Port, options.HealthPort}, []int{options.MetricsPort}},
		"work-controller": {ocm.WorkDeployment, nil, []int{8443}},
	} {
		deployment := &appsv1.Deployment{}
		require.NoError(t, ocm.Render(test.deployment, ocm.Defaults(), deployment))
		require.Subset(t, deployment.Spec.Template.Labels, policies[name].PodSelector.MatchLabels, name)
		require.NotEmpty(t, policies[name].PodSelector.MatchLabels, name)
		var open, closed []int
		for _, rule := range policies[name].Ingress {
			for _, port := range rule.Ports {
				require.Equal(t, corev1.ProtocolTCP, *port.Protocol)
				if len(rule.From) == 0 {
					open = append(open, port.Port.IntValue())
					continue
				}
				require.Equal(t, map[string]string{corev1.LabelMetadataName: "monitoring"}, rule.From[0].NamespaceSelector.MatchLabels)
				closed = append(closed, port.Port.IntValue())
			}
		}
		require.Equal(t, test.open, open, name)
		require.Equal(t, test.closed, closed, name)
	}
}
