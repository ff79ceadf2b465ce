package simulation

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Pause sets spec.paused.
func (w *World) Pause(paused bool) {
	if object := w.Object(); object == nil || object.Spec.Paused == paused {
		return
	}
	w.patch(ReplicaSets, Namespace, Name, map[string]any{"spec": map[string]any{"paused": paused}}, false)
	w.Tell("user: sets spec.paused to %v", paused)
}

// Retry clears status.abortedTime.
func (w *World) Retry() {
	w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"abortedTime": nil}}, true)
	w.Tell("user: clears status.abortedTime")
}

// RetryByAnnotation requests a retry of the clusters that failed before a given time.
func (w *World) RetryByAnnotation(at time.Time) {
	w.annotateRetry(at.UTC().Format(time.RFC3339))
	w.clocks.retriedAt, w.clocks.retryAwaited = w.Clock.Now(), at.After(w.hubNow())
	clear(w.facts)
}

func (w *World) annotateRetry(value any) {
	w.patch(ReplicaSets, Namespace, Name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{workv1alpha1.AnnotationRetry: value}}}, false)
	w.Tell("user: sets the annotation retry to %v", value)
}

// decided is the update revision that a status shows, and whether its rollout is aborted.
type decided struct {
	update  string
	aborted bool
}

func decidedIn(object *workv1alpha1.ManifestWorkReplicaSet) decided {
	return decided{object.Status.UpdateRevision, object.Status.AbortedTime != nil}
}

// checkPaused checks P9 at each write. From the first pass whose caches show spec.paused, no work is written, no abort is decided, and an
// existing update revision stays. The caches show a user's edits before the hub writes the status.
func (w *World) checkPaused(write string) error {
	before := w.Hub.decided
	if object := w.Object(); object != nil && strings.HasSuffix(write, "/status") {
		w.Hub.decided = decidedIn(object)
	}
	cached, exists, err := w.Hub.stores.ReplicaSets.GetByKey(Namespace + "/" + Name)
	if err != nil || !exists {
		return err
	}
	seen := cached.(*replicaset.Object)
	if !seen.Spec.Paused || !seen.DeletionTimestamp.IsZero() {
		return nil
	}
	switch {
	case w.sentAgain(write):
		return nil
	case strings.Contains(write, " work "):
		return fmt.Errorf("P9: paused, and %s", write)
	case strings.HasSuffix(write, "/status") && !w.API.OlderCRD:
		return w.checkPausedStatus(seen, before)
	}
	return nil
}

// sentAgain reports whether a write sends the version that the agent of the cluster last applied and has since lost.
func (w *World) sentAgain(write string) bool {
	created, ok := strings.CutPrefix(write, "create work ")
	if !ok || w.Network == nil {
		return false
	}
	cluster, name, _ := strings.Cut(created, "/")
	return w.Network.agent(cluster).applied == Version(w.work(cluster, name))
}

// checkPausedStatus checks a status that the hub wrote during a pause, given the object that the hub had seen and what it had decided before.
func (w *World) checkPausedStatus(seen *replicaset.Object, before decided) error {
	now := w.Object()
	if now == nil || seen.Status.UpdateRevision == "" {
		return nil
	}
	if decidedIn(now) == before {
		return nil // The process remembers its decisions, even if no revision holds them any more.
	}
	copied := ledger.Read(&ledger.Places{Owner: now.UID, History: w.history()}).Ledger
	if copied.Update.Hash == now.Status.UpdateRevision && (copied.Abort != nil || now.Status.AbortedTime == nil) {
		return nil // The hub decided this before, or a user retries: a status from a backup is corrected at once.
	}
	if now.Status.UpdateRevision != seen.Status.UpdateRevision && w.hasRevision(seen.Status.UpdateRevision) {
		return fmt.Errorf("R23: paused, and the update revision becomes %s", now.Status.UpdateRevision)
	}
	if seen.Status.AbortedTime == nil && now.Status.AbortedTime != nil {
		return fmt.Errorf("R24: paused, and the hub aborts")
	}
	return nil
}

// checkCondition checks that the condition Paused exists if and only if spec.paused is true.
func (w *World) checkCondition() error {
	object := w.Object()
	if object == nil || !object.DeletionTimestamp.IsZero() {
		return nil
	}
	if told := meta.IsStatusConditionTrue(object.Status.Conditions, workv1alpha1.ConditionPaused); told != object.Spec.Paused {
		return fmt.Errorf("quiet: spec.paused is %v, and the condition Paused is %v", object.Spec.Paused, told)
	}
	return nil
}

// templateVersion returns the version of the template in the spec.
func templateVersion(object *workv1alpha1.ManifestWorkReplicaSet) string {
	return Version(&workv1.ManifestWork{Spec: object.Spec.ManifestWorkTemplate})
}

// templateWaits reports whether the template in the spec waits for the end of a pause.
func (w *World) templateWaits() bool {
	object := w.Object()
	if object == nil || !object.Spec.Paused || object.Status.UpdateRevision == "" {
		return false
	}
	if held, known := w.contents()[object.Status.UpdateRevision]; known {
		return held != templateVersion(object)
	}
	digest, err := revision.DigestOf(&object.Spec.ManifestWorkTemplate)
	return err != nil || w.ledger().Update.Digest != digest // A user deleted the revision. The ledger has its digest.
}

// awaited returns the hashes of the revisions that are in use after a pause: the template's revision, the newest one, and those with the
// content of works without a hash.
func (w *World) awaited() sets.Set[string] {
	hashes := sets.New[string]()
	object := w.Object()
	if object == nil || !object.Spec.Paused {
		return hashes
	}
	revisions, contents := w.Revisions(), w.contents()
	wanted := sets.New(templateVersion(object))
	for _, work := range w.Works() {
		if work.Labels[workv1alpha1.LabelControllerHash] == "" {
			wanted.Insert(Version(work))
		}
	}
	for i, rev := range revisions {
		hash := rev.Labels[workv1alpha1.LabelControllerHash]
		if i == len(revisions)-1 || wanted.Has(contents[hash]) {
			hashes.Insert(hash)
		}
	}
	return hashes
}
