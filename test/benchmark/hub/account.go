package hub

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox"
)

// account is a client configuration of a ServiceAccount that may do everything. An API server shares itself out among such ones
// (API Priority and Fairness), and lets the benchmark's own user pass by.
func (p *Plane) account(ctx context.Context, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		return nil, err
	}
	meta := metav1.ObjectMeta{Name: name, Namespace: sandbox.HubNamespace}
	_, err = client.CoreV1().ServiceAccounts(meta.Namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("making the ServiceAccount %s: %w", name, err)
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: meta.Namespace}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("giving the ServiceAccount %s its rights: %w", name, err)
	}
	return p.server.ServiceAccountConfig(ctx, meta.Namespace, name)
}

// ConfigAs is the client configuration of another controller of the hub, with a connection of its own. What it asks for is not counted
// as the manager's.
func (p *Plane) ConfigAs(ctx context.Context, name string) (*rest.Config, error) {
	config, err := p.account(ctx, name)
	if err != nil {
		return nil, err
	}
	config.Wrap(p.own.Wrap)
	return config, nil
}
