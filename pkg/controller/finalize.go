package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
)

// finalizeReconciler deletes the works of an object that is being deleted, and makes deletion wait for that (R18). It comes
// first: deletion wins over all else.
type finalizeReconciler struct{ *Controller }

func (r *finalizeReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	if p.object.DeletionTimestamp.IsZero() {
		added, err := r.patcher(p).AddFinalizer(ctx, p.object.ManifestWorkReplicaSet, workv1alpha1.Finalizer)
		return !added && err == nil, err
	}
	if p.object.Spec.CascadeDeletionPolicy == upstream.Foreground && r.waitsForAgents(p) {
		return false, nil
	}
	works, err := r.liveWorks(ctx, p)
	if err != nil {
		return false, err
	}
	if err := r.deleteAll(ctx, works); err != nil {
		return false, err
	}
	if p.object.Spec.CascadeDeletionPolicy == upstream.Foreground && len(works) > 0 {
		// Each work's disappearance leads to another pass.
		return false, nil
	}
	return false, r.patcher(p).RemoveFinalizer(ctx, p.object.ManifestWorkReplicaSet, workv1alpha1.Finalizer)
}

// waitsForAgents says that works which are being deleted are still there: each one's disappearance leads to another pass, and
// the API server need not be asked for all of them each time.
func (r *finalizeReconciler) waitsForAgents(p *pass) bool {
	works, err := r.workIndex.ByIndex(byOwner, p.key)
	if err != nil {
		return false
	}
	for _, object := range works {
		if object.(*workv1.ManifestWork).DeletionTimestamp.IsZero() {
			return false
		}
	}
	return len(works) > 0
}

// liveWorks lists the works as the API server knows them: one that the cache has not shown yet would stay behind for
// ever (R18).
func (r *finalizeReconciler) liveWorks(ctx context.Context, p *pass) ([]workv1.ManifestWork, error) {
	if len(p.owner) > workv1alpha1.MaxOwnerLabelLength {
		return nil, nil // No work can bear such a label.
	}
	selector := labels.SelectorFromSet(labels.Set{workv1alpha1.LabelReplicaSet: p.owner})
	list, err := r.works.WorkV1().ManifestWorks(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("listing the ManifestWorks of %s: %w", p.key, err)
	}
	return list.Items, nil
}

func (r *finalizeReconciler) deleteAll(ctx context.Context, works []workv1.ManifestWork) error {
	errs := make([]error, len(works))
	r.parallel(ctx, len(works), func(i int) {
		w := &works[i]
		if !w.DeletionTimestamp.IsZero() {
			return
		}
		err := r.works.WorkV1().ManifestWorks(w.Namespace).Delete(ctx, w.Name, *metav1.NewPreconditionDeleteOptions(string(w.UID)))
		if apierrors.IsNotFound(err) {
			return
		}
		r.metrics.WorkWrite(metrics.Delete, writeResult(err))
		if err != nil {
			errs[i] = fmt.Errorf("deleting ManifestWork %s/%s: %w", w.Namespace, w.Name, err)
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return utilerrors.NewAggregate(errs)
}
