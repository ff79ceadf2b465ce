package simulation

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// checkForged checks that content that an adversary made up is on no other cluster. It may be in the history only if this hub knew nothing:
// at first sight, or if another hub may have written all works. There it is older than all revisions that this hub rolled out.
func (w *World) checkForged() error {
	for _, work := range w.Works() {
		if version := Version(work); !w.corrupt(work) && strings.HasPrefix(version, forgedPrefix) && w.adversaries.clusters.Len() > 0 {
			return fmt.Errorf("cluster %s has what is %s", work.Namespace, version)
		}
	}
	for _, rev := range w.Revisions() {
		decoded := revision.Decode(rev)
		if decoded.Err != nil || !strings.HasPrefix(Version(&workv1.ManifestWork{Spec: *decoded.Template}), forgedPrefix) {
			continue
		}
		if decoded.Recorded.IsZero() || (!w.adversaries.recorded.Has(rev.Name) && !w.knowsNothing(rev)) {
			return fmt.Errorf("revision %s holds what an adversary made up", rev.Name)
		}
		w.adversaries.recorded.Insert(rev.Name)
	}
	return nil
}

// knowsNothing reports whether the hub knew only the works when a revision was recorded: there was no status and no revision of its own, or
// every work of the selected clusters, on at least two clusters, was an adversary's.
func (w *World) knowsNothing(recorded *appsv1.ControllerRevision) bool {
	for _, rev := range w.Revisions() {
		if decoded := revision.Decode(rev); rev.Revision <= recorded.Revision && decoded.Recorded.IsZero() && rev.Name != recorded.Name {
			return false // The recorded revision should have a lower number.
		}
	}
	if object := w.seen(); object == nil || object.Status.UpdateRevision == "" {
		return true
	}
	lying := sets.New[string]()
	for _, cached := range w.Hub.stores.Works.List() {
		work := cached.(*workv1.ManifestWork)
		switch {
		case !owned(work) || !w.seenSelected().Has(work.Namespace):
		case !w.corrupt(work):
			return false
		default:
			lying.Insert(work.Namespace)
		}
	}
	return lying.Len() > 1
}

// checkPruned checks that no more revisions are pruned than the limit requires, according to the status in the hub's cache, or to the one
// that the same pass wrote just before.
func (w *World) checkPruned(write string) error {
	object := w.seen()
	if object == nil {
		return nil
	}
	others, limit := w.countOthers(object), historyLimit(object)
	if written := w.Object(); written != nil {
		others = max(others, w.countOthers(written))
	}
	if others < limit {
		return fmt.Errorf("%s: %d are left beside the live ones, the limit is %d", write, others, limit)
	}
	for _, work := range w.Works() {
		hash := work.Labels[workv1alpha1.LabelControllerHash]
		if strings.HasSuffix(write, "-"+hash) && w.unknowable(work) {
			w.unrecorded.Insert(hash)
		}
	}
	return nil
}

// countOthers counts the revisions that are not live, according to the status of an object and the works in the hub's cache.
func (w *World) countOthers(object *workv1alpha1.ManifestWorkReplicaSet) int {
	live := sets.New(object.Status.CurrentRevision, object.Status.UpdateRevision)
	for _, cached := range w.Hub.stores.Works.List() {
		if work := cached.(*workv1.ManifestWork); owned(work) {
			live.Insert(work.Labels[workv1alpha1.LabelControllerHash])
		}
	}
	others := 0
	for _, rev := range w.Revisions() {
		if !live.Has(rev.Labels[workv1alpha1.LabelControllerHash]) {
			others++
		}
	}
	return others
}

// liesSuffice reports whether a placementRef does not tolerate the failed clusters together with the adversaries. An adversary counts if
// the placementRef selects it, or if a work with the name of the ManifestWorkReplicaSet has the label of the placementRef.
func (w *World) liesSuffice(owner *workv1alpha1.ManifestWorkReplicaSet, strategy workv1alpha1.FailureStrategy) bool {
	for i := range owner.Spec.PlacementRefs {
		ref := &owner.Spec.PlacementRefs[i]
		if ref.RolloutStrategy.FailureStrategy != strategy {
			continue
		}
		selected := decidedFor(ref.Name, w.seenDecisions())
		for cluster := range selected {
			if w.selectsBefore(owner, ref.Name, cluster) {
				selected.Delete(cluster)
			}
		}
		lying, failed := w.adversaries.clusters.Intersection(selected), sets.New[string]()
		for _, work := range w.Works() {
			switch {
			case w.corrupt(work):
				if work.Name == Name && work.Labels[workv1alpha1.LabelPlacement] == ref.Name {
					lying.Insert(work.Namespace)
				}
			case owned(work) && w.failedFor(owner, work, ref.Name):
				failed.Insert(work.Namespace)
			}
		}
		if lying.Len() > 0 && lying.Union(failed).Len() > failuresAllowed(ref, selected.Union(lying).Len()) {
			return true
		}
	}
	return false
}

// failuresAllowed returns how many failures a placementRef tolerates; 0 if that depends on the decision group.
func failuresAllowed(ref *workv1alpha1.LocalPlacementReference, clusters int) int {
	var allowed intstr.IntOrString
	switch s := ref.RolloutStrategy; s.Type {
	case clusterv1alpha1.Progressive:
		if len(s.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups) == 0 {
			allowed = s.Progressive.MaxFailures
		}
	case clusterv1alpha1.All:
		allowed = s.All.MaxFailures
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&allowed, clusters, true)
	if err != nil {
		return 0
	}
	return n
}
