package integration

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Workloads stay on clusters with OCM's own agents when their ManifestWorkReplicaSet is deleted, and the next ManifestWorkReplicaSet takes
// them over.
func TestPreservingOnRealAgents(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*labFleet){
		"background":             func(f *labFleet) { f.staysAndIsTakenOver(upstream.Background) },
		"foreground":             func(f *labFleet) { f.staysAndIsTakenOver(upstream.Foreground) },
		"offline":                (*labFleet).staysAfterAnOfflineAgent,
		"given up":               (*labFleet).isGivenUp,
		"missing object":         (*labFleet).staysBesideAMissingObject,
		"missing namespace":      (*labFleet).staysBesideAMissingNamespace,
		"unknown kind":           (*labFleet).staysBesideAnUnknownKind,
		"apply conflict":         (*labFleet).staysAfterAnApplyConflict,
		"completed":              func(f *labFleet) { f.staysAfterCompletion(1, 1) },
		"partly completed":       (*labFleet).staysAfterPartOfItCompleted,
		"completed and one gone": func(f *labFleet) { f.staysAfterCompletion(1, 2) },
		"completed and all gone": func(f *labFleet) { f.staysAfterCompletion(0, 1) },
		"executor":               (*labFleet).staysWithoutTheRightToDelete,
		"F1":                     (*labFleet).isLostWhenOrphanAndDeletionComeTogether,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(newLabFleet(t, labOptions{}))
		})
	}
}

// The same objects, with the same UIDs and generations, through deletion and creation: nothing restarts.
func (f *labFleet) staysAndIsTakenOver(policy upstream.CascadeDeletionPolicy) {
	f.make(f.workload())
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.CascadeDeletionPolicy = policy })
	f.complete()
	before, owned := f.there("c1", 1)
	require.Len(f.t, before, 2)
	require.Len(f.t, owned, 2)
	f.leavesAll(1)

	f.make(f.workload())
	f.complete()
	for _, short := range f.clusters {
		eventually(f.t, short+" owns the objects again", func() error {
			if _, owned := f.there(short, 1); len(owned) != 2 {
				return fmt.Errorf("it owns %v", owned)
			}
			return nil
		})
	}
	after, _ := f.there("c1", 1)
	require.Equal(f.t, before, after)
}

// While an agent is offline, its work and the ManifestWorkReplicaSet stay. When the agent returns, it releases its objects.
func (f *labFleet) staysAfterAnOfflineAgent() {
	f.make(f.workload())
	f.complete()
	before, _ := f.there("c2", 1)
	f.agents["c2"].Stop()
	f.delete()
	f.waitsFor("1 of 2 clusters are done", "waiting for the agents of 1 cluster ("+f.cluster("c2")+")")
	after, owned := f.there("c2", 1)
	require.Equal(f.t, before, after)
	require.Len(f.t, owned, 2)
	require.Nil(f.t, f.work("c2").DeletionTimestamp)
	f.agents["c2"].Start()
	f.gone()
	after, owned = f.there("c2", 1)
	require.Equal(f.t, before, after)
	require.Empty(f.t, owned)
}

// The user gives up: confirmed objects stay, and unconfirmed objects are deleted when their agent returns.
func (f *labFleet) isGivenUp() {
	f.make(f.workload())
	f.complete()
	before, _ := f.there("c1", 1)
	f.agents["c2"].Stop()
	f.delete()
	f.waitsFor("1 of 2 clusters are done")
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.PreserveResourcesOnDeletion = ptr.To(false) })
	f.gone("c2")
	f.agents["c2"].Start()
	f.gone()
	after, _ := f.there("c1", 1)
	require.Equal(f.t, before, after)
	lost, _ := f.there("c2", 1)
	require.Empty(f.t, lost)
}

// An object that a user deleted is created again, as the agent does at any time, and does not block the deletion.
func (f *labFleet) staysBesideAMissingObject() {
	f.make(f.template(rules(), healthy("v1"), healthy("v1")))
	f.complete()
	before, _ := f.there("c1", 2)
	require.NoError(f.t, f.agents["c1"].kube.CoreV1().ConfigMaps("default").Delete(f.t.Context(), f.object(1), metav1.DeleteOptions{}))
	f.delete()
	f.gone()
	after, owned := f.there("c1", 2)
	require.Equal(f.t, before["configmap 0"], after["configmap 0"])
	require.NotEqual(f.t, before["configmap 1"].uid, after["configmap 1"].uid)
	require.Empty(f.t, owned)
}

func (f *labFleet) staysBesideAMissingNamespace() {
	template := f.template(rules(), healthy("v1"))
	manifest(&template, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "demo", "namespace": f.object(9)},
	})
	f.make(template)
	f.applied(2)
	f.leavesAll(1)
}

func (f *labFleet) staysBesideAnUnknownKind() {
	template := f.template(rules(), healthy("v1"))
	manifest(&template, map[string]any{
		"apiVersion": "example.com/v1", "kind": "Unknown", "metadata": map[string]any{"name": "demo", "namespace": "default"},
	})
	f.make(template)
	f.applied(2)
	f.leavesAll(1)
}

