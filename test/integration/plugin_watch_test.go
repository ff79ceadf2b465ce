package integration

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
)

// following is a plugin command that runs until the test stops it.
type following struct {
	t    *testing.T
	mu   sync.Mutex
	out  bytes.Buffer
	stop context.CancelFunc
	code chan int
}

func (w *following) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *following) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

var gaps = regexp.MustCompile(" +")

// watch starts a plugin command whose output goes to a pipe.
func (f *fleet) watch(args ...string) *following {
	f.t.Helper()
	kubeconfig, err := f.w.plane.Kubeconfig(f.t.TempDir() + "/kubeconfig")
	require.NoError(f.t, err)
	ctx, stop := context.WithCancel(f.t.Context())
	w := &following{t: f.t, stop: stop, code: make(chan int, 1)}
	f.t.Cleanup(stop)
	go func() {
		w.code <- plugin.Run(ctx, append(args, "--kubeconfig", kubeconfig, "-n", f.namespace),
			genericiooptions.IOStreams{In: strings.NewReader(""), Out: w, ErrOut: w})
	}()
	return w
}

// shows waits until the output contains the text. It ignores the width of the gaps between cells.
func (w *following) shows(text string) {
	w.t.Helper()
	eventually(w.t, "the output has "+text, func() error {
		if out := w.text(); !strings.Contains(gaps.ReplaceAllString(out, " "), text) {
			return fmt.Errorf("it is\n%s", out)
		}
		return nil
	})
}

// `list -w` prints the list, then a row for each change, and a row when an object is deleted. Ctrl-C ends it with 0.
func TestPluginListWatches(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "10m", 0))
	w := f.watch("list", "-w")
	w.shows("\nweb Complete")
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	w.shows("\nweb RollingOut")
	f.agentsReport("c1", "v2", succeeds)
	f.complete()
	w.shows(" 2 2 2/2")
	f.delete()
	w.shows("\nweb Deleted")
	w.stop()
	require.Zero(t, <-w.code)

	out := w.text()
	require.Equal(t, 1, strings.Count(out, "NAME"), "one header")
	rows := strings.Split(strings.TrimSpace(out), "\n")
	require.NotContains(t, rows[1:], rows[0])
	for i := 2; i < len(rows); i++ {
		require.NotEqual(t, rows[i-1], rows[i], "no row is printed twice:\n%s", out)
	}
}

// Without permission to watch, `-w` names the permission: `get -w` shows the rest, and `list -w` ends after the list.
func TestPluginWithoutWatch(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("10m", 0))
	f.grant(func(resource string) []string {
		if resource == "manifestworks" || resource == "placementdecisions" {
			return []string{"get", "list"}
		}
		return []string{"get", "list", "watch"}
	})
	reader := "system:serviceaccount:" + f.namespace + ":reader"
	w := f.watch("get", "web", "-w", "--as", reader)
	w.shows("no permission to watch manifestworks.work.open-cluster-management.io in all namespaces: only the clusters in")
	w.shows("no permission to watch placementdecisions.cluster.open-cluster-management.io in namespace " + f.namespace)
	w.shows("Complete")
	w.shows("2 of 2 clusters confirmed revision 1")
	w.stop()
	require.Zero(t, <-w.code)

	user := "list-only"
	f.grantReplicaSets(user, "get", "list")
	result := f.mwrs("list", "-w", "--as", user)
	require.Equal(t, 1, result.code)
	require.Regexp(t, "web +Complete", result.out)
	require.Contains(t, result.errors, `cannot watch resource "manifestworkreplicasets"`)
	result = f.mwrs("get", "web", "-w", "--as", user)
	require.Equal(t, 1, result.code, result.out)
	require.Contains(t, result.errors, `cannot watch resource "manifestworkreplicasets"`)
}
