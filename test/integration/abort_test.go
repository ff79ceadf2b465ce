package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

func TestAbortProgressive(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "3s", 0, abortAll)))
	before := f.complete()

	mwrs := f.abort(hangs)
	f.everywhere("v1")
	require.NotNil(t, mwrs.Status.AbortedTime)
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Equal(t, f.hash("v2"), mwrs.Status.UpdateRevision)
	require.Zero(t, mwrs.Status.Summary.Updated)
	require.Equal(t, 3, mwrs.Status.Summary.DesiredTotal)
	require.Len(t, f.reached("v2"), 1, "the bad version reached one batch")
	f.quiet()
	require.Contains(t, message(f.get(), workv1alpha1.ConditionProgressing), "confirmed by 3 of 3 clusters")
}

// obstruct makes writes of a cluster's works fail in a way that may pass: a webhook that does not answer.
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
	// The API server takes a moment to enforce it, and to stop.
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

// R4: a new template waits until the abort of the one before is carried out.
func TestNewRevisionWaitsForAnAbortThatIsBeingCarriedOut(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, all("10s", 0, abortAll))
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.everywhere("v2")
	clear := f.obstruct("c2")
	mwrs := f.aborting()
	require.NotNil(t, mwrs.Status.AbortedTime)
	f.has("c1", "v1")
	f.has("c3", "v1")

	f.update("v3")
	f.never("c1", "v3", 2*time.Second)
	require.Equal(t, mwrs.Status.UpdateRevision, f.get().Status.UpdateRevision)
	require.NotNil(t, f.get().Status.AbortedTime)
	clear()
	mwrs = f.complete()
	f.everywhere("v3")
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Equal(t, []string{"v1", "v2", "v1", "v3"}, f.sequence("c2"))
	f.quiet()
}

// R4: a work that can't be written is named, and holds neither the abort nor what comes after it up.
func TestWorkThatCannotBeWrittenDoesNotHoldAnAbortUp(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("10s", 0, abortAll))
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.everywhere("v2")
	clear := f.forbid("c2")
	mwrs := f.aborted()
	f.has("c1", "v1")
	require.Contains(t, message(mwrs, workv1alpha1.ConditionManifestworkApplied), f.cluster("c2"))
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), "frozen")
	f.quiet()

	// Whoever fixes the cause need not tell the hub: it retries every minute.
	clear()
	await.Eventually(t, 3*patience, "the rejected work is written back", func() error {
		if version := f.versions()["c2"]; version != "v1" {
			return fmt.Errorf("c2 has %s", version)
		}
		return nil
	})
	f.everywhere("v1")
	f.aborted()
	eventually(t, "the message forgets it", func() error {
		if text := message(f.get(), workv1alpha1.ConditionManifestworkApplied); text != "the rollout was aborted" {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	f.quiet()
}

// R18: deletion wins over an abort.
func TestDeletionDuringAnAbort(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("10s", 0, abortAll))
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.everywhere("v2")
	clear := f.obstruct("c2")
	f.aborting()
	f.delete()
	f.gone("c2") // Its agent can't let it go either, while nothing can be written there.
	clear()
	f.gone()
}
