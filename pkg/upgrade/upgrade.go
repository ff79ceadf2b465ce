package upgrade

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	kubeevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/rejection"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

// Config is the configuration of a Runner.
type Config struct {
	Dynamic  dynamic.Interface
	Kube     kubernetes.Interface
	Recorder kubeevents.EventRecorder
	Metrics  *metrics.Metrics
	Clock    clock.PassiveClock
	// Namespace is the namespace of the hub; empty if it is not known.
	Namespace string
	// Version is the version of this build.
	Version string
	// Backoff is the delay between two attempts; zero for DefaultBackoff.
	Backoff wait.Backoff
}

// DefaultBackoff is the delay between two attempts, and between two checks while a version is refused.
var DefaultBackoff = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 6, Cap: 30 * time.Second}

// stuckAfter is the time for which each attempt of a write must have failed before the upgrade continues without it:
// one object must not hold up the rollouts of all other objects.
const stuckAfter = 2 * time.Minute

// writers is the number of objects that are written at the same time.
const writers = 16

// Runner takes or restores snapshots before ManifestWorkReplicaSets are reconciled.
type Runner struct {
	Config
	record record

	mu sync.Mutex
	// failing is the time since which the writes of an object have failed.
	failing map[types.UID]time.Time
	// said holds the events that this process has emitted; each is emitted only once.
	said map[string]bool
	// told is the time at which the refusal of this version was last reported on all objects; zero for never.
	told time.Time
	// counted counts the snapshots of this process, by result.
	counted map[metrics.SnapshotResult]int
}

// New returns a Runner.
func New(config Config) *Runner {
	if config.Backoff == (wait.Backoff{}) {
		config.Backoff = DefaultBackoff
	}
	return &Runner{
		Config:  config,
		record:  record{client: config.Kube.CoreV1().ConfigMaps(config.Namespace), namespace: config.Namespace},
		failing: map[types.UID]time.Time{}, said: map[string]bool{}, counted: map[metrics.SnapshotResult]int{},
	}
}

// Run returns nil once ManifestWorkReplicaSets may be reconciled, and an error if the context ends before that. It retries while the API
// server is unreachable, and checks again while this version is refused.
func (r *Runner) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithName("upgrade")
	if _, released := plan.ParseVersion(r.Version); !released || r.Namespace == "" {
		r.Metrics.Upgrade(metrics.UpgradeDevelopment)
		logger.Info("No upgrade snapshots: this is not a released version, or the namespace of the hub is unknown",
			"version", r.Version, "namespace", r.Namespace)
		return nil
	}
	r.Metrics.Upgrade(metrics.UpgradeWorking)
	return r.Backoff.DelayFunc().Until(klog.NewContext(ctx, logger), true, true, func(ctx context.Context) (bool, error) {
		return r.try(ctx), nil
	})
}

// try performs the action, and reports whether ManifestWorkReplicaSets may be reconciled.
func (r *Runner) try(ctx context.Context) bool {
	logger := klog.FromContext(ctx)
	recorded, err := r.record.read(ctx)
	if err != nil {
		return r.failed(ctx, err)
	}
	var data map[string]string
	if recorded != nil {
		data = recorded.Data
	}
	d := plan.Decide(r.Version, data)
	switch d.Action {
	case plan.Proceed:
		r.Metrics.Upgrade(metrics.UpgradeRecorded)
		return true
	case plan.Refuse:
		r.refuse(ctx, d.Why)
		return false
	case plan.TakeSnapshots, plan.RestoreSnapshots:
		r.Metrics.Upgrade(metrics.UpgradeWorking)
		logger.Info("The version of the hub changes", "action", d.Action, "from", d.Recorded, "to", d.Build)
		if err := r.all(ctx, &d); err != nil {
			return r.failed(ctx, err)
		}
	}
	if err := r.record.write(ctx, recorded, d.Record()); err != nil {
		return r.failed(ctx, err)
	}
	r.recorded(ctx, &d)
	return true
}

// failed reports whether ManifestWorkReplicaSets may be reconciled after an error. They may be if the hub can't record
// its version.
func (r *Runner) failed(ctx context.Context, err error) bool {
	logger := klog.FromContext(ctx)
	if errors.Is(err, errUnavailable) {
		r.Metrics.Upgrade(metrics.UpgradeUnavailable)
		note := "the hub cannot record its version: an upgrade takes no snapshots, and a downgrade restores nothing; " +
			"apply this release's Role and binding (deploy/base), or fix the cause of the rejection: " + err.Error()
		logger.Info(note)
		r.event(r.record.reference(), corev1.EventTypeWarning, workv1alpha1.EventSnapshotsUnavailable, "Record", note)
		return true
	}
	if ctx.Err() == nil {
		logger.Error(err, "ManifestWorkReplicaSets are not reconciled until the version of the hub is recorded; retrying")
	}
	return false
}

