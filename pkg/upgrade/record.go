package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/rejection"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

// record is the ConfigMap that holds the version that ran last.
type record struct {
	client    corev1client.ConfigMapInterface
	namespace string
}

// errUnavailable marks an error that must not delay rollouts and aborts: the hub lacks the permissions on the ConfigMap, the namespace does
// not exist, or the API server rejects the ConfigMap, for example because of a policy.
var errUnavailable = errors.New("the ConfigMap is not available")

// read returns the ConfigMap; nil if it does not exist.
func (r *record) read(ctx context.Context) (*corev1.ConfigMap, error) {
	found, err := r.client.Get(ctx, plan.ConfigMap, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, r.failed("reading", err, apierrors.IsForbidden(err))
	}
	return found, nil
}

// write writes the ConfigMap, if it has not changed since it was read. seen is the ConfigMap that was read; nil if it
// did not exist.
func (r *record) write(ctx context.Context, seen *corev1.ConfigMap, data map[string]string) error {
	if seen == nil {
		_, err := r.client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: plan.ConfigMap, Namespace: r.namespace}, Data: data,
		}, metav1.CreateOptions{})
		return r.failed("creating", err, rejection.IsLasting(err) && !apierrors.IsAlreadyExists(err)) // NotFound: the namespace is missing.
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": seen.UID, "resourceVersion": seen.ResourceVersion}, "data": data,
	})
	if err == nil {
		_, err = r.client.Patch(ctx, plan.ConfigMap, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	// If a user deleted it, the next attempt creates it.
	return r.failed("patching", err, rejection.IsLasting(err) && !apierrors.IsNotFound(err))
}

// failed returns an error that names the request; nil for none.
func (r *record) failed(verb string, err error, unavailable bool) error {
	switch {
	case err == nil:
		return nil
	case unavailable:
		return fmt.Errorf("%w: %s ConfigMap %s/%s: %w", errUnavailable, verb, r.namespace, plan.ConfigMap, err)
	}
	return fmt.Errorf("%s ConfigMap %s/%s: %w", verb, r.namespace, plan.ConfigMap, err)
}

// reference returns the object of events about the ConfigMap, even if the ConfigMap does not exist.
func (r *record) reference() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: plan.ConfigMap, Namespace: r.namespace},
	}
}
