package upgrade

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

// tellInterval is the interval at which the hub checks for objects that do not yet report that this version is refused:
// new objects, and objects whose write failed.
const tellInterval = time.Minute

// refuse reports that this version does not reconcile ManifestWorkReplicaSets: in the log, in an event of the ConfigMap, and in each
// object.
func (r *Runner) refuse(ctx context.Context, why string) {
	r.Metrics.Upgrade(metrics.UpgradeRefused)
	logger := klog.FromContext(ctx)
	if r.once(workv1alpha1.EventDowngradeRefused + why) {
		logger.Error(nil, why)
		r.event(r.record.reference(), corev1.EventTypeWarning, workv1alpha1.EventDowngradeRefused, "Refuse", why)
		r.told = time.Time{}
	}
	if now := r.Clock.Now(); r.told.IsZero() || now.Sub(r.told) >= tellInterval {
		r.told = now
		if err := r.stall(ctx, why, metav1.NewTime(now)); err != nil && ctx.Err() == nil {
			logger.Error(err, "The condition Stalled could not be written to every ManifestWorkReplicaSet; retrying")
		}
	}
}

// stall sets the condition Stalled on every object that does not have it with this message. The state is overwritten as soon as a hub
// reconciles the object again.
func (r *Runner) stall(ctx context.Context, why string, now metav1.Time) error {
	resource := r.Dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource)
	var errs []error
	page := func(options metav1.ListOptions) (runtime.Object, error) { return resource.List(ctx, options) }
	err := replicaset.Each(ctx, metav1.ListOptions{}, page, func(object *unstructured.Unstructured) error {
		err := r.stallOne(ctx, replicaset.Decode(object).ManifestWorkReplicaSet, why, now)
		if err != nil && !apierrors.IsNotFound(err) && len(errs) < errorsKept {
			errs = append(errs, err)
		}
		return ctx.Err()
	})
	return errors.Join(append(errs, err)...)
}

// errorsKept limits how many failed writes of objects are logged.
const errorsKept = 3

func (r *Runner) stallOne(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet, why string, now metav1.Time) error {
	wanted := set.Status.DeepCopy()
	if !status.NotReconciled(set, wanted, why, now) {
		return nil
	}
	patch := map[string]any{
		"metadata": map[string]any{"uid": set.UID, "resourceVersion": set.ResourceVersion},
		"status":   map[string]any{"conditions": wanted.Conditions, "state": wanted.State},
	}
	return r.patch(ctx, &plan.Object{ManifestWorkReplicaSet: set}, patch, "status")
}
