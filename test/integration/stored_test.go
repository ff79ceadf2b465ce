package integration

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	admissionreview "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// mutate has a webhook apply a JSON patch to whatever is written to the works of a cluster.
func (f *fleet) mutate(short, patch string) {
	f.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		var review admissionreview.AdmissionReview
		if json.NewDecoder(request.Body).Decode(&review) != nil || review.Request == nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		review.Response = &admissionreview.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, Patch: []byte(patch), PatchType: ptr.To(admissionreview.PatchTypeJSONPatch),
		}
		review.Request = nil
		_ = json.NewEncoder(response).Encode(review)
	}))
	f.t.Cleanup(server.Close)
	name := "mutate." + f.cluster(short) + ".example.com"
	hooks := f.w.kube.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := hooks.Create(f.t.Context(), &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: name,
			ClientConfig: admissionv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			FailurePolicy:           ptr.To(admissionv1.Fail),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": f.cluster(short)}},
			Rules:                   []admissionv1.RuleWithOperations{worksRule()},
		}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

// R10: what the API server stores differently from what was written is not written again and again; the condition names the field.
func TestWorkThatIsStoredOtherwiseThanItWasWritten(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "10s", 0, abortAll))
	f.mutate("c1", `[{"op":"add","path":"/spec/deleteOption","value":{"propagationPolicy":"Orphan"}}]`)
	f.update("v2")
	f.everywhere("v2")
	f.says(workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonNotAsExpected, "spec.deleteOption", f.cluster("c1"), "webhook")
	mwrs := f.state("AsExpected=True", "", "NewManifestWorkAvailable=False", "Complete=True")
	require.Equal(t, f.hash("v2"), mwrs.Status.CurrentRevision)
	f.quiet()
	require.Equal(t, map[string]int64{"c1": 2, "c2": 2}, f.generations())
	require.NotNil(t, f.work("c1").Spec.DeleteOption, "the webhook did its work")

	f.agentsReport("c2", "v3", hangs)
	f.update("v3")
	f.state("AsExpected=True", "", "RolloutAborted=False", "RolloutDegraded=False")
	f.everywhere("v2")
	f.quiet()
	require.EqualValues(t, 4, f.work("c1").Generation)
}

// R1, R10: a null in a manifest gets to every cluster as it was written, also where a work is patched.
func TestNullsInManifestsAreStoredAsWritten(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "20s", 0))
	for _, version := range []string{"v2", "v3"} {
		wanted := template(version)
		if version == "v2" {
			wanted.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
		}
		wanted.Workload.Manifests = append(wanted.Workload.Manifests, workv1.Manifest{})
		wanted.Workload.Manifests[1].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"nulls","namespace":"default","creationTimestamp":null,` +
			`"annotations":null},"data":null,"list":[null,{"version":"` + version + `","null":null}]}`)
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.ManifestWorkTemplate = wanted })
		f.everywhere(version)
		f.state("AsExpected=True", "AsExpected=True", "NewManifestWorkAvailable=False", "Complete=True")
		for _, cluster := range f.clusters {
			require.Empty(t, revision.FirstDifference(&f.get().Spec.ManifestWorkTemplate, &f.work(cluster).Spec))
			require.Contains(t, string(f.work(cluster).Spec.Workload.Manifests[1].Raw), `"null":null`)
		}
	}
	f.quiet()
	require.Equal(t, map[string]int64{"c1": 3, "c2": 3}, f.generations())

	// The API server takes what a JSON patch says of a version for what the patch was decided on.
	work := f.work("c1")
	for _, uid := range []types.UID{work.UID, "other"} {
		patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/uid","value":%q},{"op":"add","path":"/metadata/resourceVersion","value":"1"}]`, uid)
		_, err := f.w.works.WorkV1().ManifestWorks(work.Namespace).Patch(t.Context(), work.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
		require.True(t, apierrors.IsConflict(err), "%s: %v", uid, err)
	}
}
