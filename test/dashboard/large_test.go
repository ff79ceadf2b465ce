package dashboard

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/fleettest"
	served "github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// manyClusters is the size of a large fleet, and changing is the number of its clusters that change at once.
const (
	manyClusters = 10_000
	changing     = 500
)

// largeHub is a hub with one large fleet in memory. It has no API server, because the test is about the page.
type largeHub struct {
	served.Hub

	mu      sync.Mutex
	objects *view.Objects
}

func (h *largeHub) Scope() string                { return "namespace default" }
func (h *largeHub) Contact() (time.Time, string) { return time.Time{}, "" }

func (h *largeHub) List(context.Context) served.Followed[[]view.Row] {
	return func() ([]view.Row, error) {
		return []view.Row{{Namespace: "default", Name: "web", State: "RollingOut", Selected: manyClusters}}, nil
	}
}

func (h *largeHub) Follow(context.Context, string, string) served.Followed[*view.Objects] {
	return func() (*view.Objects, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.objects, nil
	}
}

func (h *largeHub) set(objects *view.Objects) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.objects = objects
}

// The map of 10,000 clusters is drawn quickly, and stays smooth while 500 of them change. The bounds are generous, because the machine may
// be busy; the log has the figures.
func TestLargeFleet(t *testing.T) {
	browser := newBrowser(t)
	begin := time.Now().Add(-time.Minute).Truncate(time.Second)
	hub := &largeHub{objects: fleettest.Objects(manyClusters, begin)}
	server, err := served.Listen(t.Context(), hub, 0, false, time.Now)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	defer func() { cancel(); require.NoError(t, <-done) }()

	p := newTab(t, browser)
	p.run(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(server.Address()))
	p.shows("default/web")
	opened := time.Now()
	p.click("default/web")
	p.is(fmt.Sprintf("window.dashboard?.map.names.length === %d && window.dashboard.map.took > 0", manyClusters))
	t.Logf("first picture of %d cells after %s", manyClusters, time.Since(opened).Round(10*time.Millisecond))

	drawn := must[float64](p, "(() => { const m = window.dashboard.map; m.draw(); m.canvas.getContext('2d').getImageData(0, 0, 1, 1); return m.took; })()")
	t.Logf("one drawing of all cells took %.0f ms, each cell is %v px", drawn, must[int](p, "window.dashboard.map.size"))
	require.Less(t, drawn, 5000.0)

	// 500 cells change in each frame for 1.5 seconds.
	fps := must[float64](p, fmt.Sprintf(`new Promise((done) => {
		const { map } = window.dashboard;
		let frames = 0;
		const begin = performance.now();
		function frame() {
			const index = Array.from({ length: %d }, (_, k) => (k * 17 + frames * 31) %% map.names.length);
			map.change(index, index.map((i) => (i + frames) %% 12));
			frames++;
			const took = performance.now() - begin;
			if (took < 1500) requestAnimationFrame(frame); else done(frames * 1000 / took);
		}
		requestAnimationFrame(frame);
	})`, changing))
	t.Logf("%.0f frames a second while %d cells change in each", fps, changing)
	require.Greater(t, fps, 3.0)

	var names []string
	for i := range changing {
		names = append(names, fmt.Sprintf("c%d", i*20+1))
	}
	hub.set(fleettest.Objects(manyClusters, begin, names...))
	p.is(fmt.Sprintf("window.dashboard.model.head.counts.InFlight === %d", changing))
	p.is(fmt.Sprintf("window.dashboard.model.cells.filter((cell) => cell.state === 'InFlight').length === %d", changing))

	heap, err := chromedp.Call(p.ctx, runtime.GetHeapUsage, cdp.Empty{})
	require.NoError(t, err)
	used := (heap.UsedSize + heap.EmbedderHeapUsedSize + heap.BackingStorageSize) / 1e6
	t.Logf("the page uses %.0f MB of memory for scripts, the document and their data", used)
	require.Less(t, used, 150.0)
	p.quiet()
}
