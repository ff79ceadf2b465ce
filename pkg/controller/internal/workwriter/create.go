package workwriter

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// create makes a work under the first of the owner's names that nothing else has in the cluster's namespace. Before it takes another than
// the first, it looks there live: a cache that missed something, or a label that somebody took off, must not lead to a second work (R9).
func (w *Writer) create(ctx context.Context, owner *Owner, write *rollout.Write) (metav1.Object, error) {
	names := rollout.WorkNames(owner.Object)
	if slices.ContainsFunc(owner.Works, func(known *workv1.ManifestWork) bool { return !slices.Contains(names, known.Name) }) {
		// Another hub named works as it liked: that the first name is free says nothing.
		if err := w.findExisting(ctx, owner, write.Cluster); err != nil {
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
		if err := w.findExisting(ctx, owner, write.Cluster); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("none of the ManifestWorks %s, %s and %s in namespace %s belongs to this ManifestWorkReplicaSet, "+
		"and it has no other name for its own: delete one of the three: %w", names[0], names[1], names[2], write.Cluster, err)
}

// findExisting looks live for a work of this owner in a cluster's namespace. It returns memory.ErrUnseen where there is one, and nil where
// there is none. One that lost its owner label gets it back.
func (w *Writer) findExisting(ctx context.Context, owner *Owner, cluster string) error {
	ours, err := w.List(ctx, cluster, workv1alpha1.LabelReplicaSet+"="+owner.Label)
	if err != nil {
		return fmt.Errorf("listing the ManifestWorks of %s/%s in namespace %s: %w", owner.Object.Namespace, owner.Object.Name, cluster, err)
	}
	if len(ours) > 0 {
		owner.Found(&ours[0])
		return memory.ErrUnseen
	}
	lost, err := w.List(ctx, cluster, workv1alpha1.LabelControllerHash+",!"+workv1alpha1.LabelReplicaSet)
	if err != nil {
		return fmt.Errorf("listing the ManifestWorks without owner label in namespace %s: %w", cluster, err)
	}
	for i := range lost {
		if work := &lost[i]; rollout.LostOwner(owner.Object, work, owner.IsRevision) {
			return w.restoreOwner(ctx, owner, work)
		}
	}
	return nil
}

// restoreOwner gives a work the owner label back by which it is found. All else is decided when the cache shows it.
func (w *Writer) restoreOwner(ctx context.Context, owner *Owner, work *workv1.ManifestWork) error {
	data, err := workpatch.OwnerLabel(work, owner.Label)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	answer, err := w.in(work.Namespace).Patch(ctx, work.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("putting the owner label back on ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	klog.FromContext(ctx).Info("Put the owner label back on a ManifestWork", "cluster", work.Namespace, "name", work.Name)
	owner.Found(answer)
	return memory.ErrUnseen
}
