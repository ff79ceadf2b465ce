package await

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Allowed waits until the API server lets a user do something. New roles and bindings take effect a little after their creation.
func Allowed(t *testing.T, kube kubernetes.Interface, user string, what authorizationv1.ResourceAttributes) {
	t.Helper()
	Eventually(t, time.Minute, fmt.Sprintf("%s may %s %s", user, what.Verb, what.Resource), func() error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &what}}
		review, err := kube.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		require.NoError(t, err)
		if !review.Status.Allowed {
			return fmt.Errorf("denied: %s", review.Status.Reason)
		}
		return nil
	})
}
