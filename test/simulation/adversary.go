package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// adversaries are the agents of some clusters that use every right that OCM gives an agent on the works in its own namespace: they may
// update spec, labels, annotations, finalizers and status, but can neither create nor delete a work. Nothing that they write may reach
// another cluster.
type adversaries struct {
	clusters sets.Set[string]
	// ever are the clusters that were adversaries at any time. Their changes to a work that is being deleted stay there.
	ever sets.Set[string]
	// hold are the clusters that do not release a deleted work.
	hold sets.Set[string]
	// copies are works of the adversaries, as the hub once wrote them.
	copies []*workv1.ManifestWork
	// hashes are all hashes that ever named a revision.
	hashes []string
	forged int
	// recorded are the revisions with content that adversaries made up.
	recorded sets.Set[string]
	// strike is called after each write by the hub, and each time the hub reads a work live: adversaries act at any moment. If nil, they do
	// not act.
	strike func()
}

// choices decides what an adversary does. It returns a number from 0 to n-1.
type choices func(what string, n int) int

func pick[T any](choose choices, what string, from ...T) T { return from[choose(what, len(from))] }

// Corrupt makes the agents of some clusters adversaries. Each of their namespaces also has works of other owners, whose labels they can change
// as well: one of a ManifestWorkReplicaSet with another name, and one with the same name in another namespace.
func (w *World) Corrupt(clusters ...string) {
	w.adversaries.clusters.Insert(clusters...)
	w.adversaries.ever.Insert(clusters...)
	for _, cluster := range clusters {
		for _, other := range [][2]string{{"other", "default.other"}, {Name + "-other", "elsewhere." + Name}} {
			name, owner := other[0], other[1]
			stray := &workv1.ManifestWork{Spec: Template("stray")}
			stray.Namespace, stray.Name, stray.Labels = cluster, name, map[string]string{workv1alpha1.LabelReplicaSet: owner, workv1alpha1.LabelPlacement: "p1"}
			if _, err := w.API.Create(Works, from(stray)); err != nil {
				panic(err)
			}
		}
	}
	w.Tell("the agents of %v turn against the others", clusters)
}

// forgedPrefix is the prefix of the version of all content that an adversary made up.
const forgedPrefix = "forged by "

// corrupt reports whether a work is in the namespace of an adversary.
func (w *World) corrupt(work *workv1.ManifestWork) bool {
	return w.adversaries.clusters.Has(work.Namespace)
}

// owned reports whether a work has the owner label of the ManifestWorkReplicaSet.
func owned(work *workv1.ManifestWork) bool {
	return work.Labels[workv1alpha1.LabelReplicaSet] == workv1alpha1.OwnerLabelValue(Namespace, Name)
}

// noteCopy keeps data that adversaries can restore later: a work as the hub wrote it, and the hashes that were in use.
func (w *World) noteCopy(write string) {
	_, name, ok := strings.Cut(write, " work ")
	if !ok {
		if hash, made := strings.CutPrefix(write, "create revision "+Name+"-"); made && !slices.Contains(w.adversaries.hashes, hash) {
			w.adversaries.hashes = append(w.adversaries.hashes, hash)
		}
		return
	}
	cluster, name, _ := strings.Cut(name, "/")
	if !w.adversaries.clusters.Has(cluster) {
		return
	}
	if object, err := w.API.Get(Works, cluster, name); err == nil {
		w.adversaries.copies = append(w.adversaries.copies, as[workv1.ManifestWork](w.API, object))
	}
}

// Attack lets the agent of a cluster do one thing to one of the works in its namespace.
func (w *World) Attack(cluster string, choose choices) {
	objects := w.API.List(Works, cluster, nil)
	if len(objects) == 0 {
		return
	}
	work := as[workv1.ManifestWork](w.API, objects[choose("work", len(objects))])
	attacks := []func(*workv1.ManifestWork, choices) string{
		w.strip, w.relabelForeign, w.claimHash, w.claimHash, w.restoreCopy, w.forgeSpec, w.forgeSpec, w.forgeStatus, w.forgeStatus, w.forgeStatus,
		w.misdate, w.regroup, w.holdOn,
	}
	what := attacks[choose("attack", len(attacks))](work, choose)
	w.Tell("adversary %s/%s: %s", cluster, work.Name, what)
	w.agentsSaw = 0
}

