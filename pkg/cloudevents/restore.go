package cloudevents

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const (
	// restoreQuiet is how long no agent must have reported anything new before what is known counts as all: agents that are connected
	// answer within a moment.
	restoreQuiet = 2 * time.Second
	// shortestQuiet is the same where the agents of a large fleet report quickly: after knownPace works their pace is known, and pauses that
	// are several times as long as the longest one so far are not expected.
	shortestQuiet = time.Second
	knownPace     = 100
	severalTimes  = 4
	// restorePatience is how long agents that don't answer are waited for. What they have is sent to them again, when their turn comes.
	restorePatience = 30 * time.Second
	// unknownInterval is how often a work that can't be restored is looked at again: the controller may have written it since.
	unknownInterval = 30 * time.Second
	// unwantedFor is how long an owner must be seen missing, or not selecting a cluster, before its work is taken off the cluster. A hub that
	// is being restored from a backup must not tear everything down. It is longer than any wait of R8.
	unwantedFor = 10 * time.Minute
	// maxOfOwner is how many works of one owner are restored in a cluster. A hub makes one, and agents make up what they like.
	maxOfOwner = 4
	// maxUnwanted is how many works are taken off a cluster at once that nobody wants: each is kept until its agent says that it is gone.
	maxUnwanted = 100
)

// Restore returns when the works that this hub had before its restart are known again: as many as each owner is said to have, and
// nothing new for a moment. Agents that are offline are not waited for long. Nothing must be decided before (R15).
func (d *Driver) Restore(ctx context.Context, expected map[string]int) error {
	if len(expected) == 0 {
		return nil
	}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		return d.knows(ctx, expected), nil
	})
}

// knows reports whether the works that this hub had before its restart are known, as far as agents report them in time.
func (d *Driver) knows(ctx context.Context, expected map[string]int) bool {
	d.mu.Lock()
	asked, last, quiet := d.asked, d.restored, d.pace.quiet()
	d.mu.Unlock()
	if asked.IsZero() {
		return false
	}
	if last.Before(asked) {
		last = asked
	}
	patient := d.clock.Since(asked) < restorePatience
	if patient && d.clock.Since(last) < quiet {
		return false // This is cheap, and checked twenty times a second. To count the works is not.
	}
	missing := d.missing(expected)
	if len(missing) == 0 {
		return true
	}
	if patient {
		return false
	}
	klog.FromContext(ctx).Info("Some agents did not report what they have, their works are sent again when their turn comes", "works", missing)
	return true
}

// missing is how many works of each owner are not known yet.
func (d *Driver) missing(expected map[string]int) map[string]int {
	missing := maps.Clone(expected)
	for owner, n := range d.store.owners() {
		missing[owner] -= n
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for uid, report := range d.reports {
		if d.considered[uid] && d.store.get(uid) == nil {
			missing[report.Labels[workv1alpha1.LabelReplicaSet]]-- // Its agent reported it, and it can't be restored.
		}
	}
	maps.DeleteFunc(missing, func(_ string, n int) bool { return n <= 0 })
	return missing
}

// restore makes of a report the work that this hub sent before it was restarted. A work whose revision is not there stays unknown:
// its cluster is sent the one that it should have when its turn comes. Agents make up what they like: no work is restored, and with it no
// template sent, but for a cluster that the owner selects.
func (d *Driver) restore(ctx context.Context, report *workv1.ManifestWork) (again time.Duration, err error) {
	logger := klog.FromContext(ctx).WithValues("cluster", report.Namespace, "name", report.Name)
	label := report.Labels[workv1alpha1.LabelReplicaSet]
	namespace, name, ok := workv1alpha1.ParseOwnerLabelValue(label)
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
		return d.removeUnwanted(ctx, report, claim, owner.Exists && d.isAway(ctx, claim.Cluster))
	}
	d.mu.Lock()
	delete(d.unwanted, report.UID)
	d.mu.Unlock()
	// Of a work that is being deleted nothing is sent but its deletion: that it is there counts also where nothing selects it (R8).
	switch alive := report.DeletionTimestamp.IsZero(); {
	case alive && owner.Selection == SelectionUnknown:
		return unknownInterval, nil
	case alive && owner.Template == nil:
		logger.Info("An agent has a ManifestWork whose revision is not known", "hash", claim.Hash)
		return unknownInterval, nil
	}
	ofOwner := func(w *workv1.ManifestWork) bool { return w.Labels[workv1alpha1.LabelReplicaSet] == label }
	if d.store.count(report.Namespace, ofOwner) >= maxOfOwner {
		logger.V(2).Info("An agent has more ManifestWorks of an owner than a hub ever makes", "owner", label)
		return unknownInterval, nil
	}
	return d.restoreAs(report, owner.Template), nil
}

