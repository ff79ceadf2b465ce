package deploy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/webhooks"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/ocm"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook"
)

// beside renders the chart with values whose keys have the form `a.b`, as in `helm --set`.
func beside(t *testing.T, namespace string, set map[string]any) []*unstructured.Unstructured {
	t.Helper()
	values := map[string]any{}
	for key, value := range set {
		require.NoError(t, unstructured.SetNestedField(values, value, strings.Split(key, ".")...))
	}
	objects, err := RenderChart("chart", namespace, values)
	require.NoError(t, err)
	return objects
}

// kinds returns the kinds and names of objects, sorted.
func kinds(objects []*unstructured.Unstructured) (names []string) {
	for _, object := range objects {
		names = append(names, object.GetKind()+" "+object.GetName())
	}
	slices.Sort(names)
	return names
}

// find decodes the object with a kind and a name.
func find(t *testing.T, objects []*unstructured.Unstructured, kind, name string, into any) {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	require.GreaterOrEqual(t, i, 0, "%s %s is not in %v", kind, name, kinds(objects))
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, into))
}

// The chart's hub has its own ServiceAccount, so OCM's operator never deletes its permissions. The rest of deploy/base is in the chart
// without changes.
func TestChartEqualsKustomize(t *testing.T) {
	base, err := RenderBase()
	require.NoError(t, err)
	chart := map[string]map[string]any{}
	for _, object := range beside(t, ChartNamespace, nil) {
		chart[object.GetKind()+" "+object.GetName()] = object.Object
	}
	const accounts = `["work-controller-sa","work-rollback"]` // The hub may read both.
	rename := strings.NewReplacer(accounts, accounts, "cluster-manager-work", "work-rollback", "work-controller-sa", "work-rollback")
	for _, object := range base {
		kind := object.GetKind()
		if name := kind + " " + rename.Replace(object.GetName()); name != kind+" "+object.GetName() {
			text, err := object.MarshalJSON()
			require.NoError(t, err)
			require.NoError(t, object.UnmarshalJSON([]byte(rename.Replace(string(text)))))
		}
		if kind == "CustomResourceDefinition" {
			annotations := object.GetAnnotations()
			require.NotEmpty(t, annotations)
			annotations["helm.sh/resource-policy"] = "keep"
			object.SetAnnotations(annotations)
		}
		name := kind + " " + object.GetName()
		require.Equal(t, normalized(t, object.Object), normalized(t, chart[name]), name)
		delete(chart, name)
	}
	var others []string
	for name := range chart {
		others = append(others, name)
	}
	require.ElementsMatch(t, []string{
		"ServiceAccount work-rollback", "Deployment work-rollback",
		"ClusterRole open-cluster-management:work-rollback:controller", "ClusterRoleBinding open-cluster-management:work-rollback:controller",
	}, others)
}

// normalized returns an object in the form of decoded JSON, in which all numbers have the same type.
func normalized(t *testing.T, object map[string]any) string {
	t.Helper()
	text, err := (&unstructured.Unstructured{Object: object}).MarshalJSON()
	require.NoError(t, err)
	return string(text)
}

// The chart's hub has the permissions of the work hub in the linked version of OCM and those that deploy/base adds, and no others.
func TestChartGrantsWhatOCMGrants(t *testing.T) {
	theirs, ours := &rbacv1.ClusterRole{}, &rbacv1.ClusterRole{}
	require.NoError(t, ocm.Render("hub/work/clusterrole.yaml", ocm.Defaults(), theirs))
	objects := beside(t, ChartNamespace, nil)
	find(t, objects, "ClusterRole", "open-cluster-management:work-rollback:controller", ours)
	require.Equal(t, permissions(theirs.Rules), permissions(ours.Rules))

	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRoleBinding" && kind != "RoleBinding" {
			continue
		}
		binding := &rbacv1.ClusterRoleBinding{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, binding))
		require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ChartNamespace, Name: "work-rollback"}}, binding.Subjects)
	}
}

