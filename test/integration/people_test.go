package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy"
)

// person gives a user in this fleet's namespace one of the user roles of deploy/base, and waits until it takes effect.
func (f *fleet) person(roleName string) *role {
	f.t.Helper()
	f.w.applyPeople(f.t)
	user := strings.TrimPrefix(roleName, "mwrs-") + "-of-" + f.namespace
	f.w.bind(f.t, f.namespace, user, "ClusterRole", roleName)
	person := f.asGranted(user)
	person.can("list", func() error {
		_, err := person.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).List(f.t.Context(), metav1.ListOptions{})
		return err
	})
	return person
}

// applyPeople applies the user roles.
func (w *world) applyPeople(t *testing.T) {
	t.Helper()
	objects, err := deploy.RenderBase()
	require.NoError(t, err)
	for _, object := range objects {
		if strings.HasPrefix(object.GetName(), "mwrs-") {
			content, err := yaml.Marshal(object.Object)
			require.NoError(t, err)
			w.apply(t, string(content))
		}
	}
}

// runs runs a command of the plugin as the user.
func (r *role) runs(args ...string) answer {
	r.t.Helper()
	return r.mwrs(append(args, "--as", r.user)...)
}

// may runs a command of the plugin that the user is allowed to run.
func (r *role) may(args ...string) string {
	r.t.Helper()
	result := r.runs(args...)
	require.Zero(r.t, result.code, "%v: %s", args, result.errors)
	return result.out
}

// mayNot runs a command of the plugin that the API server forbids the user to run.
func (r *role) mayNot(args ...string) {
	r.t.Helper()
	result := r.runs(args...)
	require.Equal(r.t, 1, result.code, "%v: %s", args, result.out)
	require.Contains(r.t, result.errors, "forbidden", "%v", args)
	require.Contains(r.t, result.errors, r.user, "%v", args)
}

// A viewer sees the rollout, its history and its templates, and can't change anything. A viewer can't see the works of any cluster.
func TestPersonWhoViews(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "10m", 0))
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	viewer := f.person("mwrs-viewer")

	require.Contains(t, viewer.may("list"), "web")
	screen := viewer.runs("get", "web")
	require.Zero(t, screen.code, screen.errors)
	require.Contains(t, screen.out+screen.errors, "list manifestworks", "the plugin names what it can't read")
	require.Contains(t, viewer.may("history", "web"), "2 update")
	require.Equal(t, 1, viewer.runs("diff", "web").code, "the templates differ")
	require.Contains(t, viewer.may("export", "web", "--to-revision", "1"), "kind: ManifestWorkReplicaSet")
	for _, command := range [][]string{
		{"abort", "web", "--yes"}, {"pause", "web"}, {"undo", "web", "--yes"},
	} {
		viewer.mayNot(command...)
	}
	viewer.cannot(f.namespace, replicaSets, "create", "update", "patch", "delete", "deletecollection")
	viewer.cannot(f.namespace, replicaStatus, "update", "patch")
	viewer.readsNoSecrets()
	viewer.ownsNoHub()
}

// An operator can abort, retry, pause, resume and undo, but can't create or delete ManifestWorkReplicaSets.
func TestPersonWhoOperates(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "10m", 0))
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	operator := f.person("mwrs-operator")

	operator.may("abort", "web", "--reason", "v2 hangs", "--yes")
	mwrs := f.aborted()
	require.Equal(t, operator.user, mwrs.Status.AbortedBy)
	require.Equal(t, "v2 hangs", mwrs.Status.AbortReason)
	f.everywhere("v1")
	f.agentsReport("c1", "v2", succeeds)
	operator.may("retry", "web")
	f.complete()
	f.everywhere("v2")
	operator.may("undo", "web", "--yes", "--wait")
	f.everywhere("v1")
	operator.may("pause", "web")
	require.True(t, f.get().Spec.Paused)
	operator.may("resume", "web")

	operator.cannot(f.namespace, replicaSets, "create", "update", "delete", "deletecollection")
	operator.cannot(f.namespace, revisions, "create", "update", "patch", "delete")
	operator.cannot(f.namespace, placements, "create", "update", "patch", "delete")
	operator.readsNoSecrets()
	operator.ownsNoHub()
}

// A user with this role can view, abort and retry, but neither pause nor undo.
func TestPersonWhoOnlyAborts(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "10m", 0))
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	person := f.person("mwrs-viewer")
	f.w.grant(t, f.namespace, person.user, rbacv1.PolicyRule{
		APIGroups: []string{workGroup}, Resources: []string{"manifestworkreplicasets/status"}, Verbs: []string{"patch"},
	})
	person.can("write the status", func() error { return person.try(f.namespace, replicaStatus, "patch") })
	person.may("abort", "web", "--yes")
	f.aborted()
	f.everywhere("v1")
	person.mayNot("pause", "web")
	person.mayNot("undo", "web", "--to-revision", "1", "--yes")
	f.agentsReport("c1", "v2", succeeds)
	person.may("retry", "web")
	f.complete()
	f.everywhere("v2")
}

// An administrator of ManifestWorkReplicaSets can also create and delete them, but can't write Placements or the history.
func TestPersonWhoAdministers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.place("p1", f.clusters)
	admin := f.person("mwrs-admin")
	admin.create("v1", ref("p1", all("None", 0)))
	f.complete()
	admin.update("v2")
	f.complete()
	f.everywhere("v2")
	admin.may("undo", "web", "--yes", "--wait")
	f.everywhere("v1")
	admin.cannot(f.namespace, revisions, "create", "update", "patch", "delete")
	admin.cannot(f.namespace, placements, "create", "update", "patch", "delete")
	admin.cannot(f.namespace, decisions, "create", "update", "patch", "delete")
	admin.readsNoSecrets()
	admin.ownsNoHub()
	require.NoError(t, admin.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Delete(t.Context(), f.name, metav1.DeleteOptions{}))
}

// readsNoSecrets: the user can read neither Secrets in the namespace, nor the works of a cluster, which may contain the Secrets of all
// tenants.
func (r *role) readsNoSecrets() {
	r.t.Helper()
	r.cannot(r.namespace, secrets, "get", "list")
	r.cannot(r.cluster(strings.TrimPrefix(r.clusters[0], r.namespace+"-")), manifestWorks, append([]string{"deletecollection"}, anyWrite...)...)
	r.cannot("", manifestWorks, "list")
}

// The permissions that Kubernetes' own roles aggregate. `view` can't read Secrets, which a template may contain. `edit` can read Secrets,
// but neither `edit` nor `admin` can roll anything out.
func TestPeopleWithKubernetesRoles(t *testing.T) {
	t.Parallel()
	w := shared(t)
	w.applyPeople(t)
	selected := map[string][]string{}
	for _, name := range []string{"view", "edit", "admin"} {
		kubernetes, err := w.kube.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.NotNil(t, kubernetes.AggregationRule)
		for i := range kubernetes.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&kubernetes.AggregationRule.ClusterRoleSelectors[i])
			require.NoError(t, err)
			for _, person := range []string{"mwrs-viewer", "mwrs-operator", "mwrs-admin", "view", "edit"} {
				found, err := w.kube.RbacV1().ClusterRoles().Get(t.Context(), person, metav1.GetOptions{})
				require.NoError(t, err)
				if selector.Matches(labels.Set(found.Labels)) {
					selected[name] = append(selected[name], person)
				}
			}
		}
	}
	require.Equal(t, map[string][]string{
		"edit":  {"mwrs-viewer", "view"},
		"admin": {"edit"}, // Includes the permissions of edit.
	}, selected)
}