// An object that the agent can no longer update, because another manager owns its fields, is released, and its content stays.
func (f *labFleet) staysAfterAnApplyConflict() {
	template := f.template(rules(), healthy("v1"))
	template.ManifestConfigs[0].UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeServerSideApply}
	f.make(template)
	f.complete()
	for _, short := range f.clusters {
		theirs := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"},"data":{"version":"theirs"}}`, f.object(0))
		force := true
		_, err := f.agents[short].kube.CoreV1().ConfigMaps("default").Patch(f.t.Context(), f.object(0), types.ApplyPatchType, theirs,
			metav1.PatchOptions{FieldManager: "theirs", Force: &force})
		require.NoError(f.t, err)
	}
	f.roll(func() workv1.ManifestWorkSpec {
		template.Workload.Manifests[0].Raw = f.template(rules(), healthy("v2")).Workload.Manifests[0].Raw
		return template
	}())
	f.reported("c1", "a conflict", is(workv1.WorkApplied, metav1.ConditionFalse, 2))
	f.reported("c2", "a conflict", is(workv1.WorkApplied, metav1.ConditionFalse, 2))
	f.leavesAll(1)
	require.Equal(f.t, "theirs", f.content("c1")["version"])
}

// An agent applies nothing of a work that ran to completion, so the hub first removes the completion. Of all objects, only the first ones
// stay: the others are deleted on the cluster when they are complete, as a Job with ttlSecondsAfterFinished is. They are not created again.
func (f *labFleet) staysAfterCompletion(stay, objects int) {
	f.make(f.template(completes(), slices.Repeat([]data{healthy("v1")}, objects)...))
	f.complete()
	for _, short := range f.clusters {
		for n := range objects {
			f.change(short, n, data{"done": "yes"})
		}
		f.reported(short, "that it is done", is(workv1.WorkComplete, metav1.ConditionTrue, 1))
		for n := stay; n < objects; n++ {
			require.NoError(f.t, f.agents[short].kube.CoreV1().ConfigMaps("default").Delete(f.t.Context(), f.object(n), metav1.DeleteOptions{}))
		}
		if stay < objects {
			f.reported(short, "that some are gone", is(workv1.WorkAvailable, metav1.ConditionFalse, 1))
		}
	}
	if stay == 0 {
		f.delete()
		f.gone()
		require.Nil(f.t, f.content("c1"))
		return
	}
	f.leavesAll(objects)
	require.Equal(f.t, "yes", f.content("c1")["done"])
}

// An agent does not apply a manifest that ran to completion, even if its work did not.
func (f *labFleet) staysAfterPartOfItCompleted() {
	f.make(f.template(completes(), healthy("v1"), healthy("v1")))
	f.complete()
	for _, short := range f.clusters {
		f.change(short, 0, data{"done": "yes"})
		eventually(f.t, short+" reports that one of two is done", func() error {
			if done := f.ofManifest(short, 0, workv1.ManifestComplete); done.Status != metav1.ConditionTrue {
				return fmt.Errorf("it reports %s", done.Status)
			}
			return nil
		})
	}
	f.leavesAll(2)
}

// An executor without permission to delete can still release the objects.
func (f *labFleet) staysWithoutTheRightToDelete() {
	verbs := []string{"get", "create", "update", "patch", "delete"}
	for _, short := range f.clusters {
		kube := f.agents[short].kube
		_, err := kube.CoreV1().ServiceAccounts("default").Create(f.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}, metav1.CreateOptions{})
		require.NoError(f.t, err)
		_, err = kube.RbacV1().Roles("default").Create(f.t.Context(), executorRole(f.namespace, verbs), metav1.CreateOptions{})
		require.NoError(f.t, err)
		_, err = kube.RbacV1().RoleBindings("default").Create(f.t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: f.namespace},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: f.namespace}},
		}, metav1.CreateOptions{})
		require.NoError(f.t, err)
	}
	template := f.template(rules(), healthy("v1"))
	template.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type:           workv1.ExecutorSubjectTypeServiceAccount,
		ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Namespace: "default", Name: f.namespace},
	}}
	f.make(template)
	f.complete()
	for _, short := range f.clusters {
		_, err := f.agents[short].kube.RbacV1().Roles("default").Update(f.t.Context(), executorRole(f.namespace, verbs[:4]), metav1.UpdateOptions{})
		require.NoError(f.t, err)
	}
	f.leavesAll(1)
}

func executorRole(name string, verbs []string) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}},
	}
}

// What this hub must never do: if an agent sees Orphan and the deletion at the same time, it considers only the deletion, and deletes the
// workload.
func (f *labFleet) isLostWhenOrphanAndDeletionComeTogether() {
	works := f.w.works.WorkV1().ManifestWorks(f.cluster("c1"))
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: f.template(rules(), healthy("v1"))}
	_, err := works.Create(f.t.Context(), work, metav1.CreateOptions{})
	require.NoError(f.t, err)
	f.deploys("c1", "v1")
	// An agent records the objects to delete in the AppliedManifestWork last. An agent that stops before that deletes nothing.
	noted := func(r *request) bool {
		return r.method != http.MethodGet && strings.Contains(r.path, "/appliedmanifestworks/") && bytes.Contains(r.body, []byte(f.object(0)))
	}
	eventually(f.t, "the agent owns it, and has noted so", func() error {
		if _, owned := f.there("c1", 1); len(owned) != 1 || len(f.agents["c1"].managed.accepted(noted)) == 0 {
			return fmt.Errorf("it owns %v", owned)
		}
		return nil
	})
	f.agents["c1"].Stop()
	_, err = works.Patch(f.t.Context(), work.Name, types.MergePatchType, []byte(`{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}`), metav1.PatchOptions{})
	require.NoError(f.t, err)
	require.NoError(f.t, works.Delete(f.t.Context(), work.Name, metav1.DeleteOptions{}))
	f.agents["c1"].Start()
	eventually(f.t, "the work is gone", func() error {
		ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Second)
		defer cancel()
		if _, err := works.Get(ctx, work.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	require.Nil(f.t, f.content("c1"), "and the workload with it")
}