func permissions(rules []rbacv1.PolicyRule) map[string]bool {
	may := map[string]bool{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					may[fmt.Sprint(verb, " ", resource, ".", group, " ", rule.ResourceNames)] = true
				}
			}
		}
	}
	return may
}

// The pods are like those of the operator's Deployment, except for the fields that the values change. The hub accepts each flag.
func TestChartRunsTheHubAsTheOperatorDoes(t *testing.T) {
	for name, test := range map[string]struct {
		set    map[string]any
		values func(ocm.Values)
		more   []string
	}{
		"kube": {nil, func(ocm.Values) {}, []string{"--v=2"}},
		"mqtt": {map[string]any{"broker.driver": "mqtt", "logLevel": int64(4), "extraArgs": []any{"--success-settle=5s"}}, func(v ocm.Values) {
			v["CloudEventsDriverEnabled"], v["WorkDriver"] = true, "mqtt"
		}, []string{"--v=4", "--success-settle=5s"}},
		"completed works": {map[string]any{"cleanUpCompletedManifestWork": true}, func(v ocm.Values) {
			v["WorkFeatureGates"] = []string{"--feature-gates=ManifestWorkReplicaSet=true", "--feature-gates=CleanUpCompletedManifestWork=true"}
		}, []string{"--v=2"}},
	} {
		t.Run(name, func(t *testing.T) {
			values := ocm.Defaults()
			values["WorkFeatureGates"] = []string{"--feature-gates=ManifestWorkReplicaSet=true"}
			test.values(values)
			theirs, ours := &appsv1.Deployment{}, &appsv1.Deployment{}
			require.NoError(t, ocm.Render(ocm.WorkDeployment, values, theirs))
			find(t, beside(t, ChartNamespace, test.set), "Deployment", "work-rollback", ours)
			their, our := theirs.Spec.Template.Spec.Containers[0], ours.Spec.Template.Spec.Containers[0]
			require.Equal(t, append(their.Args, test.more...), our.Args)
			require.Equal(t, their.Env, our.Env)
			require.Equal(t, their.VolumeMounts, our.VolumeMounts)
			require.Equal(t, theirs.Spec.Template.Spec.Volumes, ours.Spec.Template.Spec.Volumes)
			require.Equal(t, their.LivenessProbe, our.LivenessProbe)
			require.Equal(t, their.ReadinessProbe, our.ReadinessProbe)
			require.Equal(t, their.Resources, our.Resources)
			require.Subset(t, ours.Spec.Selector.MatchLabels, ours.Spec.Template.Labels)
			require.NotEqual(t, theirs.Spec.Selector, ours.Spec.Selector)
			parse(t, our.Args)
		})
	}
}

// parse reads the arguments of a container as the hub does. The feature gates and the log level are flags of the whole binary.
func parse(t *testing.T, args []string) {
	t.Helper()
	flags := slices.DeleteFunc(slices.Clone(args[2:]), func(arg string) bool {
		return strings.HasPrefix(arg, "--feature-gates=") || strings.HasPrefix(arg, "--v=")
	})
	require.NoError(t, hub.NewManagerCommand().ParseFlags(flags))
}

// In Hosted mode, the two releases together have the same objects as one release in Default mode.
func TestChartInHostedMode(t *testing.T) {
	onHub := beside(t, "my-hub", map[string]any{"mode": "Hub"})
	management := beside(t, "my-hub", map[string]any{"mode": "Management"})
	require.ElementsMatch(t, kinds(beside(t, ChartNamespace, nil)), kinds(append(slices.Clone(onHub), management...)))
	require.Equal(t, []string{"Deployment work-rollback"}, kinds(management))
	for _, object := range append(onHub, management...) {
		text, err := object.MarshalJSON()
		require.NoError(t, err)
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			require.NotContains(t, string(text), ChartNamespace, object.GetName())
		}
	}
	deployment := &appsv1.Deployment{}
	find(t, management, "Deployment", "work-rollback", deployment)
	pod := deployment.Spec.Template.Spec
	require.Empty(t, pod.ServiceAccountName)
	require.Contains(t, pod.Containers[0].Args, "--kubeconfig=/var/run/secrets/hub/kubeconfig")
	parse(t, pod.Containers[0].Args)
	require.Equal(t, "work-rollback-kubeconfig", pod.Volumes[1].Secret.SecretName)
}

