package hub

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestOtherHub: two hubs are reported only if the ServiceAccounts of both exist. A hub without the permission reports nothing, and an
// unavailable API server changes nothing.
func TestOtherHub(t *testing.T) {
	client := fake.NewClientset()
	var refuses error
	client.PrependReactor("get", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) { return refuses != nil, nil, refuses })
	account := func(namespace, name string) {
		_, err := client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	other := &otherHub{client: client, namespace: "hub"}
	looks := func() string {
		other.look(t.Context())
		return other.text()
	}
	require.Empty(t, other.text(), "before the first look")
	require.Empty(t, looks())
	account("hub", "work-rollback")
	account("elsewhere", "work-controller-sa")
	require.Empty(t, looks(), "one hub is installed here")
	account("hub", "work-controller-sa")
	require.Contains(t, looks(), "both run a work hub in namespace hub")

	refuses = errors.New("the API server is unavailable")
	require.NotEmpty(t, looks())
	refuses = apierrors.NewForbidden(corev1.Resource("serviceaccounts"), "work-controller-sa", nil)
	require.Empty(t, looks(), "unknown")
	refuses = nil
	require.NotEmpty(t, looks())
	require.NoError(t, client.CoreV1().ServiceAccounts("hub").Delete(t.Context(), "work-controller-sa", metav1.DeleteOptions{}))
	require.Empty(t, looks())
}
