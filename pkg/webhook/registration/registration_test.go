package registration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/webhooks"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/registration"
)

func configuration(name string, client admissionregistrationv1.WebhookClientConfig) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: name, ClientConfig: client}},
	}
}

func service(namespace, path, ca string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		Service:  &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: "cluster-manager-work-webhook", Path: ptr.To(path), Port: ptr.To[int32](9443)},
		CABundle: []byte(ca),
	}
}

// hub returns a client of a hub with these configurations. If may is true, the hub has permission to write ours.
func hub(may bool, configurations ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(configurations...)
	client.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: may}}, nil
	})
	return client
}

func TestKeepsTheCA(t *testing.T) {
	ours := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict(webhooks.ReplicaSets, ours))
	require.Equal(t, registration.Ours, ours.Name)
	ours.ResourceVersion = "1"
	require.Equal(t, webhook.ReplicaSetPath, *ours.Webhooks[0].ClientConfig.Service.Path)
	// In Hosted mode, the namespace differs too.
	client := hub(true, ours, configuration(registration.Theirs, service("my-hosted-hub", webhook.WorkPath, "first")))
	keeper := &registration.Keeper{Client: client}
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	for _, ca := range []string{"first", "second"} {
		_, err := configurations.Update(t.Context(), configuration(registration.Theirs, service("my-hosted-hub", webhook.WorkPath, ca)), metav1.UpdateOptions{})
		require.NoError(t, err)
		changed, err := keeper.Once(t.Context())
		require.NoError(t, err)
		require.True(t, changed)
		kept, err := configurations.Get(t.Context(), registration.Ours, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, service("my-hosted-hub", webhook.ReplicaSetPath, ca), kept.Webhooks[0].ClientConfig)
		require.Equal(t, ours.Webhooks[0].Rules, kept.Webhooks[0].Rules)
		changed, err = keeper.Once(t.Context())
		require.NoError(t, err)
		require.False(t, changed, "nothing is written if nothing changed (P7)")
	}
}

func TestNothingToKeep(t *testing.T) {
	theirs := configuration(registration.Theirs, service("a", webhook.WorkPath, "ca"))
	ours := configuration(registration.Ours, service("a", webhook.ReplicaSetPath, ""))
	for name, tc := range map[string]struct {
		client  *fake.Clientset
		wantErr string
	}{
		"no right":              {hub(false, theirs, ours), ""},
		"not registered":        {hub(true, theirs), ""},
		"no operator":           {hub(true, ours), "which OCM's operator creates"},
		"without a CA":          {hub(true, ours, configuration(registration.Theirs, service("a", webhook.WorkPath, ""))), "has no CA yet"},
		"an empty registration": {hub(true, theirs, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: registration.Ours}}), "apply deploy/webhooks again"},
	} {
		t.Run(name, func(t *testing.T) {
			changed, err := (&registration.Keeper{Client: tc.client}).Once(t.Context())
			require.False(t, changed)
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.wantErr)
			}
			for _, action := range tc.client.Actions() {
				require.NotEqual(t, "patch", action.GetVerb())
			}
		})
	}
}

func TestFollowsURLs(t *testing.T) {
	theirs := configuration(registration.Theirs, admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://10.0.0.1:9443" + webhook.WorkPath), CABundle: []byte("ca")})
	patch, err := registration.Follow(theirs, configuration(registration.Ours, service("a", webhook.ReplicaSetPath, "ca")))
	require.NoError(t, err)
	require.Contains(t, string(patch), `"url":"https://10.0.0.1:9443`+webhook.ReplicaSetPath+`"`)
	theirs.Webhooks[0].ClientConfig.URL = ptr.To("%")
	_, err = registration.Follow(theirs, configuration(registration.Ours, service("a", webhook.ReplicaSetPath, "ca")))
	require.Error(t, err)
	patch, err = registration.Follow(configuration(registration.Theirs, service("a", webhook.WorkPath, "ca")), configuration(registration.Ours, service("a", "", "ca")))
	require.NoError(t, err)
	require.Contains(t, string(patch), `"path":"`+webhook.ReplicaSetPath+`"`, "a missing path is added")
}