// These objects are off by default.
func TestChartOptions(t *testing.T) {
	more := beside(t, ChartNamespace, map[string]any{"replicas": int64(2), "networkPolicy.enabled": true, "serviceMonitor.enabled": true})
	require.Subset(t, kinds(more), []string{"PodDisruptionBudget work-rollback", "NetworkPolicy work-rollback"})
	require.NotContains(t, kinds(more), "Deployment work-rollback-webhook")
	with := beside(t, ChartNamespace, map[string]any{"replicas": int64(2), "networkPolicy.enabled": true, "webhook.enabled": true})
	require.Subset(t, kinds(with), []string{"PodDisruptionBudget work-rollback-webhook", "NetworkPolicy work-rollback-webhook"})
	require.NotContains(t, kinds(beside(t, ChartNamespace, map[string]any{"webhook.enabled": true})), "PodDisruptionBudget work-rollback-webhook")
	webhooks := &networkingv1.NetworkPolicy{}
	find(t, with, "NetworkPolicy", "work-rollback-webhook", webhooks)
	require.Equal(t, 9443, webhooks.Spec.Ingress[0].Ports[0].Port.IntValue())
	require.Empty(t, webhooks.Spec.Ingress[0].From)
	require.Equal(t, 8080, webhooks.Spec.Ingress[1].Ports[0].Port.IntValue())

	policy := &networkingv1.NetworkPolicy{}
	find(t, more, "NetworkPolicy", "work-rollback", policy)
	require.Equal(t, policy.Spec.Egress, webhooks.Spec.Egress)
	require.Len(t, policy.Spec.Ingress, 1)
	require.Equal(t, map[string]string{"app": "work-rollback"}, policy.Spec.PodSelector.MatchLabels)
	var egress []int
	for _, rule := range policy.Spec.Egress {
		require.Empty(t, rule.To)
		for _, port := range rule.Ports {
			egress = append(egress, port.Port.IntValue())
		}
	}
	require.Subset(t, egress, []int{53, 443, 6443, 1883, 8883})

	monitoring, err := Kustomize("monitoring")
	require.NoError(t, err)
	for _, object := range monitoring {
		if object.GetKind() != "ConfigMap" { // The Grafana dashboard is too large for a Helm release.
			require.Contains(t, kinds(more), object.GetKind()+" "+object.GetName())
		}
	}
	delegator := &rbacv1.ClusterRoleBinding{}
	find(t, more, "ClusterRoleBinding", "mwrs-metrics-auth-delegator", delegator)
	require.Equal(t, "work-rollback", delegator.Subjects[0].Name)
}

