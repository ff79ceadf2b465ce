package preflight

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Severity is the severity of a finding.
type Severity string

// The severities, most severe first.
const (
	// Error means that the change deletes workloads, or rolls something out.
	Error Severity = "Error"
	// Warning means that the change removes a guarantee.
	Warning Severity = "Warning"
)

// Reason is the kind of a finding.
type Reason string

// The reasons.
const (
	// SharedName means that the works of two owners would share one name.
	SharedName Reason = "SharedName"
	// AlternativeName means that works are not named after their owner.
	AlternativeName Reason = "AlternativeName"
	// LongName means that the owner label is too long.
	LongName Reason = "LongName"
	// Deleting means that the object is being deleted, and that its workloads must stay.
	Deleting Reason = "Deleting"
	// Paused means that the object is paused.
	Paused Reason = "Paused"
	// Aborted means that the rollout was aborted.
	Aborted Reason = "Aborted"
	// RollingOut means that a rollout is in progress, or stalled.
	RollingOut Reason = "RollingOut"
	// Invalid means that the spec can't be rolled out.
	Invalid Reason = "Invalid"
	// KeptObjects means that works keep objects of an older revision.
	KeptObjects Reason = "KeptObjects"
	// IgnoredField means that the spec has a field that OCM's hub does not know.
	IgnoredField Reason = "IgnoredField"
)

// Finding is an issue that must be resolved before the change.
type Finding struct {
	Severity Severity `json:"severity"`
	Reason   Reason   `json:"reason"`
	// Object is the ManifestWorkReplicaSet, as "namespace/name".
	Object string `json:"object"`
	// What is the effect of the change, and Remedy is what to do before it.
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// Objects are the objects that Leaving checks.
type Objects struct {
	ReplicaSets []workv1alpha1.ManifestWorkReplicaSet
	// Works are the ManifestWorks that have an owner label, without their content.
	Works []metav1.ObjectMeta
	// Selected are the clusters that each Placement selects, by "namespace/name".
	Selected map[string][]string
}

// Leaving returns the issues to resolve before OCM's own hub takes over: everything that OCM's hub would delete, roll
// out or ignore. They are sorted by severity, most severe first, and then by object.
func Leaving(objects *Objects) []Finding {
	v := newView(objects)
	var findings []Finding
	for i := range v.owners {
		for _, check := range checks {
			findings = append(findings, check(v, &v.owners[i])...)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Object, b.Object)) // Error comes before Warning.
	})
	return findings
}

var checks = []func(*view, *owner) []Finding{
	sharedNames, alternativeNames, longName, deleting, paused, aborted, rollingOut, ignoredRefs, keptObjects, ignoredFields,
}

// view is the objects with their relations.
type view struct {
	owners []owner
	// byName are the owners that have a name, in all namespaces.
	byName map[string][]*owner
}

// owner is a ManifestWorkReplicaSet and its works.
type owner struct {
	*workv1alpha1.ManifestWorkReplicaSet
	works []metav1.ObjectMeta
	// clusters are the clusters that have a work, or will get one.
	clusters map[string]bool
}

func newView(objects *Objects) *view {
	works := map[string][]metav1.ObjectMeta{}
	for _, work := range objects.Works {
		namespace, name, _ := workv1alpha1.OwnerOf(&work)
		works[namespace+"/"+name] = append(works[namespace+"/"+name], work)
	}
	v := &view{byName: map[string][]*owner{}}
	for i := range objects.ReplicaSets {
		object := &objects.ReplicaSets[i]
		o := owner{
			ManifestWorkReplicaSet: object, clusters: map[string]bool{},
			works: works[object.Namespace+"/"+object.Name],
		}
		for _, work := range o.works {
			o.clusters[work.Namespace] = true
		}
		for _, ref := range object.Spec.PlacementRefs {
			for _, cluster := range objects.Selected[object.Namespace+"/"+ref.Name] {
				o.clusters[cluster] = true
			}
		}
		v.owners = append(v.owners, o)
	}
	for i := range v.owners {
		v.byName[v.owners[i].Name] = append(v.byName[v.owners[i].Name], &v.owners[i])
	}
	return v
}

func (o *owner) finds(severity Severity, reason Reason, what, remedy string) []Finding {
	return []Finding{{Severity: severity, Reason: reason, Object: o.Namespace + "/" + o.Name, What: what, Remedy: remedy}}
}

// kubectl returns the start of a command for the owner.
func (o *owner) kubectl(verb string) string {
	return plain.Command("kubectl", "-n", o.Namespace, verb, "mwrs", o.Name)
}

