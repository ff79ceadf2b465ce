package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// answer is the output and the exit code of a plugin command.
type answer struct {
	out, errors string
	code        int
}

// mwrs runs a plugin command with all permissions.
func (f *fleet) mwrs(args ...string) answer {
	f.t.Helper()
	kubeconfig, err := f.w.plane.Kubeconfig(f.t.TempDir() + "/kubeconfig")
	require.NoError(f.t, err)
	var out, errors bytes.Buffer
	code := plugin.Run(f.t.Context(), append(args, "--kubeconfig", kubeconfig, "-n", f.namespace),
		genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errors})
	return answer{out: out.String(), errors: errors.String(), code: code}
}

// completes returns what the shell offers after the arguments.
func (f *fleet) completes(args ...string) string {
	f.t.Helper()
	kubeconfig, err := f.w.plane.Kubeconfig(f.t.TempDir() + "/kubeconfig")
	require.NoError(f.t, err)
	var out bytes.Buffer
	code := plugin.Run(f.t.Context(), append([]string{"__complete", "--kubeconfig", kubeconfig, "-n", f.namespace}, args...),
		genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &bytes.Buffer{}})
	require.Zero(f.t, code)
	return out.String()
}

// ok runs a plugin command that must succeed, and returns its output.
func (f *fleet) ok(args ...string) string {
	f.t.Helper()
	result := f.mwrs(args...)
	require.Zero(f.t, result.code, result.errors)
	return result.out
}

// refuses runs a plugin command that must fail with the message.
func (f *fleet) refuses(message string, args ...string) {
	f.t.Helper()
	result := f.mwrs(args...)
	require.Equal(f.t, 1, result.code, result.out)
	require.Contains(f.t, result.errors, message)
}

// The plugin alone is enough to diagnose and undo a stalled rollout.
func TestPluginUndoesAStalledRollout(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 4, progressive(1, "3s", 0))
	f.agentsReport("c2", "v2", degrades)
	f.because("image 2")
	f.update("v2")
	f.stalled()

	require.Equal(t, 2, f.mwrs("status", "web").code)
	screen := f.ok("get", "web")
	for _, part := range []string{
		f.namespace + "/web   Stalled", "1 of 4 clusters confirmed revision 2", "image 2", "2 update", "1 current",
		"p1", "1/4", f.cluster("c2"), "kubectl mwrs why web", "kubectl mwrs abort web",
	} {
		require.Contains(t, screen, part)
	}
	require.Equal(t, f.cluster("c2")+"\n", f.ok("clusters", "web", "--state", "failed", "-o", "name"))
	story := f.ok("why", "web", f.cluster("c2"))
	require.Contains(t, story, "the hub wrote revision 2")
	require.Contains(t, story, "Degraded=True")
	require.Contains(t, story, "the hub recorded a failure: degraded")
	require.Contains(t, f.ok("why", "web", f.cluster("c3")), "waits for the clusters that failed or may fail")
	f.refuses(`selects cluster "nobody"`, "why", "web", "nobody")

	var clusters []view.Cluster
	require.NoError(t, json.Unmarshal([]byte(f.ok("clusters", "web", "-o", "json")), &clusters))
	require.Len(t, clusters, 4)
	require.Equal(t, f.cluster("c2"), clusters[0].Name, "failed clusters come first")

	require.Contains(t, f.ok("undo", "web", "--yes", "--wait"), "undo requested")
	f.everywhere("v1")
}

func TestPluginUndo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", all("1m", 0)))
	f.complete()
	f.refuses("there is no earlier revision", "undo", "web")
	f.because("image 2")
	f.update("v2")
	f.complete()

	require.Contains(t, f.ok("undo", "web", "--dry-run=client"), "/spec/manifestWorkTemplate")
	dryRun := f.ok("undo", "web", "--dry-run=server")
	require.Contains(t, dryRun, "undo to the template of revision 1 is valid (server dry run)\nchange cause: -, now image 2\n")
	require.Contains(t, dryRun, "v2\n+", "the difference")
	f.refuses("there is no revision 9", "undo", "web", "--to-revision", "9")
	require.Contains(t, f.ok("undo", "web", "--yes", "--wait"), "Complete")
	f.everywhere("v1")
	require.Contains(t, f.ok("history", "web"), "3 update, current")
	require.NotContains(t, f.get().Annotations, workv1alpha1.AnnotationChangeCause, "revision 1 had no cause")

	require.Contains(t, f.ok("undo", "web", "--yes", "--wait"), "revision 2")
	f.everywhere("v2")
	require.Equal(t, "image 2", f.get().Annotations[workv1alpha1.AnnotationChangeCause])
}

// The plugin does not undo a template that another tool manages. The error names the tool.
func TestPluginLeavesManagedTemplatesAlone(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("1m", 0))
	f.update("v2")
	f.complete()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "web:work.open-cluster-management.io/ManifestWorkReplicaSet:x/web"}
	})
	f.refuses("Argo CD manages the template", "undo", "web")
	var manifest workv1alpha1.ManifestWorkReplicaSet
	require.NoError(t, yaml.UnmarshalStrict([]byte(f.ok("export", "web", "--to-revision", "1")), &manifest))
	require.Empty(t, manifest.ResourceVersion)
	require.Empty(t, manifest.Annotations, "the mark of Argo CD is left out")
	require.NotEqual(t, f.get().Spec.ManifestWorkTemplate, manifest.Spec.ManifestWorkTemplate)
	f.ok("undo", "web", "--yes", "--allow-managed", "--wait")
	f.everywhere("v1")
}