// The webhook's registration and certificate match its Service, and its pods match those of the operator's Deployment.
func TestChartWebhook(t *testing.T) {
	objects := beside(t, ChartNamespace, map[string]any{
		"webhook.enabled": true, "webhook.clientCA": "PEM", "webhook.extraArgs": []any{"--manifestLimit=1000000"},
	})
	registration, registered := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	find(t, objects, "ValidatingWebhookConfiguration", "manifestworkreplicasetvalidators.admission.work.open-cluster-management.io", registration)
	require.NoError(t, yaml.UnmarshalStrict(webhooks.ReplicaSets, registered))
	client := &registration.Webhooks[0].ClientConfig
	require.Equal(t, "work-rollback-webhook", client.Service.Name)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(client.CABundle))
	client.CABundle, client.Service.Name = nil, "cluster-manager-work-webhook"
	require.Equal(t, registered, registration)

	secret := &corev1.Secret{}
	find(t, objects, "Secret", "work-rollback-webhook", secret)
	require.Equal(t, "PEM", string(secret.Data["client-ca.crt"]))
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	require.NoError(t, err)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "work-rollback-webhook.open-cluster-management-hub.svc"})
	require.NoError(t, err)

	values := ocm.Defaults()
	values["WorkFeatureGates"] = []string{"--feature-gates=ManifestWorkReplicaSet=true"}
	theirs, ours := &appsv1.Deployment{}, &appsv1.Deployment{}
	require.NoError(t, ocm.Render(ocm.WebhookDeployment, values, theirs))
	find(t, objects, "Deployment", "work-rollback-webhook", ours)
	their, our := theirs.Spec.Template.Spec.Containers[0], ours.Spec.Template.Spec.Containers[0]
	require.Equal(t, their.VolumeMounts[0].MountPath, our.VolumeMounts[0].MountPath)
	require.Equal(t, secret.Name, ours.Spec.Template.Spec.Volumes[0].Secret.SecretName)
	require.Equal(t, their.Ports[0].ContainerPort, our.Ports[0].ContainerPort)
	require.Equal(t, their.LivenessProbe.HTTPGet.Port, our.LivenessProbe.HTTPGet.Port)
	require.Equal(t, []string{"/work", "webhook-server", "--feature-gates=ManifestWorkReplicaSet=true", "--v=2", "--manifestLimit=1000000"}, our.Args)
	require.NoError(t, webhook.NewCommand().ParseFlags(our.Args[4:]))

	service := &corev1.Service{}
	find(t, objects, "Service", "work-rollback-webhook", service)
	require.Equal(t, ours.Spec.Selector.MatchLabels, service.Spec.Selector)
	require.Equal(t, *client.Service.Port, service.Spec.Ports[0].Port)
}

// If the user provides a certificate, the chart does not create one.
func TestChartTakesACertificate(t *testing.T) {
	objects := beside(t, ChartNamespace, map[string]any{
		"webhook.enabled": true, "webhook.secret": "mine", "webhook.annotations": map[string]any{"cert-manager.io/inject-ca-from": "a/b"},
	})
	require.NotContains(t, strings.Join(kinds(objects), "\n"), "Secret ")
	registration, deployment := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &appsv1.Deployment{}
	find(t, objects, "ValidatingWebhookConfiguration", "manifestworkreplicasetvalidators.admission.work.open-cluster-management.io", registration)
	require.Equal(t, map[string]string{"cert-manager.io/inject-ca-from": "a/b"}, registration.Annotations)
	require.Empty(t, registration.Webhooks[0].ClientConfig.CABundle)
	find(t, objects, "Deployment", "work-rollback-webhook", deployment)
	require.Equal(t, "mine", deployment.Spec.Template.Spec.Volumes[0].Secret.SecretName)
}

// A value without an effect is an error. So is another namespace: there, the Lease would not keep OCM's hub from leading.
func TestChartRejects(t *testing.T) {
	for message, values := range map[string]map[string]any{
		"additional properties 'replica'": {"replica": 2},
		"/broker/driver":                  {"broker": map[string]any{"driver": "nats"}},
		"/replicas":                       {"replicas": 0},
		"/image":                          {"image": ""},
	} {
		_, err := RenderChart("chart", ChartNamespace, values)
		require.ErrorContains(t, err, message)
	}
	for message, values := range map[string]map[string]any{
		"webhook.secret requires webhook.caBundle": {"secret": "mine"},
		"webhook.secret must not be":               {"secret": "work-rollback-webhook", "caBundle": "PEM"},
		"webhook.caBundle requires webhook.secret": {"caBundle": "PEM"},
		"webhook.clientCA has no effect":           {"secret": "mine", "caBundle": "PEM", "clientCA": "PEM"},
	} {
		values["enabled"] = true
		_, err := RenderChart("chart", ChartNamespace, map[string]any{"webhook": values})
		require.ErrorContains(t, err, message)
	}
	_, err := RenderChart("chart", "my-hub", map[string]any{"mode": "Hub", "webhook": map[string]any{"enabled": true}})
	require.ErrorContains(t, err, "webhook.enabled requires mode Default")
	_, err = RenderChart("chart", "default", nil)
	require.ErrorContains(t, err, "install this chart in the namespace open-cluster-management-hub")
}
