package cloudevents

import (
	"context"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const (
	// restoreQuiet is the time without new reports from any agent after which the restore is complete. Connected agents
	// answer almost immediately.
	restoreQuiet = 2 * time.Second
	// restorePatience is the time to wait for agents that do not answer. Agents that answer later are sent their works
	// again when it is their turn.
	restorePatience = 30 * time.Second
	// unknownInterval is the interval at which a work that can't be restored is checked again: the controller may have
	// written the work in the meantime.
	unknownInterval = 30 * time.Second
	// unwantedFor is the time for which an owner must be missing, or must not select a cluster, before its work is
	// deleted from the cluster. A hub that is being restored from a backup must not delete everything. This time is
	// longer than any wait of R8.
	unwantedFor = 10 * time.Minute
	// maxOfOwner is the maximum number of works of one owner that are restored in a cluster. A hub creates one, but
	// agents can report any number.
	maxOfOwner = 4
	// maxUnwanted is the maximum number of unwanted works that are deleted from a cluster at the same time. The hub
	// keeps each work until its agent confirms the deletion.
	maxUnwanted = 100
)

// Restore returns once the works that this hub had before its restart are known again: as many works as each owner's
// status counts, and no new reports for restoreQuiet. It waits only restorePatience for offline agents. The hub must
// not make any decision before Restore returns.
func (d *Driver) Restore(ctx context.Context, expected map[string]int) error {
	if len(expected) == 0 {
		return nil
	}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		return d.knows(ctx, expected), nil
	})
}

// knows reports whether the works that this hub had before its restart are known, or the time to wait for agents has
// passed.
func (d *Driver) knows(ctx context.Context, expected map[string]int) bool {
	d.mu.Lock()
	asked, last := d.asked, d.restored
	d.mu.Unlock()
	if asked.IsZero() {
		return false
	}
	if last.Before(asked) {
		last = asked
	}
	patient := d.clock.Since(asked) < restorePatience
	if patient && d.clock.Since(last) < restoreQuiet {
		return false // This check runs twenty times a second and is cheap; counting the works is not.
	}
	missing := d.missing(expected)
	if len(missing) == 0 {
		return true
	}
	if patient {
		return false
	}
	klog.FromContext(ctx).Info("Some agents did not report their works, which are sent again when their turn comes", "works", missing)
	return true
}

// missing returns the number of works of each owner that are not known yet.
func (d *Driver) missing(expected map[string]int) map[string]int {
	missing := maps.Clone(expected)
	works, _ := d.store.unsorted(metav1.NamespaceAll)
	for _, work := range works {
		missing[ownerLabelOf(work)]--
	}
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	for _, r := range d.store.reports {
		if r.work == nil && r.kept.considered {
			missing[ownerLabelOf(r.kept.report)]-- // The agent reported the work, but it can't be restored.
		}
	}
	maps.DeleteFunc(missing, func(_ string, n int) bool { return n <= 0 })
	return missing
}