// recorded reports the result.
func (r *Runner) recorded(ctx context.Context, d *plan.Decision) {
	r.Metrics.Upgrade(metrics.UpgradeRecorded)
	note, reason := "", ""
	switch d.Action {
	case plan.TakeSnapshots:
		reason = workv1alpha1.EventHubUpgraded
		note = fmt.Sprintf("%s; %d snapshots of ManifestWorkReplicaSets were taken, %d were rejected",
			d.Why, r.counted[metrics.SnapshotTaken], r.counted[metrics.SnapshotRejected])
	case plan.RestoreSnapshots:
		reason = workv1alpha1.EventHubDowngraded
		note = fmt.Sprintf("%s; the snapshots of %d ManifestWorkReplicaSets were restored, %d were ignored, %d were rejected", d.Why,
			r.counted[metrics.SnapshotRestored], r.counted[metrics.SnapshotIgnored], r.counted[metrics.SnapshotRejected])
	default:
		note = d.Why + "; the version of this hub is now recorded"
	}
	klog.FromContext(ctx).Info(note, "version", d.Build.String())
	if reason != "" {
		r.event(r.record.reference(), corev1.EventTypeNormal, reason, "Record", note)
	}
}

// all takes or restores the snapshots of all objects. It returns an error if some of them must be retried.
func (r *Runner) all(ctx context.Context, d *plan.Decision) error {
	listed, err := r.list(ctx)
	if err != nil {
		clear(r.failing) // The API server is unreachable, so this is not a failure of single objects.
		return err
	}
	step := r.take
	if d.Action == plan.RestoreSnapshots {
		step = r.restore
	}
	errs := make([]error, len(listed))
	workqueue.ParallelizeUntil(ctx, writers, len(listed), func(i int) { errs[i] = r.settle(ctx, listed[i], step(ctx, d, listed[i])) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

// take writes the snapshot of an object, unless the object already has it.
func (r *Runner) take(ctx context.Context, d *plan.Decision, o *plan.Object) error {
	changes, err := plan.Snapshot(d, o)
	if err != nil || len(changes) == 0 {
		return err
	}
	if err := r.annotate(ctx, o, changes); err != nil {
		return err
	}
	r.count(metrics.SnapshotTaken)
	return nil
}

// restore restores the lost state of an object.
func (r *Runner) restore(ctx context.Context, d *plan.Decision, o *plan.Object) error {
	restoration := plan.Restore(d, o)
	if err := r.write(ctx, o, &restoration); err != nil {
		return err
	}
	switch {
	case restoration.Kept != "":
		r.count(metrics.SnapshotIgnored)
		r.event(o.ManifestWorkReplicaSet, corev1.EventTypeWarning, workv1alpha1.EventSnapshotIgnored, "Restore",
			restoration.Kept+"; the state stays as version "+d.Recorded.String()+" left it")
	case restoration.Fits:
		r.count(metrics.SnapshotRestored)
		if restoration.Restored {
			r.event(o.ManifestWorkReplicaSet, corev1.EventTypeNormal, workv1alpha1.EventSnapshotRestored, "Restore",
				fmt.Sprintf("version %s of the hub runs again after version %s, and restored its decisions about this object from its snapshot: "+
					"check the revision and the state", d.Build, d.Recorded))
		}
	}
	return nil
}

// settle returns the error of an object that must be retried. It ignores rejections of the API server, and errors that last too long.
func (r *Runner) settle(ctx context.Context, o *plan.Object, err error) error {
	if err == nil || apierrors.IsNotFound(err) || ctx.Err() != nil {
		r.passed(o.UID)
		return nil // The object is gone.
	}
	if !rejection.IsLasting(err) && !r.stuck(o.UID) {
		return err
	}
	klog.FromContext(ctx).Error(err, "The upgrade continues without a snapshot of a ManifestWorkReplicaSet",
		"namespace", o.Namespace, "name", o.Name)
	if r.once(workv1alpha1.EventSnapshotRejected + string(o.UID)) {
		r.count(metrics.SnapshotRejected)
		r.event(o.ManifestWorkReplicaSet, corev1.EventTypeWarning, workv1alpha1.EventSnapshotRejected, "Upgrade",
			"the upgrade continues without a snapshot of this object: "+err.Error())
	}
	return nil
}

// passed forgets the failures of an object whose writes succeeded.
func (r *Runner) passed(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failing, uid)
}

// stuck reports whether the writes of an object have failed for a long time. A conflict is a failure too, because a
// user who keeps changing the object could otherwise hold up all other objects.
func (r *Runner) stuck(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, failing := r.failing[uid]
	if !failing {
		r.failing[uid] = r.Clock.Now()
		return false
	}
	return r.Clock.Since(since) >= stuckAfter
}

func (r *Runner) count(result metrics.SnapshotResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted[result]++
	r.Metrics.Snapshot(result)
}

// once reports whether an event has not been emitted yet.
func (r *Runner) once(what string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said[what] {
		return false
	}
	r.said[what] = true
	return true
}
