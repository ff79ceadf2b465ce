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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

// objects reads and writes ManifestWorkReplicaSets and their revisions.
type objects struct {
	dynamic dynamic.Interface
	kube    kubernetes.Interface
}

// list reads all ManifestWorkReplicaSets and their revisions live, but keeps only the fields that the plan needs, so no
// template stays in memory. It omits objects that are being deleted.
func (c *objects) list(ctx context.Context) ([]*plan.Object, error) {
	found := &listed{byUID: map[types.UID]*item{}}
	resource := c.dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource)
	err := replicaset.Each(ctx, metav1.ListOptions{}, func(options metav1.ListOptions) (runtime.Object, error) {
		return resource.List(ctx, options)
	}, found.addReplicaSet)
	if err != nil {
		return nil, fmt.Errorf("listing ManifestWorkReplicaSets: %w", err)
	}
	ours := metav1.ListOptions{LabelSelector: workv1alpha1.LabelReplicaSet}
	err = replicaset.Each(ctx, ours, func(options metav1.ListOptions) (runtime.Object, error) {
		return c.kube.AppsV1().ControllerRevisions("").List(ctx, options)
	}, found.addRevision)
	if apierrors.IsForbidden(err) {
		return found.objects(), nil // This hub has no history. The controller reports this.
	}
	if err != nil {
		return nil, fmt.Errorf("listing ControllerRevisions: %w", err)
	}
	return found.objects(), nil
}

// listed are the objects that have been read so far.
type listed struct {
	order []*item
	byUID map[types.UID]*item
}

type item struct {
	plan.Object
	revisions []revision.Revision
}

// addReplicaSet keeps the metadata and the ledger of an object.
func (l *listed) addReplicaSet(object *unstructured.Unstructured) error {
	decoded := replicaset.Decode(object)
	if !decoded.DeletionTimestamp.IsZero() {
		return nil
	}
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
	found := &item{Object: plan.Object{ManifestWorkReplicaSet: lean}}
	l.order, l.byUID[lean.UID] = append(l.order, found), found
	return nil
}

// addRevision keeps a revision without its template.
func (l *listed) addRevision(found *appsv1.ControllerRevision) error {
	controller := metav1.GetControllerOf(found)
	if controller == nil || l.byUID[controller.UID] == nil {
		return nil
	}
	owner := l.byUID[controller.UID]
	rev := revision.Revision{Hash: found.Labels[workv1alpha1.LabelControllerHash], Record: revision.RecordOf(found)}
	rev.Object = &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: found.Namespace, Name: found.Name, UID: found.UID, ResourceVersion: found.ResourceVersion,
			CreationTimestamp: found.CreationTimestamp, Annotations: copyOf(found), OwnerReferences: found.OwnerReferences,
		},
		Revision: found.Revision,
	}
	owner.revisions = append(owner.revisions, rev)
	return nil
}

// copyOf returns the annotation with the copy of the ledger.
func copyOf(found *appsv1.ControllerRevision) map[string]string {
	text, copied := found.Annotations[workv1alpha1.AnnotationLedger]
	if !copied {
		return nil
	}
	return map[string]string{workv1alpha1.AnnotationLedger: text}
}

// objects returns the listed objects, each with its history.
func (l *listed) objects() []*plan.Object {
	all := make([]*plan.Object, 0, len(l.order))
	for _, found := range l.order {
		found.History = revision.NewHistory(found.ManifestWorkReplicaSet, found.revisions)
		all = append(all, &found.Object)
	}
	return all
}