func TestPluginAborts(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(1, "10m", 0))
	f.refuses("there is nothing to abort", "abort", "web", "--yes")
	f.refuses("there is nothing to retry", "retry", "web")
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	f.refuses("add --yes", "abort", "web", "--reason", "v2 leaks memory")
	require.Equal(t, 4, f.mwrs("status", "web", "--timeout", "1s").code)
	f.ok("abort", "web", "--reason", "v2 leaks memory", "--yes")
	result := f.mwrs("status", "web", "--timeout", "1m")
	require.Equal(t, 3, result.code, result.out)
	f.everywhere("v1")
	mwrs := f.aborted()
	require.Equal(t, "v2 leaks memory", mwrs.Status.AbortReason)
	require.NotEmpty(t, mwrs.Status.AbortedBy)
	screen := f.ok("get", "web")
	require.Contains(t, screen, "Aborted")
	require.Contains(t, screen, "3 of 3 clusters confirmed revision 1")
	require.Contains(t, screen, "kubectl mwrs retry web")
	require.Contains(t, screen, "kubectl mwrs undo web")
	require.Regexp(t, `web +Aborted`, f.ok("list"))
	require.Regexp(t, `^web\n`, f.completes("get", ""))
	f.refuses("was already aborted", "abort", "web", "--yes")
	f.refuses("single clusters can't be retried", "retry", "web", f.cluster("c1"))

	f.agentsReport("c1", "v2", succeeds)
	f.ok("retry", "web")
	f.complete()
	f.everywhere("v2")
	require.Contains(t, f.ok("status", "web"), "Complete")
}

// A retry of single clusters removes their entries from status.failures.
func TestPluginRetriesClusters(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, all("3s", 3))
	for _, cluster := range []string{"c1", "c2", "c3"} {
		f.agentsReport(cluster, "v2", hangs)
	}
	f.update("v2")
	f.failing(3)
	f.refuses("does not list nobody", "retry", "web", "nobody")
	// The agents still hang: one that succeeds by itself could remove its entry before the command does.
	before := f.since()
	f.ok("retry", "web", f.cluster("c1"), f.cluster("c3"))
	eventually(t, "the retried clusters have failed again, c2 has not", func() error {
		after := f.since()
		for _, short := range []string{"c1", "c3"} {
			if cluster := f.cluster(short); !after[cluster].After(before[cluster]) {
				return fmt.Errorf("%s failed at %s, before the retry at %s", short, after[cluster], before[cluster])
			}
		}
		return nil
	})
	require.Equal(t, before[f.cluster("c2")], f.since()[f.cluster("c2")])

	f.agentsReport("c1", "v2", succeeds)
	f.agentsReport("c3", "v2", succeeds)
	f.failing(1)
	require.Equal(t, f.cluster("c2"), f.get().Status.Failures[0].Cluster)
}

// since returns when each failed cluster failed.
func (f *fleet) since() map[string]time.Time {
	f.t.Helper()
	since := map[string]time.Time{}
	for _, failure := range f.get().Status.Failures {
		since[failure.Cluster] = failure.Since.Time
	}
	return since
}

func TestPluginPauses(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("1m", 0))
	f.refuses("is not paused", "resume", "web")
	f.ok("pause", "web")
	f.refuses("is already paused", "pause", "web")
	f.update("v2")
	eventually(t, "the status is that of a pause", func() error {
		if result := f.mwrs("status", "web", "--timeout", "1s"); result.code != 5 {
			return fmt.Errorf("exit code %d: %s%s", result.code, result.out, result.errors)
		}
		return nil
	})
	require.Contains(t, f.ok("get", "web"), "kubectl mwrs resume web")
	f.ok("resume", "web")
	f.ok("status", "web", "--timeout", "1m")
	f.everywhere("v2")
}

// Without permission to read works, the plugin shows everything except the clusters, and names the missing permission.
func TestPluginWithoutRights(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("1m", 0))
	f.grantReplicaSets("plugin-reader", "get", "list", "watch")
	screen := f.ok("get", "web", "--as", "plugin-reader")
	require.Contains(t, screen, "Complete")
	require.Contains(t, screen, "no permission to list manifestworks.work.open-cluster-management.io in all namespaces")
	require.Contains(t, screen, "2 of 2 clusters confirmed revision 1")
	f.refuses(`cannot patch resource "manifestworkreplicasets"`, "pause", "web", "--as", "plugin-reader")
}

// grantReplicaSets gives a user rights on the ManifestWorkReplicaSets in the fleet's namespace, and no others.
func (f *fleet) grantReplicaSets(user string, verbs ...string) {
	f.t.Helper()
	rbac := f.w.kube.RbacV1()
	_, err := rbac.Roles(f.namespace).Create(f.t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{workv1alpha1.GroupName}, Resources: []string{"manifestworkreplicasets"}, Verbs: verbs,
	}}}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	_, err = rbac.RoleBindings(f.namespace).Create(f.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	for _, verb := range verbs {
		await.Allowed(f.t, f.w.kube, user, authorizationv1.ResourceAttributes{
			Namespace: f.namespace, Verb: verb, Group: workv1alpha1.GroupName, Resource: "manifestworkreplicasets",
		})
	}
}

// failing waits until status.failures has n entries.
func (f *fleet) failing(n int) {
	f.t.Helper()
	eventually(f.t, "the failures are recorded", func() error {
		if failures := f.get().Status.Failures; len(failures) != n {
			return fmt.Errorf("status.failures is %v", failures)
		}
		return nil
	})
}