func (w *World) remark(work *workv1.ManifestWork, labels, annotations map[string]any) {
	w.patch(Works, work.Namespace, work.Name, map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}}, false)
}

// strip removes marks of the hub from a work.
func (w *World) strip(work *workv1.ManifestWork, choose choices) string {
	hash, owner, placement := workv1alpha1.LabelControllerHash, workv1alpha1.LabelReplicaSet, workv1alpha1.LabelPlacement
	at, group, copied := workv1alpha1.AnnotationAppliedAt, workv1alpha1.AnnotationDecisionGroup, workv1alpha1.AnnotationCopiedLabels
	marks := pick(choose, "marks", []string{hash}, []string{at}, []string{hash, at, group, copied}, []string{owner}, []string{placement}, []string{hash, owner, at})
	labels, annotations := map[string]any{}, map[string]any{}
	for _, mark := range marks {
		if mark == hash || mark == owner || mark == placement {
			labels[mark] = nil
		} else {
			annotations[mark] = nil
		}
	}
	w.remark(work, labels, annotations)
	return fmt.Sprintf("strips %v", marks)
}

// relabelForeign assigns a work to another owner or placement, or a work of another owner to the ManifestWorkReplicaSet.
func (w *World) relabelForeign(work *workv1.ManifestWork, choose choices) string {
	labels := map[string]any{
		workv1alpha1.LabelReplicaSet: pick(choose, "owner", "default.web", "default.web", "default.web", "default.other", "default.gone", "nonsense"),
		workv1alpha1.LabelPlacement:  pick(choose, "placement", "p1", "p2", "gone"),
	}
	w.remark(work, labels, nil)
	return fmt.Sprintf("relabels to %v", labels)
}

// claimHash puts the hash of a revision, or an unknown hash, on a work.
func (w *World) claimHash(work *workv1.ManifestWork, choose choices) string {
	hash := pick(choose, "hash", append([]string{"forgedhash"}, w.adversaries.hashes...)...)
	at := w.Clock.Now().Add(pick(choose, "at", 0, -time.Hour, -time.Minute)).UTC().Format(time.RFC3339Nano)
	w.remark(work, map[string]any{workv1alpha1.LabelControllerHash: hash}, map[string]any{workv1alpha1.AnnotationAppliedAt: at})
	return fmt.Sprintf("claims %s since %s", hash, at)
}

// restoreCopy restores a work that the hub once wrote, with its labels and annotations.
func (w *World) restoreCopy(work *workv1.ManifestWork, choose choices) string {
	if len(w.adversaries.copies) == 0 {
		return "has no copy"
	}
	old := w.adversaries.copies[choose("copy", len(w.adversaries.copies))]
	w.patch(Works, work.Namespace, work.Name, map[string]any{
		"metadata": map[string]any{"labels": old.Labels, "annotations": old.Annotations}, "spec": from(&old.Spec).Object,
	}, false)
	return fmt.Sprintf("restores a copy with %s, %s", old.Labels[workv1alpha1.LabelControllerHash], Version(old))
}

// forgeSpec changes the content of a work: to made-up content, or to that of another revision.
func (w *World) forgeSpec(work *workv1.ManifestWork, choose choices) string {
	w.adversaries.forged++
	version := pick(choose, "content", fmt.Sprintf("%s%s, %d", forgedPrefix, work.Namespace, w.adversaries.forged), forgedPrefix+work.Namespace, "v1", "v2", "v3")
	template := Template(version)
	w.patch(Works, work.Namespace, work.Name, map[string]any{"spec": from(&template).Object}, false)
	return "edits to " + version
}

// forgeStatus reports an arbitrary status: of any generation, with any time, at any length.
func (w *World) forgeStatus(work *workv1.ManifestWork, choose choices) string {
	generation := work.Generation + pick(choose, "generation", int64(0), 0, 0, -1, 5)
	at := w.Clock.Now().Add(pick(choose, "since", 0, -time.Hour, 30*time.Second, 10*time.Minute, 20*365*24*time.Hour))
	message := pick(choose, "message", "", strings.Repeat("lies ", 6000))
	var conditions []metav1.Condition
	var told []string
	for _, conditionType := range []string{workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded, workv1.WorkComplete} {
		status := pick(choose, conditionType, metav1.ConditionTrue, metav1.ConditionFalse, "")
		if conditionType == workv1.WorkComplete && choose("completes", 3) > 0 {
			status = ""
		}
		if status == "" {
			continue
		}
		told = append(told, conditionType+"="+string(status))
		conditions = append(conditions, metav1.Condition{Type: conditionType, Status: status, Reason: "Forged", Message: message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(at).Rfc3339Copy()})
	}
	w.patch(Works, work.Namespace, work.Name, map[string]any{"status": map[string]any{"conditions": conditions}}, true)
	return fmt.Sprintf("reports %v of generation %d since %s", told, generation, at.UTC().Format(time.RFC3339))
}

