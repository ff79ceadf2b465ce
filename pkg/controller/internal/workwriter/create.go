package workwriter

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// create creates a work under the first of the owner's names that is free in the cluster's namespace. Before it uses
// any name other than the first, it lists the works in the namespace from the API server. A cache that missed a work,
// or a label that a user removed, must not lead to a second work.
func (w *Writer) create(ctx context.Context, owner *Owner, write *rollout.Write) (metav1.Object, error) {
	names := work.Names(owner.Object)
	if slices.ContainsFunc(owner.Works, func(known *workv1.ManifestWork) bool { return !slices.Contains(names, known.Name) }) {
		// Another hub gave works other names, so a free first name proves nothing.
		if err := w.findExisting(ctx, owner, write); err != nil {
			return nil, err
		}
	}
	client := w.in(write.Cluster)
	var err error
	for i, name := range names {
		var answer metav1.Object
		answer, err = client.Create(ctx, workpatch.New(write, name, w.Clock.Now()), metav1.CreateOptions{})
		if err == nil && i > 0 {
			owner.NameTaken(write.Cluster, name)
		}
		if !apierrors.IsAlreadyExists(err) {
			return answer, err
		}
		if i > 0 {
			continue
		}
		if err := w.findExisting(ctx, owner, write); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("none of the ManifestWorks %s, %s and %s in namespace %s belongs to this ManifestWorkReplicaSet, "+
		"and there is no other name to use: delete one of the three: %w", names[0], names[1], names[2], write.Cluster, err)
}

// findExisting lists the works of this owner in the namespace of a write's cluster from the API server. It returns
// memory.ErrUnseen if one exists, and nil otherwise. It restores the owner label of a work that lost it.
func (w *Writer) findExisting(ctx context.Context, owner *Owner, write *rollout.Write) error {
	cluster, namespace, name := write.Cluster, owner.Object.Namespace, owner.Object.Name
	ours, err := w.ListOf(ctx, cluster, namespace, name)
	if err != nil {
		return fmt.Errorf("listing the ManifestWorks of %s/%s in namespace %s: %w", namespace, name, cluster, err)
	}
	if len(ours) > 0 {
		if _, shown := ours[0].Labels[workv1alpha1.LabelReplicaSet]; !shown && len(owner.Label) <= workv1alpha1.MaxOwnerLabelLength {
			return w.restoreOwner(ctx, owner, write, &ours[0])
		}
		owner.Found(&ours[0])
		return memory.ErrUnseen
	}
	lost, err := w.List(ctx, cluster, workv1alpha1.LabelControllerHash+",!"+workv1alpha1.LabelReplicaSet)
	if err != nil {
		return fmt.Errorf("listing the ManifestWorks without the owner label in namespace %s: %w", cluster, err)
	}
	for i := range lost {
		if mw := &lost[i]; work.LostOwner(owner.Object, mw, owner.IsRevision) {
			return w.restoreOwner(ctx, owner, write, mw)
		}
	}
	return nil
}

// restoreOwner restores the owner label of a work, so that the cache shows the work. All other decisions follow once it
// does.
func (w *Writer) restoreOwner(ctx context.Context, owner *Owner, write *rollout.Write, work *workv1.ManifestWork) error {
	kind, data, err := workpatch.OwnerPatch(work, write.Owner)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	answer, err := w.send(ctx, work, kind, data)
	if err != nil {
		return fmt.Errorf("putting the owner label back on ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	klog.FromContext(ctx).Info("Put the owner label back on a ManifestWork", "cluster", work.Namespace, "name", work.Name)
	owner.Found(answer)
	return memory.ErrUnseen
}
