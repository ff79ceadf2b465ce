package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"
)

// object is an object on a managed cluster.
type object struct {
	uid int
	// owners are the AppliedManifestWorks that own it, by the name of their ManifestWork.
	owners sets.Set[string]
}

// objects are the objects of all clusters, by cluster and by the name in the manifest.
type objects struct {
	there map[string]map[string]*object
	made  int
}

// of returns the object of a cluster for a manifest; nil for none.
func (o *objects) of(cluster, name string) *object { return o.there[cluster][name] }

func (o *objects) create(cluster, name string) *object {
	if o.there == nil {
		o.there = map[string]map[string]*object{}
	}
	if o.there[cluster] == nil {
		o.there[cluster] = map[string]*object{}
	}
	o.made++
	o.there[cluster][name] = &object{uid: o.made, owners: sets.New[string]()}
	return o.there[cluster][name]
}

// uids returns the objects of all clusters, with their UIDs.
func (o *objects) uids() map[string]int {
	uids := map[string]int{}
	for cluster, there := range o.there {
		for name, object := range there {
			uids[cluster+" "+name] = object.uid
		}
	}
	return uids
}

// owned returns the objects of a cluster that the agent would delete together with a ManifestWork.
func (o *objects) owned(cluster, work string) []string {
	var owned []string
	for _, name := range slices.Sorted(maps.Keys(o.there[cluster])) {
		if o.there[cluster][name].owners.Has(work) {
			owned = append(owned, name)
		}
	}
	return owned
}

// apply applies each manifest of a work as its agent does, and reports the result in a status. An agent releases an object only here.
func (w *World) apply(work *workv1.ManifestWork, outcome Outcome, status *workv1.ManifestWorkStatus) {
	manifests := make([]workv1.ManifestCondition, max(len(work.Spec.Workload.Manifests), len(status.ResourceStatus.Manifests)))
	copy(manifests, status.ResourceStatus.Manifests)
	all := true
	for i := range manifests {
		manifests[i].ResourceMeta.Ordinal = int32(i)
	}
	for i := range work.Spec.Workload.Manifests {
		before := work.Status.ResourceStatus.Manifests
		m := &manifests[i]
		m.ResourceMeta = metaOf(work, i)
		done := i < len(before) && meta.IsStatusConditionTrue(before[i].Conditions, workv1.ManifestComplete)
		ok := done || w.applyOne(work, &m.ResourceMeta, outcome)
		all = all && ok
		setCondition(&m.Conditions, workv1.ManifestApplied, ok, work.Generation, "denied by a policy")
		setCondition(&m.Conditions, workv1.ManifestAvailable, true, 0, "")
	}
	status.ResourceStatus.Manifests = manifests
	setCondition(&status.Conditions, workv1.WorkApplied, all, work.Generation, "")
}

func (w *World) applyOne(work *workv1.ManifestWork, of *workv1.ManifestResourceMeta, outcome Outcome) bool {
	name := of.Resource + " " + of.Name
	orphan := orphans(work)
	found := w.objects.of(work.Namespace, name)
	switch {
	case found == nil:
		found = w.objects.create(work.Namespace, name)
	case outcome == Clings && orphan && found.owners.Has(work.Name):
		return false
	}
	if orphan {
		found.owners.Delete(work.Name)
	} else {
		found.owners.Insert(work.Name)
	}
	return true
}

func orphans(work *workv1.ManifestWork) bool {
	return work.Spec.DeleteOption != nil && work.Spec.DeleteOption.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan
}

// metaOf returns the metadata that an agent reports about a manifest.
func metaOf(work *workv1.ManifestWork, i int) workv1.ManifestResourceMeta {
	var manifest metav1.PartialObjectMetadata
	if err := json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, &manifest); err != nil {
		return workv1.ManifestResourceMeta{Ordinal: int32(i)}
	}
	return workv1.ManifestResourceMeta{
		Ordinal: int32(i), Version: manifest.APIVersion, Kind: manifest.Kind, Resource: strings.ToLower(manifest.Kind) + "s",
		Namespace: manifest.Namespace, Name: manifest.Name,
	}
}

func setCondition(conditions *[]metav1.Condition, conditionType string, value bool, generation int64, message string) {
	c := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "Simulated", ObservedGeneration: generation}
	if !value {
		c.Status, c.Message = metav1.ConditionFalse, message
	}
	if known := meta.FindStatusCondition(*conditions, conditionType); known != nil {
		c.LastTransitionTime, c.Reason = known.LastTransitionTime, known.Reason
	}
	meta.SetStatusCondition(conditions, c)
}

// cleanUp does what the agent does when a work is deleted: it deletes the objects that only this agent owns.
func (w *World) cleanUp(work *workv1.ManifestWork) {
	for _, name := range w.objects.owned(work.Namespace, work.Name) {
		found := w.objects.of(work.Namespace, name)
		found.owners.Delete(work.Name)
		if found.owners.Len() == 0 {
			delete(w.objects.there[work.Namespace], name)
			delete(w.kept, work.Namespace+" "+name)
		}
	}
}

// forgetCompletion does what the agent does with a work that ran to completion and lost its condition rules: it removes the conditions. It
// applies the work only when the spec changes again.
func (w *World) forgetCompletion(work *workv1.ManifestWork, outcome Outcome) {
	a := w.agents[work.UID]
	if a == nil || hasRules(work) {
		return
	}
	if outcome == Completes {
		outcome = Succeeds
	}
	status := work.Status.DeepCopy()
	meta.RemoveStatusCondition(&status.Conditions, workv1.WorkComplete)
	for i := range status.ResourceStatus.Manifests {
		meta.RemoveStatusCondition(&status.ResourceStatus.Manifests[i].Conditions, workv1.ManifestComplete)
	}
	if _, sent := w.saveStatus(work, status); sent {
		*a = agent{generation: work.Generation, outcome: outcome, reports: a.reports, reached: a.reached, idle: true}
	}
}

// hasRules reports whether a work has the rules with which its agent recognizes completion.
func hasRules(work *workv1.ManifestWork) bool {
	return slices.ContainsFunc(work.Spec.ManifestConfigs, func(option workv1.ManifestConfigOption) bool { return len(option.ConditionRules) > 0 })
}

// checkPreserved checks P11 when the hub deletes a work: an agent that still owns an object would delete the object too. The check uses the
// state of the owner that the hub could know.
func (w *World) checkPreserved(name string) error {
	owner, preserves := w.Hub.preserves()
	cluster, work, _ := strings.Cut(name, "/")
	if !preserves || w.adversaries.ever.Has(cluster) {
		return nil
	}
	if w.Network != nil {
		return fmt.Errorf("P11: %s preserves its workloads, which it can't over a broker, and the work %s is deleted", owner, name)
	}
	if owned := w.objects.owned(cluster, work); len(owned) > 0 {
		return fmt.Errorf("P11: %s preserves its workloads, and the work %s is deleted while its agent owns %v", owner, name, owned)
	}
	for what, object := range w.objects.there[cluster] {
		w.kept[cluster+" "+what] = object.uid
	}
	return nil
}

// checkKept checks P11 later: preserved objects still exist and have not changed, even after their owner was created again. Objects that a
// deletion was allowed to delete no longer count.
func (w *World) checkKept() error {
	there := w.objects.uids()
	for what, uid := range w.kept {
		if there[what] != uid {
			return fmt.Errorf("P11: %s was preserved, and is not the same object any more", what)
		}
	}
	return nil
}