// restore rebuilds the work that this hub sent before its restart from a report. If the revision of the work does not
// exist, the work stays unknown, and its cluster is sent the right work when it is its turn. Agents can report
// anything: a work is restored, and a template sent, only for a cluster that the owner selects. The caller holds the
// lock of the work.
func (d *Driver) restore(ctx context.Context, report *workv1.ManifestWork) (again time.Duration, err error) {
	logger := klog.FromContext(ctx).WithValues("cluster", report.Namespace, "name", report.Name)
	namespace, name, ok := workv1alpha1.OwnerOf(report)
	if !ok || report.UID != workUID(report.Namespace, report.Name) {
		logger.V(2).Info("Ignoring the report of a ManifestWork that no ManifestWorkReplicaSet owns")
		return 0, nil
	}
	claim := Claim{Namespace: namespace, Name: name, Hash: report.Labels[workv1alpha1.LabelControllerHash], Cluster: report.Namespace}
	owner, err := d.owners.Find(ctx, claim)
	switch {
	case err != nil:
		return 0, err
	case !owner.Exists || owner.Selection == Unselected && report.DeletionTimestamp.IsZero():
		return d.removeUnwanted(ctx, report, claim, owner.Exists)
	}
	d.store.onKept(report.UID, func(k *kept) { k.unwanted = time.Time{} })
	// For a work that is being deleted, only the deletion is sent. The work counts even if no Placement selects its cluster.
	switch alive := report.DeletionTimestamp.IsZero(); {
	case alive && owner.Selection == SelectionUnknown:
		return unknownInterval, nil
	case alive && owner.Template == nil:
		logger.Info("An agent has a ManifestWork whose revision is not known", "hash", claim.Hash)
		return unknownInterval, nil
	}
	ofOwner := func(w *workv1.ManifestWork) bool { return workv1alpha1.IsOwner(namespace, name, w) }
	work, sequence := restored(report)
	if owner.Template != nil {
		work.Spec = *owner.Template.DeepCopy()
	}
	// Other reports of the cluster are processed at the same time.
	if !d.store.restore(work, sequence, func() bool { return d.store.countLocked(work.Namespace, ofOwner) < maxOfOwner }) {
		logger.V(2).Info("An agent has more ManifestWorks of an owner than a hub ever creates", "owner", klog.KRef(namespace, name))
		return unknownInterval, nil
	}
	if !settled(work) {
		d.lookAfter(work, confirmAfter) // The process that wrote the work has ended and can no longer do this.
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.restored = d.clock.Now()
	return 0, nil
}

// ownerLabelOf returns the owner of a work as "<namespace>.<name>"; empty if the work has no owner.
func ownerLabelOf(work *workv1.ManifestWork) string {
	namespace, name, ok := workv1alpha1.OwnerOf(work)
	if !ok {
		return ""
	}
	return workv1alpha1.OwnerLabelValue(namespace, name)
}

// restored returns a reported work without the metadata that sdk-go's clients and events add, and without content: the content that an
// agent reports does not count.
func restored(report *workv1.ManifestWork) (work *workv1.ManifestWork, sequence string) {
	work = report.DeepCopy()
	work.Spec = workv1.ManifestWorkSpec{}
	sequence = work.Annotations[common.CloudEventsSequenceIDAnnotationKey]
	delete(work.Annotations, common.CloudEventsSequenceIDAnnotationKey)
	delete(work.Annotations, common.CloudEventsDataTypeAnnotationKey)
	delete(work.Labels, common.CloudEventsOriginalSourceLabelKey)
	delete(work.Labels, labelGeneration)
	work.Finalizers = []string{workv1.ManifestWorkFinalizer}
	return work, sequence
}

func isDeleting(work *workv1.ManifestWork) bool { return !work.DeletionTimestamp.IsZero() }

// isAway reports whether a cluster is registered and not available.
func (d *Driver) isAway(ctx context.Context, cluster string) bool {
	if d.available == nil {
		return false
	}
	available, exists := d.available(ctx, cluster)
	return exists && !available
}

// dropOwnerless removes a work from the store if its owner is gone, and reports whether it did. Such a work was restored while the deletion
// of its owner completed, so no controller would delete it. When the agent reports the work again, it is unwanted.
func (d *Driver) dropOwnerless(ctx context.Context, work *workv1.ManifestWork) (bool, error) {
	namespace, name, _ := workv1alpha1.OwnerOf(work)
	owner, err := d.owners.Find(ctx, Claim{Namespace: namespace, Name: name, Cluster: work.Namespace})
	if err != nil || owner.Exists || isDeleting(work) {
		return false, err
	}
	d.store.remove(work.UID)
	return true, nil
}

// removeUnwanted deletes a work from its cluster if its owner was deleted, or no longer selects the cluster, while its
// agent or this hub was disconnected. It waits for unwantedFor, and asks the API server whether the owner is gone. The
// wait restarts while an unselected cluster is away.
func (d *Driver) removeUnwanted(ctx context.Context, report *workv1.ManifestWork, claim Claim, ownerExists bool) (time.Duration, error) {
	now := d.clock.Now()
	since, away := now, ownerExists && d.isAway(ctx, claim.Cluster)
	d.store.onKept(report.UID, func(k *kept) {
		if k.unwanted.IsZero() || away {
			k.unwanted = now
		}
		since = k.unwanted
	})
	if now.Sub(since) < unwantedFor {
		return unknownInterval, nil
	}
	end, admitted := d.store.beginRemoval(report.Namespace)
	if !admitted {
		return unknownInterval, nil
	}
	defer end()
	if !ownerExists {
		if gone, err := d.owners.Gone(ctx, claim.Namespace, claim.Name); err != nil || !gone {
			return unknownInterval, err
		}
	}
	work, sequence := restored(report)
	work = d.deleting(work)
	if err := d.publish(ctx, eventtypes.DeleteRequestAction, work, nil); err != nil {
		return 0, err
	}
	d.store.restore(work, sequence, func() bool { return true })
	return 0, nil
}
