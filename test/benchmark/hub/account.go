package hub

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
)

// account returns a client configuration of a ServiceAccount with all permissions. API Priority and Fairness limits ServiceAccounts, but
// exempts the benchmark's own user.
func (p *Plane) account(ctx context.Context, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		return nil, err
	}
	meta := metav1.ObjectMeta{Name: name, Namespace: sandbox.HubNamespace}
	_, err = client.CoreV1().ServiceAccounts(meta.Namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating the ServiceAccount %s: %w", name, err)
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: meta.Namespace}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("granting permissions to the ServiceAccount %s: %w", name, err)
	}
	config, err := p.server.ServiceAccountConfig(ctx, meta.Namespace, name)
	if err != nil {
		return nil, err
	}
	return config, awaitRights(ctx, config)
}

// awaitRights waits until the API server grants an account all permissions: its authorizer reads the bindings from a cache.
func awaitRights(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	everything := &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: everything},
		}, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed, nil
	})
}
