package integration

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
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
	var out, errs bytes.Buffer
	code := plugin.Run(f.t.Context(), append(args, "--kubeconfig", kubeconfig, "-n", f.namespace),
		genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs})
	return answer{out: out.String(), errors: errs.String(), code: code}
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
	// The agents still hang: if a cluster succeeded by itself, its entry could be removed before the command does it.
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

// TestPluginWithAnUnreadableField: a number that the CRD accepts and no client can decode does not keep a user from aborting the rollout.
func TestPluginWithAnUnreadableField(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("10m", 0))
	for _, cluster := range []string{"c1", "c2"} {
		f.agentsReport(cluster, "v2", hangs)
	}
	f.update("v2")
	f.everywhere("v2", "c1", "c2")
	_, err := f.w.dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(f.namespace).Patch(t.Context(), "web", types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/placementRefs/0/rolloutStrategy/all/maxFailures","value":3000000000}]`), metav1.PatchOptions{})
	require.NoError(t, err)
	for _, command := range []string{"get web", "why web " + f.cluster("c1"), "clusters web", "history web", "abort web --yes --reason unreadable"} {
		f.ok(strings.Fields(command)...)
	}
	eventually(t, "the screen shows the abort and the field", func() error {
		if out := f.ok("get", "web"); !strings.Contains(out, "maxFailures") || !strings.Contains(out, "unreadable") {
			return errors.New(out)
		}
		return nil
	})
	f.everywhere("v1", "c1", "c2")
}

// since returns the time at which each failed cluster failed.
func (f *fleet) since() map[string]time.Time {
	f.t.Helper()
	since := map[string]time.Time{}
	for _, failure := range f.get().Status.Failures {
		since[failure.Cluster] = failure.Since.Time
	}
	return since
}

// grantReplicaSets gives a user permissions on the ManifestWorkReplicaSets in the fleet's namespace, and no others.
func (f *fleet) grantReplicaSets(user string, verbs ...string) {
	f.t.Helper()
	f.w.grant(f.t, f.namespace, user, rbacv1.PolicyRule{
		APIGroups: []string{workv1alpha1.GroupName}, Resources: []string{"manifestworkreplicasets"}, Verbs: verbs,
	})
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
