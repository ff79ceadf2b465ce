package upgrade

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

// list reads all ManifestWorkReplicaSets and their revisions live, but keeps only the fields that the plan needs, so no
// template stays in memory. It omits objects that are being deleted.
func (r *Runner) list(ctx context.Context) ([]*plan.Object, error) {
	var found []*plan.Object
	resource := r.Dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource)
	err := replicaset.Each(ctx, metav1.ListOptions{}, func(options metav1.ListOptions) (runtime.Object, error) {
		return resource.List(ctx, options)
	}, func(object *unstructured.Unstructured) error {
		if decoded := replicaset.Decode(object); decoded.DeletionTimestamp.IsZero() {
			found = append(found, &plan.Object{ManifestWorkReplicaSet: leanObject(decoded)})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing ManifestWorkReplicaSets: %w", err)
	}
	revisions := map[types.UID][]revision.Revision{}
	ours := metav1.ListOptions{LabelSelector: workv1alpha1.LabelReplicaSet}
	err = replicaset.Each(ctx, ours, func(options metav1.ListOptions) (runtime.Object, error) {
		return r.Kube.AppsV1().ControllerRevisions("").List(ctx, options)
	}, func(object *appsv1.ControllerRevision) error {
		if owner := metav1.GetControllerOf(object); owner != nil {
			revisions[owner.UID] = append(revisions[owner.UID], leanRevision(object))
		}
		return nil
	})
	if err != nil && !apierrors.IsForbidden(err) { // Without the permission, this hub has no history. The controller reports this.
		return nil, fmt.Errorf("listing ControllerRevisions: %w", err)
	}
	for _, o := range found {
		o.History = revision.NewHistory(o.ManifestWorkReplicaSet, revisions[o.UID])
	}
	return found, nil
}

// leanObject returns the metadata and the ledger of an object.
func leanObject(decoded *replicaset.Object) *workv1alpha1.ManifestWorkReplicaSet {
	lean := &workv1alpha1.ManifestWorkReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: decoded.Namespace, Name: decoded.Name, UID: decoded.UID, ResourceVersion: decoded.ResourceVersion,
			Generation: decoded.Generation, Annotations: map[string]string{},
		},
		Status: workv1alpha1.ManifestWorkReplicaSetStatus{Ledger: decoded.Status.Ledger},
	}
	for key, value := range decoded.Annotations {
		if strings.HasPrefix(key, workv1alpha1.AnnotationSnapshotPrefix) {
			lean.Annotations[key] = value
		}
	}
	return lean
}

// leanRevision returns a revision without its template. Of its annotations, only the copy of the ledger is kept.
func leanRevision(found *appsv1.ControllerRevision) revision.Revision {
	lean := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: found.Namespace, Name: found.Name, UID: found.UID, ResourceVersion: found.ResourceVersion,
			CreationTimestamp: found.CreationTimestamp, OwnerReferences: found.OwnerReferences,
		},
		Revision: found.Revision,
	}
	if text, copied := found.Annotations[workv1alpha1.AnnotationLedger]; copied {
		lean.Annotations = map[string]string{workv1alpha1.AnnotationLedger: text}
	}
	return revision.Revision{Object: lean, Hash: found.Labels[workv1alpha1.LabelControllerHash], Record: revision.RecordOf(found)}
}
