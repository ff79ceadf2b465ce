package plugin

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// TestDryRun: with --dry-run, each action is checked, asks no question, and changes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	for command, patch := range map[string]string{
		"abort web --reason x": "abortReason: x", "retry web c1": "failures: []", "pause web": "paused: true", "resume web": "paused: false",
		"undo web": "path: /spec/manifestWorkTemplate",
	} {
		verb, _, _ := strings.Cut(command, " ")
		h := explained(t, workv1alpha1.StateRollingOut, "wave 1")
		h.set.Spec.Paused = verb == "resume"
		h.set.Status.Failures = []workv1alpha1.ClusterFailure{{Cluster: "c1"}}
		code, out, failed := h.run(t, append(strings.Fields(command), "--dry-run=client")...)
		require.Zero(t, code, failed)
		require.Contains(t, out, patch)
		require.Empty(t, h.patches, command)
		code, out, failed = h.run(t, append(strings.Fields(command), "--dry-run=server")...)
		require.Zero(t, code, command+": "+failed)
		require.Regexp(t, `web `+verb+`.* is valid \(server dry run\)`, out)
		require.Len(t, h.patches, 1)
		require.Equal(t, []string{"All"}, h.dryRuns, command)
		code, _, failed = h.run(t, append(strings.Fields(command), "--dry-run=maybe")...)
		require.Equal(t, 1, code)
		require.Contains(t, failed, "use none, client or server")
	}
}

// TestUndoAsks: an undo asks for confirmation as an abort does. Each of the two cases in which it refuses has a flag that overrides the
// refusal.
func TestUndoAsks(t *testing.T) {
	t.Parallel()
	h := newOneHub(t)
	code, _, failed := h.run(t, "undo", "web")
	require.Equal(t, 1, code)
	require.Contains(t, failed, "there is no terminal to ask for confirmation; add --yes to confirm: ")
	require.Contains(t, failed, "Restore the template of revision 1 in default/web?")
	require.Empty(t, h.patches)

	h.set.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "web"}
	_, _, failed = h.run(t, "undo", "web", "--yes", "--allow-aborted")
	require.Contains(t, failed, "add --allow-managed")
	require.Empty(t, h.patches)
	revisiontest.Amend(&h.revisions[0], func(r *revision.Record) { r.Abort = &revision.Abort{At: time.Now()} })
	_, _, failed = h.run(t, "undo", "web", "--to-revision", "1", "--yes", "--allow-managed")
	require.Contains(t, failed, "add --allow-aborted")
	require.Empty(t, h.patches)
	code, out, failed := h.run(t, "undo", "web", "--to-revision", "1", "--yes", "--allow-managed", "--allow-aborted")
	require.Zero(t, code, failed)
	require.Contains(t, out, "web undo requested")
	require.Len(t, h.patches, 1)
}

// TestErrorsAsInKubectl: errors from the API server and the connection have the same words as in kubectl.
func TestErrorsAsInKubectl(t *testing.T) {
	t.Parallel()
	status := func(text string) string {
		kubeconfig, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure",` + text + `}`))
		}))
		return failureOf(t, kubeconfig)
	}
	require.Equal(t, "Error from server (NotFound): no web\n", status(`"reason":"NotFound","message":"no web"`))
	require.Equal(t, "error: You must be logged in to the server (Unauthorized)\n", status(`"reason":"Unauthorized","message":"Unauthorized"`))
	require.Equal(t, "Error from server: odd\n", status(`"message":"odd"`))
	const invalid = `"reason":"Invalid","message":"x","details":{"kind":"Set","name":"web","causes":[{"field":"a","message":"one"}`
	require.Equal(t, "The Set \"web\" is invalid: a: one\n", status(invalid+`]}`))
	require.Equal(t, "The Set \"web\" is invalid: \n  * a: one\n  * b: two\n", status(invalid+`,{"field":"b","message":"two"}]}`))

	config := clientcmdapi.NewConfig()
	config.Clusters["gone"] = &clientcmdapi.Cluster{Server: "http://127.0.0.1:1"}
	config.Contexts["gone"] = &clientcmdapi.Context{Cluster: "gone"}
	config.CurrentContext = "gone"
	kubeconfig := t.TempDir() + "/kubeconfig"
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	require.Equal(t, "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n", failureOf(t, kubeconfig))
	config.Clusters["gone"].Server = "http://no-such-host.invalid"
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	require.Regexp(t, `^Unable to connect to the server: dial tcp: lookup no-such-host\.invalid`, failureOf(t, kubeconfig))
}

func failureOf(t *testing.T, kubeconfig string) string {
	t.Helper()
	code, _, failed := mwrs(t, "", "history", "web", "--kubeconfig", kubeconfig)
	require.Equal(t, 1, code)
	return failed
}