// restoreAs stores the work of a report, with the content of a template where there is one.
func (d *Driver) restoreAs(report *workv1.ManifestWork, template *workv1.ManifestWorkSpec) (again time.Duration) {
	defer d.lock(report.UID)()
	if d.store.get(report.UID) != nil {
		if d.store.report(report) != noted { // It was written in the meantime.
			return d.confirmAfter
		}
		return 0
	}
	work, sequence := restored(report)
	if template != nil {
		work.Spec = *template.DeepCopy()
	}
	d.store.restore(work, sequence)
	if !settled(work) {
		d.expectWord(work.UID) // The process that wrote it looks after it no more.
	}
	d.mu.Lock()
	now := d.clock.Now()
	d.pace.note(now, d.restored)
	d.restored = now
	d.mu.Unlock()
	return 0
}

// pace is how quickly works are restored.
type pace struct {
	works int
	// pause is the longest time between two of them.
	pause time.Duration
}

// note notes that a work is restored, after the one before it was at a time, which is zero for the first one.
func (p *pace) note(now, last time.Time) {
	p.works++
	if !last.IsZero() {
		p.pause = max(p.pause, min(restoreQuiet, now.Sub(last)))
	}
}

// quiet is how long nothing must have been restored before what is known counts as all.
func (p *pace) quiet() time.Duration {
	if p.works < knownPace {
		return restoreQuiet
	}
	return min(restoreQuiet, max(shortestQuiet, severalTimes*p.pause))
}

// restored is a reported work without what sdk-go's clients put on it, and without content: what an agent says of that does not count.
func restored(report *workv1.ManifestWork) (work *workv1.ManifestWork, sequence string) {
	work = report.DeepCopy()
	work.Spec = workv1.ManifestWorkSpec{}
	sequence = work.Annotations[common.CloudEventsSequenceIDAnnotationKey]
	maps.DeleteFunc(work.Annotations, func(key, _ string) bool {
		return slices.Contains([]string{common.CloudEventsSequenceIDAnnotationKey, common.CloudEventsDataTypeAnnotationKey}, key)
	})
	delete(work.Labels, common.CloudEventsOriginalSourceLabelKey)
	work.Finalizers = []string{workv1.ManifestWorkFinalizer}
	return work, sequence
}

func isDeleting(work *workv1.ManifestWork) bool { return !work.DeletionTimestamp.IsZero() }

// isAway reports whether the registration agent of a cluster does not renew its Lease. Without a Lease, the cluster is detached, or nobody
// registered it.
func (d *Driver) isAway(ctx context.Context, cluster string) bool {
	if d.available == nil {
		return false
	}
	available, exists := d.available(ctx, cluster)
	return exists && !available
}

// isUnwanted reports whether the owner of a work is gone, or does not select the cluster.
func (d *Driver) isUnwanted(ctx context.Context, claim Claim) (bool, error) {
	owner, err := d.owners.Find(ctx, claim)
	switch {
	case err != nil:
		return false, err
	case owner.Exists:
		return owner.Selection == Unselected, nil
	}
	return d.owners.Gone(ctx, claim.Namespace, claim.Name)
}

// removeUnwanted takes a work off its cluster whose owner was deleted, or does not select the cluster any more, since its agent or this hub
// could not hear of it. It waits for long, and asks again before it does so. The wait begins again while the cluster is away (R8a).
func (d *Driver) removeUnwanted(ctx context.Context, report *workv1.ManifestWork, claim Claim, away bool) (again time.Duration, err error) {
	now := d.clock.Now()
	d.mu.Lock()
	since, seen := d.unwanted[report.UID]
	if !seen || away {
		since = now
		d.unwanted[report.UID] = now
	}
	d.mu.Unlock()
	if now.Sub(since) < unwantedFor || d.store.count(report.Namespace, isDeleting) >= maxUnwanted {
		return unknownInterval, nil
	}
	if wait := d.mayRepair(report.Namespace); wait > 0 {
		return wait, nil
	}
	if unwanted, err := d.isUnwanted(ctx, claim); err != nil || !unwanted {
		return unknownInterval, err
	}
	defer d.lock(report.UID)()
	if d.store.get(report.UID) != nil {
		return 0, nil
	}
	work, sequence := restored(report)
	work = d.deleting(work)
	if err := d.publish(ctx, eventtypes.DeleteRequestAction, work, nil); err != nil {
		return 0, err
	}
	d.store.restore(work, sequence)
	return 0, nil
}