// named returns the clusters of the works that a function selects, as text for a message; empty for none.
func (o *owner) named(picks func(*metav1.ObjectMeta) bool) string {
	var clusters []string
	for i := range o.works {
		if picks(&o.works[i]) {
			clusters = append(clusters, o.works[i].Namespace)
		}
	}
	if len(clusters) == 0 {
		return ""
	}
	slices.Sort(clusters)
	return rollout.Names(slices.Compact(clusters))
}

// sharedNames finds owners with the same name and clusters in common. Each pair is reported once.
func sharedNames(v *view, o *owner) (findings []Finding) {
	for _, other := range v.byName[o.Name] {
		if other.Namespace <= o.Namespace {
			continue
		}
		var shared []string
		for cluster := range o.clusters {
			if other.clusters[cluster] {
				shared = append(shared, cluster)
			}
		}
		if len(shared) == 0 {
			continue
		}
		slices.Sort(shared)
		findings = append(findings, o.finds(Error, SharedName, fmt.Sprintf(
			"it has the name of ManifestWorkReplicaSet %s/%s, and both are on %s: OCM's hub writes both under the name %s, "+
				"and the workloads of one of them are deleted there", other.Namespace, other.Name, rollout.Names(shared), o.Name),
			"set preserveResourcesOnDeletion: true on one of the two, delete it, and recreate it under another name; or have their "+
				"Placements select different clusters")...)
	}
	return findings
}

// alternativeNames finds works that OCM's hub would not find, because another work had the owner's name when they were created.
func alternativeNames(_ *view, o *owner) []Finding {
	alternatives := work.Names(o)[1:]
	clusters := o.named(func(work *metav1.ObjectMeta) bool { return slices.Contains(alternatives, work.Name) })
	if clusters == "" {
		return nil
	}
	return o.finds(Error, AlternativeName, fmt.Sprintf(
		"its ManifestWork is not named %s on %s, because another owner's ManifestWork has that name: OCM's hub takes over that ManifestWork, "+
			"and deletes the objects that were deployed by it", o.Name, clusters),
		"set preserveResourcesOnDeletion: true, delete this ManifestWorkReplicaSet, and recreate it under a name that no ManifestWork on "+
			"those clusters has")
}

// longName finds works that OCM's hub would not find, because the value of the old owner label is too long.
func longName(_ *view, o *owner) []Finding {
	if len(o.works) == 0 || len(workv1alpha1.OwnerLabelValue(o.Namespace, o.Name)) <= workv1alpha1.MaxOwnerLabelLength {
		return nil
	}
	return o.finds(Error, LongName,
		"OCM's hub, up to 1.3.1, does not find its works: it rolls nothing out, and a deletion leaves them on the hub",
		"set preserveResourcesOnDeletion: true, delete this ManifestWorkReplicaSet, and recreate it under a shorter name")
}

// deleting finds objects whose deletion waits for agents to release the workloads.
func deleting(_ *view, o *owner) []Finding {
	decided, err := ledger.Decode(o.Status.Ledger, o.UID)
	if err != nil {
		decided = &ledger.Ledger{}
	}
	if o.DeletionTimestamp.IsZero() || !decided.Preserves(o.Spec.PreserveResourcesOnDeletion) {
		return nil
	}
	return o.finds(Error, Deleting, "it is being deleted, and its workloads must stay: OCM's hub deletes them",
		"wait until it is gone; the condition Deleting names the clusters that it waits for")
}

func paused(_ *view, o *owner) []Finding {
	if !o.Spec.Paused {
		return nil
	}
	return o.finds(Error, Paused, "it is paused: OCM's hub ignores spec.paused, and rolls out the template that is held back",
		"put the template that the clusters have into the spec, and set spec.paused to false; "+
			"the condition Paused counts the changes that are held back")
}

// aborted reports whether the rollout was aborted.
func (o *owner) aborted() bool {
	return o.Status.AbortedTime != nil
}

func aborted(_ *view, o *owner) []Finding {
	if !o.aborted() {
		return nil
	}
	stable := "a good template"
	if o.Status.CurrentRevision != "" {
		stable = "the template of revision " + o.Status.CurrentRevision
	}
	what := "its rollout was aborted: OCM's hub rolls the template out to every cluster"
	if o.Status.UpdateRevision != "" {
		what = fmt.Sprintf("the rollout of revision %s was aborted: OCM's hub rolls it out to every cluster", o.Status.UpdateRevision)
	}
	return o.finds(Error, Aborted, what,
		"put "+stable+" into the spec, and wait until the rollout is complete")
}