// misdate changes the time at which the hub wrote a work.
func (w *World) misdate(work *workv1.ManifestWork, choose choices) string {
	at := pick(choose, "applied-at", "nonsense", "", w.Clock.Now().Add(-24*time.Hour).UTC().Format(time.RFC3339Nano),
		w.Clock.Now().Add(20*time.Second).UTC().Format(time.RFC3339Nano), w.Clock.Now().Add(20*365*24*time.Hour).UTC().Format(time.RFC3339Nano))
	w.remark(work, nil, map[string]any{workv1alpha1.AnnotationAppliedAt: at})
	return "sets applied-at to " + at
}

// regroup changes the decision group, the copied labels, and the fields that only the hub's cache has.
func (w *World) regroup(work *workv1.ManifestWork, choose choices) string {
	annotations := map[string]any{
		workv1alpha1.AnnotationDecisionGroup:                    pick(choose, "group", "0/g0", "1/g1", "-1/first", "9/last", "nonsense"),
		workv1alpha1.AnnotationCopiedLabels:                     pick(choose, "copied", "", "a,b,,"+workv1alpha1.LabelReplicaSet, workv1alpha1.LabelControllerHash),
		"cache.rollback.work.open-cluster-management.io/digest": pick(choose, "digest", "", "forged"),
	}
	w.remark(work, nil, annotations)
	return fmt.Sprintf("annotates %v", annotations)
}

// holdOn prevents deleted works from being removed, or releases them.
func (w *World) holdOn(work *workv1.ManifestWork, choose choices) string {
	if w.adversaries.hold.Has(work.Namespace) {
		w.adversaries.hold.Delete(work.Namespace)
		return "lets deleted works go"
	}
	w.adversaries.hold.Insert(work.Namespace)
	w.patch(Works, work.Namespace, work.Name, map[string]any{"metadata": map[string]any{"finalizers": pick(choose, "finalizers", []string{finalizer}, []string{finalizer, "another"})}}, false)
	return "lets no deleted work go"
}

// GiveBack restores the owner label of works. If an adversary has assigned all works of a cluster to others, and they occupy the names of
// the hub's own work, the hub retries a name every minute, and the world never becomes quiet.
func (w *World) GiveBack() {
	for _, cluster := range sets.List(w.adversaries.clusters) {
		for _, object := range w.API.List(Works, cluster, nil) {
			if strings.HasPrefix(object.GetName(), Name) && !strings.HasSuffix(object.GetName(), "other") {
				owner := workv1alpha1.OwnerLabelValue(Namespace, Name)
				w.patch(Works, cluster, object.GetName(), map[string]any{"metadata": map[string]any{"labels": map[string]any{workv1alpha1.LabelReplicaSet: owner}}}, false)
			}
		}
	}
}

// Repent makes the agents of all clusters honest. Their changes to labels and contents stay, except for works that they left without an
// owner: those would block a name forever.
func (w *World) Repent() {
	if w.adversaries.clusters.Len() == 0 {
		return
	}
	for _, object := range w.API.List(Works, "", nil) {
		work := as[workv1.ManifestWork](w.API, object)
		if !w.corrupt(work) {
			continue
		}
		w.patch(Works, work.Namespace, work.Name, map[string]any{"status": nil}, true)
		delete(w.agents, work.UID)
		patch := map[string]any{"finalizers": []string{finalizer}}
		if !strings.HasSuffix(work.Name, "other") {
			patch["labels"] = map[string]any{workv1alpha1.LabelReplicaSet: workv1alpha1.OwnerLabelValue(Namespace, Name)}
		}
		w.patch(Works, work.Namespace, work.Name, map[string]any{"metadata": patch}, false)
	}
	w.Tell("the agents of %v repent", sets.List(w.adversaries.clusters))
	w.adversaries.clusters, w.adversaries.hold = sets.New[string](), sets.New[string]()
	w.agentsSaw = 0
}
