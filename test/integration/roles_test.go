package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// A writer of ManifestWorkReplicaSets can deploy a template to every cluster that a Placement in the namespace selects, without permissions
// on ManifestWorks. A Placement in another namespace has no effect, and the writer can write neither the status nor the history.
func TestRoleOfReplicaSetWriter(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	other := &fleet{t: t, w: f.w, name: f.name, namespace: f.namespace + "-other"}
	require.NoError(t, f.w.fleet.Namespace(t.Context(), other.namespace))
	other.join("c1")
	other.place("theirs", other.clusters)
	f.place("p1", f.clusters)
	writer := f.as("mwrs-writer", workGroup, "manifestworkreplicasets")
	writer.can("list", func() error {
		_, err := writer.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).List(t.Context(), metav1.ListOptions{})
		return err
	})
	writer.create("v1", ref("p1", all("None", 0)), ref("theirs", all("None", 0)))
	f.says(workv1alpha1.ConditionPlacementVerified, workv1alpha1.ReasonPlacementDecisionNotFound, "theirs")
	require.Empty(t, f.works(), "the Placement of another namespace selects nothing, and the others wait for it")

	writer.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs = mwrs.Spec.PlacementRefs[:1]
		mwrs.Status.CurrentRevision = "forged"
	})
	mwrs := f.complete()
	require.Equal(t, f.hash("v1"), mwrs.Status.CurrentRevision)
	require.Len(t, f.works(), 1)
	writer.cannot(f.namespace, replicaStatus, "update", "patch")
	writer.cannot(f.namespace, revisions, anyWrite...)
	writer.cannot(f.namespace, decisions, anyWrite...)
	writer.cannot(f.cluster("c1"), manifestWorks, anyWrite...)
	writer.cannot(other.namespace, replicaSets, anyWrite...)
	writer.ownsNoHub()
}

