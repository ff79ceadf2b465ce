package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// fleet is a namespace with the ManifestWorkReplicaSet "web" and its clusters.
type fleet struct {
	t         *testing.T
	namespace string
	clusters  []string
}

// newFleet creates clusters and a Placement "production" that selects them in groups of the given sizes.
func newFleet(t *testing.T, groups ...int) *fleet {
	t.Helper()
	return newFleetIn(t, strings.ToLower(strings.TrimPrefix(t.Name(), "Test")), groups...)
}

func newFleetIn(t *testing.T, namespace string, groups ...int) *fleet {
	t.Helper()
	f := &fleet{t: t, namespace: namespace}
	ctx := t.Context()
	require.NoError(t, suite.fleet.Namespace(ctx, f.namespace))
	placements, decisions := suite.clusters.ClusterV1beta1().Placements(f.namespace), suite.clusters.ClusterV1beta1().PlacementDecisions(f.namespace)
	placement, err := placements.Create(ctx, &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Name: "production"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	for g, size := range groups {
		decision, err := decisions.Create(ctx, &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("production-decision-%d", g+1),
			Labels: map[string]string{
				clusterv1beta1.PlacementLabel: "production", clusterv1beta1.DecisionGroupIndexLabel: fmt.Sprint(g),
				clusterv1beta1.DecisionGroupNameLabel: []string{"canary", "europe", "rest"}[g],
			},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
		for i := range size {
			cluster := fmt.Sprintf("%s-%s%d", f.namespace, []string{"canary", "eu", "us"}[g], i+1)
			require.NoError(t, suite.fleet.Namespace(ctx, cluster))
			f.clusters = append(f.clusters, cluster)
			decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
		}
		_, err = decisions.UpdateStatus(ctx, decision, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	placement.Status.NumberOfSelectedClusters = int32(len(f.clusters))
	_, err = placements.UpdateStatus(ctx, placement, metav1.UpdateOptions{})
	require.NoError(t, err)
	return f
}

func progressive(concurrency int, deadline string, maxFailures int, failure workv1alpha1.FailureStrategy) workv1alpha1.RolloutStrategy {
	s := workv1alpha1.RolloutStrategy{FailureStrategy: failure}
	s.Type = clusterv1alpha1.Progressive
	s.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig:  clusterv1alpha1.RolloutConfig{ProgressDeadline: deadline, MaxFailures: intstr.FromInt32(int32(maxFailures))},
		MaxConcurrency: intstr.FromInt32(int32(concurrency)),
	}
	return s
}

// create creates the ManifestWorkReplicaSet and waits until it is complete.
func (f *fleet) create(version string, strategy workv1alpha1.RolloutStrategy) {
	f.t.Helper()
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: f.namespace}}
	set.Spec.ManifestWorkTemplate = template(version)
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "production", RolloutStrategy: strategy}}
	_, err := suite.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Create(f.t.Context(), set, metav1.CreateOptions{})
	require.NoError(f.t, err)
	f.becomes(workv1alpha1.StateComplete)
}

func (f *fleet) get() *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	set, err := suite.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Get(f.t.Context(), "web", metav1.GetOptions{})
	require.NoError(f.t, err)
	return set
}

// becomes waits until the hub has processed the spec and the given state is reached.
func (f *fleet) becomes(state workv1alpha1.State) {
	f.t.Helper()
	eventually(f.t, "the state is "+string(state), func() error {
		set := f.get()
		if set.Status.State != state || set.Status.ObservedGeneration < set.Generation {
			return fmt.Errorf("it is %s", set.Status.State)
		}
		return nil
	})
}

// update changes the template.
func (f *fleet) update(version, cause string) {
	f.t.Helper()
	require.NoError(f.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		set := f.get()
		set.Annotations = map[string]string{workv1alpha1.AnnotationChangeCause: cause}
		set.Spec.ManifestWorkTemplate = template(version)
		_, err := suite.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Update(f.t.Context(), set, metav1.UpdateOptions{})
		return err
	}))
}

// grantReplicaSets lets a user read only the ManifestWorkReplicaSets in the fleet's namespace.
func (f *fleet) grantReplicaSets(user string) {
	f.t.Helper()
	rbac := suite.kube.RbacV1()
	_, err := rbac.Roles(f.namespace).Create(f.t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{workv1alpha1.GroupName}, Resources: []string{"manifestworkreplicasets"}, Verbs: []string{"get", "list", "watch"},
	}}}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	_, err = rbac.RoleBindings(f.namespace).Create(f.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	await.Allowed(f.t, suite.kube, user, authorizationv1.ResourceAttributes{
		Namespace: f.namespace, Verb: "watch", Group: workv1alpha1.GroupName, Resource: "manifestworkreplicasets",
	})
}

// template returns a template with a ConfigMap, a Secret, and the rules that make agents report progress.
func template(version string) workv1.ManifestWorkSpec {
	manifest := func(text string) workv1.Manifest {
		m := workv1.Manifest{}
		m.Raw = []byte(text)
		return m
	}
	return workv1.ManifestWorkSpec{
		Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{
			manifest(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"},"data":{"version":%q}}`, version)),
			manifest(fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"shop"},"stringData":{"key":"hidden-%s"}}`, version)),
		}},
		ManifestConfigs: []workv1.ManifestConfigOption{{
			ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "shop", Name: "web"},
			ConditionRules: []workv1.ConditionRule{
				{Type: workv1.CelConditionExpressionsType, Condition: workv1.WorkProgressing, CelExpressions: []string{"false"}},
				{Type: workv1.CelConditionExpressionsType, Condition: workv1.WorkDegraded, CelExpressions: []string{"false"}},
			},
		}},
	}
}