// TestLists: `list`, and `get` without a name, pass the selector to the API server, and keep its order of the objects.
func TestLists(t *testing.T) {
	t.Parallel()
	item := func(name, state, created string, failed int) workv1alpha1.ManifestWorkReplicaSet {
		at, err := time.Parse(time.DateOnly, created)
		require.NoError(t, err)
		return workv1alpha1.ManifestWorkReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", CreationTimestamp: metav1.NewTime(at)},
			Status: workv1alpha1.ManifestWorkReplicaSetStatus{
				State: workv1alpha1.State(state), Summary: workv1alpha1.ManifestWorkReplicaSetSummary{Failed: failed},
			},
		}
	}
	h := newOneHub(t)
	h.items = []workv1alpha1.ManifestWorkReplicaSet{
		item("a", "Stalled", "2026-02-02", 10), item("b", "Complete", "2026-01-02", 0), item("c", "RollingOut", "2026-02-01", 9),
	}
	for _, command := range []string{"list", "get"} {
		for format, want := range map[string]string{
			"": `(?m)^a +Stalled.*\nb +Complete.*\nc +RollingOut.*\n$`, "name": "^" + resourceOf("a") + "\n" + resourceOf("b") + "\n" + resourceOf("c") + "\n$",
			"jsonpath={[*].state}": "^Stalled Complete RollingOut$", "yaml": `(?m)^  name: b$`, "json": `"failed": 9,`,
		} {
			h.reads = nil
			args := []string{command, "--no-headers", "-l", "app=web"}
			if format != "" {
				args = append(args, "-o", format)
			}
			code, out, failed := h.run(t, args...)
			require.Zero(t, code, failed)
			require.Contains(t, strings.Join(h.reads, " "), "labelSelector=app%3Dweb")
			require.Regexp(t, want, out, "%s %s", command, format)
			require.NotContains(t, out, "0001-01-01")
		}
	}
	code, out, _ := h.run(t, "get")
	require.Zero(t, code)
	require.Regexp(t, `^NAME +STATE`, out)
}

// TestCompletion: the shell completes names from metadata, and values that only the hub, the kubeconfig or the program knows.
func TestCompletion(t *testing.T) {
	t.Parallel()
	h := newOneHub(t)
	h.set.Status.Failures = []workv1alpha1.ClusterFailure{{Cluster: "c1"}, {Cluster: "c2"}}
	h.set.Status.Revisions = []workv1alpha1.RevisionStatus{
		{Name: "web-b", Revision: 2, State: workv1alpha1.RevisionAvailable, ChangeCause: "image\nv2"}, {Name: "web-a", Revision: 1},
	}
	h.metadata = map[string]string{
		"/manifestworkreplicasets": `{"metadata":{"name":"web","namespace":"default"}},{"metadata":{"name":"shop","namespace":"default"}}`,
		"/manifestworks":           `{"metadata":{"name":"w","namespace":"c2"}},{"metadata":{"name":"w","namespace":"c1"}},{"metadata":{"name":"v","namespace":"c1"}}`,
		"/namespaces":              `{"metadata":{"name":"default"}},{"metadata":{"name":"shop"}}`,
	}
	for command, want := range map[string][]string{
		"get ": {"web", "shop"}, "why ": {"web", "shop"}, "why web ": {"c1", "c2"}, "why web c1 ": {},
		"retry ": {"web", "shop"}, "retry web ": {"c1", "c2"}, "retry web c1 ": {"c2"},
		"undo web --to-revision ": {"2\tAvailable image v2", "1"}, "history web --revision ": {"2\tAvailable image v2", "1"},
		"diff web --from ": {"2\tAvailable image v2", "1"}, "diff web --to ": {"2\tAvailable image v2", "1"},
		"export web --to-revision ": {"2\tAvailable image v2", "1"}, "status web --revision ": {"2\tAvailable image v2", "1"},
		"clusters web -o ": {"json", "yaml", "wide", "name", "jsonpath="}, "lint -o ": {"json", "yaml", "sarif", "jsonpath="},
		"doctor -o ": {"json", "yaml", "jsonpath="}, "plan -o ": {"json", "yaml", "jsonpath="},
		"pause web --dry-run ": {"none", "client", "server"}, "get -n ": {"default", "shop"}, "get --context ": {"large"},
	} {
		require.Equal(t, want, h.completes(t, command), command)
	}
	for _, command := range []string{"get ", "why ", "why web ", "get -n "} {
		h.reads = nil
		h.completes(t, command)
		require.Empty(t, h.reads, "%s reads metadata only", command)
	}
	states := h.completes(t, "clusters web --state failed,in")
	require.Contains(t, states, "failed,inflight")
	require.Contains(t, states, "failed,succeeded")
}

// completes returns what the shell offers after a command.
func (h *oneHub) completes(t *testing.T, command string) []string {
	t.Helper()
	kubeconfig, _ := serve(t, h)
	args := append([]string{"__complete", "--kubeconfig", kubeconfig}, strings.Split(command, " ")...)
	var out bytes.Buffer
	require.Zero(t, Run(t.Context(), args, genericiooptions.IOStreams{Out: &out, ErrOut: io.Discard}))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	return lines[:len(lines)-1] // The last line is an instruction for the shell.
}
