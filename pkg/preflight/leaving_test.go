package preflight_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/preflight"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

type object = workv1alpha1.ManifestWorkReplicaSet

// complete returns an object with a complete rollout and one Placement, p1.
func complete(namespace string, changes ...func(*object)) object {
	o := object{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: "u-1", Generation: 3}}
	o.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "p1"}}
	o.Status = workv1alpha1.ManifestWorkReplicaSetStatus{
		ObservedGeneration: 3, CurrentRevision: "aaa", UpdateRevision: "aaa", State: workv1alpha1.StateComplete,
	}
	for _, change := range changes {
		change(&o)
	}
	return o
}

func newWork(namespace, cluster string, changes ...func(*metav1.ObjectMeta)) metav1.ObjectMeta {
	w := metav1.ObjectMeta{Namespace: cluster, Name: "web", Labels: map[string]string{workv1alpha1.LabelReplicaSet: namespace + ".web"}}
	for _, change := range changes {
		change(&w)
	}
	return w
}

func spec(change func(*workv1alpha1.ManifestWorkReplicaSetSpec)) func(*object) {
	return func(o *object) { change(&o.Spec) }
}

func state(state workv1alpha1.State) func(*object) {
	return func(o *object) { o.Status.State = state }
}

// Each row is one case in which OCM's hub would delete, roll out or ignore something.
func TestLeaving(t *testing.T) {
	alternative := work.Names(&metav1.ObjectMeta{Namespace: "team-b", Name: "web"})[1]
	named := func(name string) func(*metav1.ObjectMeta) { return func(w *metav1.ObjectMeta) { w.Name = name } }
	kept := func(w *metav1.ObjectMeta) {
		w.Annotations = map[string]string{workv1alpha1.AnnotationKeptRevision: "aaa"}
	}
	paused := spec(func(s *workv1alpha1.ManifestWorkReplicaSetSpec) { s.Paused = true })
	preserve := spec(func(s *workv1alpha1.ManifestWorkReplicaSetSpec) { s.PreserveResourcesOnDeletion = ptr.To(true) })
	aborted := func(o *object) {
		o.Status.AbortedTime, o.Status.UpdateRevision = &metav1.Time{}, "bbb"
		state(workv1alpha1.StateAborted)(o)
	}
	long := strings.Repeat("n", 63)
	for name, test := range map[string]struct {
		objects preflight.Objects
		want    []string
		// says is text from the first finding, and remedy is text from its remedy.
		says, remedy string
	}{
		"nothing": {objects: preflight.Objects{
			ReplicaSets: []object{complete("team-a")}, Works: []metav1.ObjectMeta{newWork("team-a", "c1"), newWork("team-a", "c2")},
		}},
		"two of one name that share a cluster": {
			objects: preflight.Objects{
				ReplicaSets: []object{complete("team-b"), complete("team-a"), complete("team-c")},
				Works:       []metav1.ObjectMeta{newWork("team-a", "c1"), newWork("team-a", "c2"), newWork("team-b", "c2", named(alternative)), newWork("team-c", "c3")},
			},
			want:   []string{"Error SharedName team-a/web", "Error AlternativeName team-b/web"},
			says:   "it has the name of ManifestWorkReplicaSet team-b/web, and both are on 1 cluster (c2): OCM's hub writes both under the name web",
			remedy: "recreate it under another name",
		},
		"two of one name that get a cluster in common": {
			objects: preflight.Objects{
				ReplicaSets: []object{complete("team-a"), complete("team-b")},
				Works:       []metav1.ObjectMeta{newWork("team-a", "c1")}, Selected: map[string][]string{"team-b/p1": {"c1"}, "team-b/p2": {"c2"}},
			},
			want: []string{"Error SharedName team-a/web"}, says: "1 cluster (c1)",
		},
		"a name that is too long": {
			objects: preflight.Objects{ReplicaSets: []object{complete(long)}, Works: []metav1.ObjectMeta{newWork("", "c1", func(w *metav1.ObjectMeta) {
				w.Labels = map[string]string{workv1alpha1.LabelOwnerHash: workv1alpha1.OwnerHash(long, "web")}
				w.Annotations = map[string]string{workv1alpha1.AnnotationOwner: long + "/web"}
			})}},
			want: []string{"Error LongName " + long + "/web"}, says: "does not find its works", remedy: "under a shorter name",
		},
		"a name that is too long, and no works": {objects: preflight.Objects{ReplicaSets: []object{complete(long)}}},
		"two of one name on different clusters": {objects: preflight.Objects{
			ReplicaSets: []object{complete("team-a"), complete("team-b")}, Works: []metav1.ObjectMeta{newWork("team-a", "c1"), newWork("team-b", "c2")},
		}},
		"the name is another owner's": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-b")}, Works: []metav1.ObjectMeta{newWork("team-b", "c2", named(alternative))}},
			want:    []string{"Error AlternativeName team-b/web"},
			says:    "its ManifestWork is not named web on 1 cluster (c2)", remedy: "under a name that no ManifestWork on those clusters has",
		},
		"a name that OCM 1.3 generated": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-b")}, Works: []metav1.ObjectMeta{newWork("team-b", "c2", named("webx7k2m"))}},
		},
		"paused in a rollout": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", paused, state(workv1alpha1.StatePaused))}},
			want:    []string{"Error Paused team-a/web"}, says: "rolls out the template that is held back", remedy: "set spec.paused to false",
		},
		"aborted": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", aborted)}},
			want:    []string{"Error Aborted team-a/web"}, says: "the rollout of revision bbb was aborted",
			remedy: "put the template of revision aaa into the spec",
		},
		"aborted, and nothing was stable": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", aborted, func(o *object) { o.Status.CurrentRevision = "" })}},
			want:    []string{"Error Aborted team-a/web"}, remedy: "put a good template into the spec",
		},
		"rolling out": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", state(workv1alpha1.StateRollingOut))}},
			want:    []string{"Warning RollingOut team-a/web"}, says: "its rollout is in progress", remedy: "kubectl -n team-a get mwrs web",
		},
		"stalled": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", state(workv1alpha1.StateStalled))}},
			want:    []string{"Error RollingOut team-a/web"}, says: "its rollout is stalled: OCM's hub continues it, and does not know which clusters failed",
		},
		"an edit that the hub has not seen": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", func(o *object) { o.Generation = 4 })}},
			want:    []string{"Warning RollingOut team-a/web"}, says: "has not observed the newest spec",
		},
		"invalid": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", state(workv1alpha1.StateInvalid))}},
			want:    []string{"Warning Invalid team-a/web"},
		},
		"works that keep objects": {
			objects: preflight.Objects{
				ReplicaSets: []object{complete("team-a")}, Works: []metav1.ObjectMeta{newWork("team-a", "c2", kept), newWork("team-a", "c1", kept), newWork("team-a", "c3")},
			},
			want: []string{"Error KeptObjects team-a/web"}, says: "the ManifestWorks of 2 clusters (c1, c2) keep objects",
		},
		"preserve": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", preserve)}},
			want:    []string{"Warning IgnoredField team-a/web"}, says: "loses spec.preserveResourcesOnDeletion: a deletion deletes the workloads",
		},
		"preserve while it is being deleted": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", preserve, func(o *object) { o.DeletionTimestamp = &metav1.Time{} },
				func(o *object) { o.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) })}},
			want: []string{"Error Deleting team-a/web"}, remedy: "wait until it is gone",
		},
		"preserve while it is being deleted, and an older CRD dropped the field": {
			objects: preflight.Objects{ReplicaSets: []object{complete("team-a", func(o *object) {
				o.DeletionTimestamp, o.UID = ptr.To(metav1.Unix(1, 0)), "uid"
				o.Status.Ledger = `{"format":1,"owner":"uid","seq":7,"preserve":true}`
			})}},
			want: []string{"Error Deleting team-a/web"}, remedy: "wait until it is gone",
		},
		"the other fields, and a worse finding of another object": {
			objects: preflight.Objects{ReplicaSets: []object{
				complete("team-a", spec(func(s *workv1alpha1.ManifestWorkReplicaSetSpec) {
					s.PruneStrategy, s.RollbackWindow = workv1alpha1.PruneWhenAvailable, &workv1alpha1.RollbackWindow{}
					s.AbortedRevisionPolicy = workv1alpha1.HoldAborted
					s.PlacementRefs[0].RolloutStrategy.UnavailableClusters = workv1alpha1.SkipUnavailable
					s.PlacementRefs[0].RolloutStrategy.Groups = []workv1alpha1.RolloutGroup{{GroupName: "canary"}}
					s.PlacementRefs[0].RolloutStrategy.SuccessGates = []workv1alpha1.SuccessGate{{ConditionType: "Tested"}}
					s.PlacementRefs[0].RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
				})),
				complete("team-b", aborted),
			}},
			want: []string{
				"Error Aborted team-b/web", "Warning IgnoredField team-a/web", "Warning IgnoredField team-a/web", "Warning IgnoredField team-a/web",
				"Warning IgnoredField team-a/web", "Warning IgnoredField team-a/web", "Warning IgnoredField team-a/web", "Warning IgnoredField team-a/web",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := preflight.Leaving(&test.objects)
			var got []string
			for _, f := range found {
				got = append(got, fmt.Sprintf("%s %s %s", f.Severity, f.Reason, f.Object))
				require.NotEmpty(t, f.What)
				require.NotEmpty(t, f.Remedy)
			}
			require.Equal(t, test.want, got)
			if len(found) > 0 {
				require.Contains(t, found[0].What, test.says)
				require.Contains(t, found[0].Remedy, test.remedy)
			}
		})
	}
}
