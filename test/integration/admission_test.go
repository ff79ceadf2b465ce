package integration

import (
	"fmt"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// obstruct makes writes of a cluster's works fail with a temporary error: a webhook that does not respond.
func (f *fleet) obstruct(short string) (clear func()) {
	f.t.Helper()
	name := "obstruct." + f.cluster(short) + ".example.com"
	hooks := f.w.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(f.t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:                    name,
			ClientConfig:            admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
			FailurePolicy:           ptr.To(admissionv1.Fail),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": f.cluster(short)}},
			Rules:                   []admissionv1.RuleWithOperations{worksRule()},
		}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	return func() { require.NoError(f.t, hooks.Delete(f.t.Context(), name, metav1.DeleteOptions{})) }
}

// forbid makes writes of a cluster's works fail permanently: a policy denies them.
func (f *fleet) forbid(short string) (clear func()) {
	f.t.Helper()
	name := "forbid-" + f.cluster(short)
	client := f.w.kube.AdmissionregistrationV1()
	_, err := client.ValidatingAdmissionPolicies().Create(f.t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": f.cluster(short)}},
				ResourceRules:     []admissionv1.NamedRuleWithOperations{{RuleWithOperations: worksRule()}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "frozen"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	_, err = client.ValidatingAdmissionPolicyBindings().Create(f.t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	// The API server takes a moment to start or stop enforcing the policy.
	f.writable(short, false)
	return func() {
		require.NoError(f.t, client.ValidatingAdmissionPolicyBindings().Delete(f.t.Context(), name, metav1.DeleteOptions{}))
		require.NoError(f.t, client.ValidatingAdmissionPolicies().Delete(f.t.Context(), name, metav1.DeleteOptions{}))
		f.writable(short, true)
	}
}

// writable waits until the API server accepts writes of a cluster's work, or rejects them.
func (f *fleet) writable(short string, wanted bool) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("writes of the work of %s are accepted: %v", short, wanted), func() error {
		work := f.work(short)
		work.Annotations["example.com/probe"] = "1"
		_, err := f.w.works.WorkV1().ManifestWorks(work.Namespace).Update(f.t.Context(), work, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if (err == nil) != wanted {
			return fmt.Errorf("the API server answers %v", err)
		}
		return nil
	})
}

func worksRule() admissionv1.RuleWithOperations {
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{"work.open-cluster-management.io"}, APIVersions: []string{"v1"}, Resources: []string{"manifestworks"}},
	}
}
