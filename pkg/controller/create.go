package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
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
func (r *deployReconciler) create(ctx context.Context, p *pass, w *rollout.Write) (metav1.Object, error) {
	names := rollout.WorkNames(p.object)
	if slices.ContainsFunc(p.works, func(known *workv1.ManifestWork) bool { return !slices.Contains(names, known.Name) }) {
		// Another hub named works as it liked: that the first name is free says nothing.
		if err := r.findExisting(ctx, p, w.Cluster); err != nil {
			return nil, err
		}
	}
	client := r.works.WorkV1().ManifestWorks(w.Cluster)
	var err error
	for i, name := range names {
		var answer metav1.Object
		answer, err = client.Create(ctx, workpatch.New(p.snapshot, w, name, r.clock.Now()), metav1.CreateOptions{})
		if err == nil && i > 0 {
			r.tellNameTaken(p, w.Cluster, name)
		}
		if !apierrors.IsAlreadyExists(err) {
			return answer, err
		}
		if i > 0 {
			continue
		}
		if err := r.findExisting(ctx, p, w.Cluster); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("none of the ManifestWorks %s, %s and %s in namespace %s belongs to this ManifestWorkReplicaSet, and it has no other name for its own: "+
		"delete one of the three: %w", names[0], names[1], names[2], w.Cluster, err)
}

// findExisting looks live for a work of this owner in a cluster's namespace. It returns memory.ErrUnseen where there is one, and nil where there
// is none. One that lost its owner label gets it back.
func (r *deployReconciler) findExisting(ctx context.Context, p *pass, cluster string) error {
	client := r.works.WorkV1().ManifestWorks(cluster)
	ours, err := client.List(ctx, metav1.ListOptions{LabelSelector: workv1alpha1.LabelReplicaSet + "=" + p.owner})
	if err != nil {
		return fmt.Errorf("listing the ManifestWorks of %s in namespace %s: %w", p.key, cluster, err)
	}
	if len(ours.Items) > 0 {
		r.wroteWork(p, &ours.Items[0])
		return memory.ErrUnseen
	}
	lost, err := client.List(ctx, metav1.ListOptions{LabelSelector: workv1alpha1.LabelControllerHash + ",!" + workv1alpha1.LabelReplicaSet})
	if err != nil {
		return fmt.Errorf("listing the ManifestWorks without owner label in namespace %s: %w", cluster, err)
	}
	for i := range lost.Items {
		if work := &lost.Items[i]; rollout.LostOwner(p.object, work, p.isRevision) {
			return r.putOwnerBack(ctx, p, work)
		}
	}
	return nil
}

// isRevision reports whether a hash is that of one of the owner's revisions.
func (p *pass) isRevision(hash string) bool {
	return hash == p.update.Hash || hash == p.revisions.CurrentRevision || p.history.ByHash(hash) != nil
}

// putOwnerBack gives a work the owner label back by which it is found. All else is decided when the cache shows it.
func (r *deployReconciler) putOwnerBack(ctx context.Context, p *pass, work *workv1.ManifestWork) error {
	data, err := workpatch.OwnerLabel(work, p.owner)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	answer, err := r.works.WorkV1().ManifestWorks(work.Namespace).Patch(ctx, work.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("putting the owner label back on ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	klog.FromContext(ctx).Info("Put the owner label back on a ManifestWork", "cluster", work.Namespace, "name", work.Name)
	r.wroteWork(p, answer)
	return memory.ErrUnseen
}

// tellNameTaken says once for each object that a work has another name than people look for (R9): an event for each cluster would be too many.
func (r *deployReconciler) tellNameTaken(p *pass, cluster, other string) {
	if r.memory.Told.Announce(p.key, workv1alpha1.EventWorkNameTaken) {
		r.event(p, nil, corev1.EventTypeNormal, workv1alpha1.EventWorkNameTaken, "RollOut", fmt.Sprintf(
			"ManifestWork %s/%s does not belong to this ManifestWorkReplicaSet: its own is %s/%s there, and it has another name wherever the usual one is taken",
			cluster, p.object.Name, cluster, other))
	}
}