// A status writer can abort a rollout to the stable revision. It can change neither the spec nor the history, and can't set a current
// revision that was never current.
func TestRoleOfStatusWriter(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", progressive(1, "None", 0)))
	stable := f.complete().Status.CurrentRevision
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	f.w.grant(t, f.namespace, "status-writer",
		rbacv1.PolicyRule{APIGroups: []string{workGroup}, Resources: []string{"manifestworkreplicasets"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{workGroup}, Resources: []string{"manifestworkreplicasets/status"}, Verbs: []string{"update", "patch"}})
	writer := f.asGranted("status-writer")
	forged := fmt.Sprintf(`{"spec":{"placementRefs":[]},"status":{"currentRevision":%q}}`, f.hash("v2"))
	writer.can("write the status", func() error {
		_, err := writer.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Patch(
			t.Context(), f.name, types.MergePatchType, []byte(forged), metav1.PatchOptions{}, "status")
		return err
	})
	eventually(t, "the stable revision is put back", func() error {
		if named := f.get().Status.CurrentRevision; named != stable {
			return fmt.Errorf("it is %q", named)
		}
		return nil
	})
	f.tellsOf(workv1alpha1.EventCurrentRevisionIgnored)
	require.Len(t, f.get().Spec.PlacementRefs, 1)
	writer.cannot(f.namespace, replicaSets, "create", "update", "patch", "delete")
	writer.cannot(f.namespace, revisions, anyWrite...)
	writer.cannot(f.cluster("c1"), manifestWorks, anyWrite...)
	writer.ownsNoHub()

	writer.abortByHand()
	require.Equal(t, stable, f.aborted().Status.CurrentRevision)
	f.everywhere("v1")
}

// A writer of Placements and PlacementDecisions can add clusters that no ManagedClusterSetBinding of the namespace names: there is no
// binding here. It can change neither templates nor anything in another namespace.
func TestRoleOfPlacementWriter(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1"})
	f.create("v1", ref("p1", all("None", 0)))
	f.complete()
	writer := f.as("placement-writer", clusterGroup, "placements", "placements/status", "placementdecisions", "placementdecisions/status")
	writer.can("list", func() error {
		_, err := writer.w.clusters.ClusterV1beta1().PlacementDecisions(f.namespace).List(t.Context(), metav1.ListOptions{})
		return err
	})
	writer.place("p1", []string{"c1", "c2"})
	f.everywhere("v1")
	writer.cannot(f.namespace, replicaSets, anyWrite...)
	writer.cannot(f.namespace, replicaStatus, "update", "patch")
	writer.cannot(f.namespace, revisions, anyWrite...)
	writer.cannot(f.cluster("c2"), manifestWorks, anyWrite...)
	for _, resource := range []schema.GroupVersionResource{placements, decisions} {
		writer.cannot("default", resource, anyWrite...)
	}
	writer.ownsNoHub()
}

// A writer of ControllerRevisions can't change the data of a revision. It has no permissions on the other objects that decide a rollout.
// Kubernetes' roles view, edit and admin can only read revisions.
func TestRoleOfRevisionWriter(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 1, all("None", 0))
	writer := f.as("revision-writer", appsv1.GroupName, "controllerrevisions")
	stable := f.revisionOf("v1")
	changed := stable.DeepCopy()
	changed.Data.Raw = []byte(`{"spec":{"manifestWorkTemplate":{}}}`)
	writer.can("write revisions, but not their data", func() error {
		_, err := writer.w.kube.AppsV1().ControllerRevisions(f.namespace).Update(t.Context(), changed, metav1.UpdateOptions{})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})
	writer.can("change only the metadata, as the garbage collector does when the owner is deleted with --cascade=orphan", func() error {
		_, err := writer.w.kube.AppsV1().ControllerRevisions(f.namespace).Patch(t.Context(), stable.Name, types.StrategicMergePatchType,
			[]byte(`{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"other"}]}}`), metav1.PatchOptions{})
		return err
	})
	require.Equal(t, stable.Data.Raw, f.revisionOf("v1").Data.Raw)
	writer.cannot(f.namespace, replicaSets, anyWrite...)
	writer.cannot(f.namespace, replicaStatus, "update", "patch")
	writer.cannot(f.namespace, decisions, anyWrite...)
	writer.cannot(f.cluster("c1"), manifestWorks, anyWrite...)
	writer.cannot("default", revisions, anyWrite...)
	writer.ownsNoHub()

	// The parts of the aggregated roles view, edit and admin.
	for _, part := range []string{"view", "edit", "admin"} {
		f.w.bind(t, f.namespace, "namespace-admin", "ClusterRole", "system:aggregate-to-"+part)
	}
	admin := f.asGranted("namespace-admin")
	admin.can("read revisions", func() error {
		_, err := admin.w.kube.AppsV1().ControllerRevisions(f.namespace).Get(t.Context(), stable.Name, metav1.GetOptions{})
		return err
	})
	admin.can("write Deployments", func() error { // The permissions of edit are included.
		_, err := admin.w.dynamic.Resource(deployments).Namespace(f.namespace).Patch(t.Context(), "none", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})
	admin.cannot(f.namespace, revisions, "create", "update", "patch", "delete", "deletecollection")
}

// An agent with the permissions that OCM grants can update the works of its cluster. It can't create or delete works, or access another
// cluster.
func TestRoleOfAgent(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("None", 0))
	own := f.cluster("c1")
	for _, name := range []string{"managedcluster-work-clusterrole.yaml", "managedcluster-work-rolebinding.yaml"} {
		f.w.apply(t, registrationManifest(t, name, own))
	}
	agent := f.asGranted("system:open-cluster-management:"+own+":agent", "system:open-cluster-management:"+own)
	agent.can("update its work", func() error {
		_, err := agent.w.works.WorkV1().ManifestWorks(own).Patch(t.Context(), f.work("c1").Name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"agent":"was-here"}}}`), metav1.PatchOptions{})
		return err
	})
	agent.cannot(own, manifestWorks, "create", "delete", "deletecollection")
	agent.cannot(f.cluster("c2"), manifestWorks, append([]string{"deletecollection"}, anyWrite...)...)
	agent.cannot(f.cluster("c2"), workStatus, "update", "patch")
	agent.cannot(f.namespace, replicaSets, anyWrite...)
	agent.cannot(f.namespace, replicaStatus, "update", "patch")
	agent.cannot(f.namespace, revisions, anyWrite...)
	agent.cannot(f.namespace, decisions, anyWrite...)
	agent.ownsNoHub()
}

// The hub, with the permissions of OCM's role and of deploy/, can't read Secrets, write Placements, create or delete
// ManifestWorkReplicaSets, or change the data of revisions.
func TestRoleOfHub(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 1, all("None", 0))
	for _, name := range []string{"clusterrole.yaml", "clusterrolebinding.yaml"} {
		f.w.apply(t, ocmManifest(t, "cluster-manager/hub/work/"+name))
	}
	objects, err := deploy.Render()
	require.NoError(t, err)
	for _, object := range objects {
		if strings.HasPrefix(object.GetKind(), "ClusterRole") {
			content, err := yaml.Marshal(object.Object)
			require.NoError(t, err)
			f.w.apply(t, string(content))
		}
	}
	hub := f.asGranted("system:serviceaccount:"+sandbox.HubNamespace+":work-controller-sa", "system:serviceaccounts")
	hub.can("write works", func() error {
		_, err := hub.w.works.WorkV1().ManifestWorks(f.cluster("c1")).Create(t.Context(),
			&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
	hub.can("write revisions, but not their data", func() error {
		_, err := hub.w.kube.AppsV1().ControllerRevisions(f.namespace).Patch(t.Context(), f.revisionOf("v1").Name, types.MergePatchType,
			[]byte(`{"data":{"spec":null}}`), metav1.PatchOptions{})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})
	hub.cannot(f.namespace, revisions, "update", "deletecollection")
	hub.cannot(f.namespace, replicaSets, "create", "delete", "deletecollection")
	hub.cannot(f.namespace, placements, "create", "update", "patch", "delete")
	hub.cannot(f.namespace, decisions, "create", "update", "patch", "delete")
	hub.cannot(f.cluster("c1"), workStatus, "update", "patch")
	hub.cannot(f.namespace, secrets, "get", "list", "create")
	hub.ownsNoHub()
}

// abortByHand sets status.abortedTime, as kubectl does.
func (f *fleet) abortByHand() {
	f.t.Helper()
	patch := fmt.Sprintf(`{"status":{"abortedTime":%q}}`, time.Now().UTC().Format(time.RFC3339))
	_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Patch(f.t.Context(), f.name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "a-person"}, "status")
	require.NoError(f.t, err)
}

// tellsOf waits for an event.
func (f *fleet) tellsOf(wanted string) {
	f.t.Helper()
	eventually(f.t, "the event "+wanted, func() error {
		if told := f.told(); !slices.Contains(told, wanted) {
			return fmt.Errorf("told %v", told)
		}
		return nil
	})
}