// rollingOut finds rollouts that are not complete. A rollout that was aborted or is paused is reported under that reason instead.
func rollingOut(_ *view, o *owner) []Finding {
	if !o.DeletionTimestamp.IsZero() || o.Spec.Paused || o.aborted() {
		return nil
	}
	const unknown = "OCM's hub does not know which clusters failed, nor which revision is the stable one"
	switch state := o.Status.State; {
	case state == workv1alpha1.StateInvalid:
		return o.finds(Warning, Invalid, "this hub can't roll out its spec: OCM's hub may do so", "correct the field that the conditions name")
	case state == "" && len(o.Status.Conditions) > 0:
		return o.finds(Error, RollingOut, "the installed CRD drops status.state and status.ledger, and the rollout may have been aborted: "+
			"OCM's hub rolls the template out to every cluster", "apply the CRD that came with this hub, and check again")
	case state == "" || o.Status.ObservedGeneration != o.Generation:
		return o.finds(Warning, RollingOut, "this hub has not observed the newest spec: "+unknown,
			"wait until status.observedGeneration is metadata.generation")
	case state.IsStalled():
		return o.finds(Error, RollingOut, "its rollout is stalled: OCM's hub continues it, and "+unknown[len("OCM's hub "):],
			"repair the clusters that the condition Progressing names, or put the stable template back into the spec, "+
				"and wait until the rollout is complete")
	case state != workv1alpha1.StateComplete:
		return o.finds(Warning, RollingOut, "its rollout is in progress: "+unknown, "wait until it is complete, see "+o.kubectl("get"))
	}
	return nil
}

// ignoredRefs finds objects with more placementRefs than this hub reads.
func ignoredRefs(_ *view, o *owner) []Finding {
	if len(o.Spec.PlacementRefs) <= workv1alpha1.MaxPlacementRefs {
		return nil
	}
	return o.finds(Error, RollingOut,
		fmt.Sprintf("this hub ignores all placementRefs after the first %d: OCM's hub also rolls out to their clusters",
			workv1alpha1.MaxPlacementRefs),
		"remove the ignored placementRefs, or select the clusters with fewer Placements")
}

func keptObjects(_ *view, o *owner) []Finding {
	clusters := o.named(func(work *metav1.ObjectMeta) bool { return work.Annotations[workv1alpha1.AnnotationKeptRevision] != "" })
	if clusters == "" {
		return nil
	}
	return o.finds(Error, KeptObjects,
		"the ManifestWorks of "+clusters+" keep objects of an older revision until the new one is available: OCM's hub deletes them",
		"wait until the rollout is complete")
}

// ignoredFields finds the fields of the spec that OCM's hub ignores. The fields are gone for good when the object is next written under
// OCM's CRD.
func ignoredFields(_ *view, o *owner) (findings []Finding) {
	spec := &o.Spec
	ignored := func(set bool, field, what, remedy string) {
		if set {
			findings = append(findings, o.finds(Warning, IgnoredField, "OCM's hub ignores and loses "+field+": "+what, remedy)...)
		}
	}
	ignored(o.DeletionTimestamp.IsZero() && ptr.Deref(spec.PreserveResourcesOnDeletion, false), "spec.preserveResourcesOnDeletion",
		"a deletion deletes the workloads", "on OCM's hub, set deleteOption.propagationPolicy of the template to Orphan before you delete it")
	ignored(spec.PruneStrategy == workv1alpha1.PruneWhenAvailable, "spec.pruneStrategy",
		"objects that a new template drops are deleted at once", "add the new objects in one rollout, and drop the old ones in the next")
	ignored(spec.RollbackWindow != nil, "spec.rollbackWindow", "an undo follows the rollout strategies", "remove the field")
	ignored(spec.AbortedRevisionPolicy == workv1alpha1.HoldAborted, "spec.abortedRevisionPolicy",
		"a template whose rollout was aborted is rolled out again", "keep that template out of Git")
	ignored(spec.SkipsUnavailable(), "unavailableClusters", "a rollout waits for unavailable clusters",
		"let their Placement drop unavailable clusters")
	ignored(spec.ListsGroups(), "groups", "a rollout does not begin with these groups, and does not wait for approvals or a bakeTime",
		"pause, and roll out by hand, one Placement at a time")
	gates := slices.ContainsFunc(spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool {
		return len(ref.RolloutStrategy.SuccessGates) > 0
	})
	ignored(gates, "successGates", "clusters succeed without them", "watch the conditions, and pause between clusters by hand")
	aborts := slices.ContainsFunc(spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool {
		return ref.RolloutStrategy.FailureStrategy != ""
	})
	ignored(aborts, "failureStrategy", "a failed rollout is not aborted", "watch rollouts on OCM's hub, and put the old template back by hand")
	return findings
}
