package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
)

// restartWorld returns a hub for the tests of restarts, which start and stop its manager. It has no manager yet.
func restartWorld(t *testing.T, name string) *world {
	t.Helper()
	w := privateWorld(t, name)
	require.NoError(t, w.simulateAgents(t.Context()))
	return w
}

// in returns another fleet, in a namespace with this name.
func (f *fleet) in(namespace string) *fleet {
	f.t.Helper()
	g := &fleet{t: f.t, w: f.w, name: f.name, namespace: namespace}
	require.NoError(f.t, f.w.fleet.Namespace(f.t.Context(), namespace))
	for i := range 3 {
		g.join(fmt.Sprintf("c%d", i+1))
	}
	g.place("p1", g.clusters)
	return g
}

// oneWrite lets a process make one write, and then kills it before it gets the response. Events don't count. Of the status patches that
// only report and decide nothing, every third one kills the process: their content depends on what the process has observed (a success
// settles only after a while), so a process that is always killed earlier would never report it.
type oneWrite struct {
	tales   *int
	mu      sync.Mutex
	done    bool
	what    string
	written chan struct{}
}

// tells reports whether a request only reports.
func tells(request *http.Request) (bool, error) {
	if !strings.HasSuffix(request.URL.Path, "/manifestworkreplicasets/web/status") || request.GetBody == nil {
		return false, nil
	}
	body, err := request.GetBody()
	if err != nil {
		return false, err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return false, err
	}
	for _, field := range []string{"abortedTime", "currentRevision", "updateRevision", "collisionCount"} {
		if strings.Contains(string(data), `"`+field+`"`) {
			return false, nil
		}
	}
	return true, nil
}

var errKilled = errors.New("this process was killed")

func (o *oneWrite) wrap(inner http.RoundTripper) http.RoundTripper {
	return manager.RoundTripper(func(request *http.Request) (*http.Response, error) {
		// An access review is a POST, but stores nothing.
		reads := request.Method == http.MethodGet || request.Method == http.MethodHead ||
			strings.HasSuffix(request.URL.Path, "/selfsubjectaccessreviews")
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.done {
			return nil, errKilled
		}
		if reads || strings.Contains(request.URL.Path, "/events") {
			o.mu.Unlock()
			defer o.mu.Lock()
			return inner.RoundTrip(request)
		}
		response, err := inner.RoundTrip(request)
		if err != nil || response.StatusCode >= http.StatusMultipleChoices {
			return response, err
		}
		if only, err := tells(request); err != nil || only {
			if *o.tales++; err != nil || *o.tales%3 != 0 {
				return response, err
			}
		}
		_ = response.Body.Close()
		o.done, o.what = true, request.Method+" "+request.URL.Path
		close(o.written)
		return nil, errKilled
	})
}

// dieAfterEveryWrite runs managers, one after another, each of which is killed after its first write. The returned function ends this.
func (w *world) dieAfterEveryWrite(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var lives []string
	var tales int
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			gate := &oneWrite{tales: &tales, written: make(chan struct{})}
			stop := w.startManager(ctx, settle, gate.wrap)
			select {
			case <-gate.written:
			case <-ctx.Done():
			}
			stop()
			lives = append(lives, gate.what)
		}
	}()
	return func() {
		cancel()
		<-ended
		t.Logf("%d lives", len(lives))
		if t.Failed() {
			t.Log(strings.Join(lives[max(0, len(lives)-40):], "\n"))
		}
	}
}

// P5: if the process is killed after any single write and started again, the final state is the same, and no cluster restarts twice. Here,
// the process is killed after every write.
func TestKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "killed")
	defer w.dieAfterEveryWrite(t)()
	f := (&fleet{t: t, w: w, name: "web"}).in("killed")
	f.create("v1", ref("p1", progressive(2, "2s", 0, abortAll)))
	f.complete()
	f.everywhere("v1")

	f.agentsReport("c2", "v2", hangs)
	f.update("v2")
	mwrs := f.aborted()
	f.everywhere("v1")
	require.Equal(t, f.hash("v1"), mwrs.Status.CurrentRevision)
	require.Equal(t, f.hash("v2"), mwrs.Status.UpdateRevision)

	f.update("v3")
	f.complete()
	f.everywhere("v3")
	f.update("v1")
	mwrs = f.complete()
	f.everywhere("v1")
	require.Equal(t, f.hash("v1"), mwrs.Status.CurrentRevision)
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Nil(t, mwrs.Status.CollisionCount)
	require.Equal(t, []string{"v2", "v3", "v1"}, f.recorded())
	f.quiet()

	for _, cluster := range f.clusters {
		want := []string{"v1", "v2", "v1", "v3", "v1"}
		if !slices.Contains(f.reached("v2"), cluster) {
			want = []string{"v1", "v3", "v1"}
		}
		require.Equal(t, want, f.sequence(cluster), cluster)
		require.EqualValues(t, len(want), f.work(cluster).Generation)
	}
	for _, version := range []string{"v1", "v2", "v3"} {
		require.LessOrEqual(t, f.mostInFlight(version), 2, "P4 for %s", version)
	}
	f.delete()
	f.gone()
}

// The hub is killed after each of its writes, while it releases the workloads and while it takes them over (P5, P11).
func TestPreservingKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	w := privateWorld(t, "preserving")
	defer w.dieAfterEveryWrite(t)()
	newLabFleetIn(w, t, labOptions{}).staysAndIsTakenOver(upstream.Foreground)
}
