package dashboard

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/fleettest"
	served "github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// previews responds to each preview when the test allows it.
type previews struct {
	*largeHub
	asked  atomic.Int32
	answer chan struct{}
}

func (h *previews) Preview(ctx context.Context, a *served.Action, _ *view.Objects) (*served.Preview, error) {
	h.asked.Add(1)
	select {
	case <-h.answer:
	case <-ctx.Done():
	}
	return &served.Preview{Effect: view.Effect{Verb: a.Verb, Question: "Abort it?", Clusters: 1}}, nil
}

// openMoment serves a fleet in a state, and opens its page.
func openMoment(t *testing.T, hub served.Hub) *tab {
	t.Helper()
	browser := newBrowser(t)
	server, err := served.Listen(t.Context(), hub, 0, false, time.Now)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	p := newTab(t, browser)
	p.run(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(server.Address()))
	p.shows("default/web")
	p.is("(() => { location.hash = '#/shop/checkout'; return true; })()")
	p.is("window.dashboard?.map.took > 0")
	return p
}

// mouse sends a mouse event at the middle of an element.
func (p *tab) mouse(kind input.DispatchMouseEventType, selector string) {
	p.t.Helper()
	at := must[[]float64](p, fmt.Sprintf("(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()", selector))
	_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, ClickCount: 1,
	})
	require.NoError(p.t, err)
}

// An update between mouse down and mouse up does not lose the click, and keeps a selection of text. A dialog that still loads can be
// closed.
func TestUpdateInPlace(t *testing.T) {
	now := time.Now()
	hub := &previews{
		largeHub: &largeHub{objects: fleettest.InState("failing", 20, now)}, answer: make(chan struct{}),
	}
	p := openMoment(t, hub)
	update := func(state string) {
		hub.set(fleettest.InState(state, 20, now))
		p.is(fmt.Sprintf("document.querySelector('.chip').innerText === %q", map[string]string{"failing": "Rolling out", "paused": "Paused"}[state]))
	}
	p.is("(() => { getSelection().selectAllChildren(document.querySelector('.revisions li b:nth-child(2)')); return true; })()")
	p.is("getSelection().toString() === 'checkout 4.2: new cache'")
	p.mouse(input.DispatchMouseEventTypeMousePressed, "[data-verb=undo]")
	update("paused")
	p.mouse(input.DispatchMouseEventTypeMouseReleased, "[data-verb=undo]")
	p.shows("Undo shop/checkout", "Reading …")
	p.click("Cancel")
	p.is("document.querySelector('dialog') === null")
	p.is("(() => { getSelection().selectAllChildren(document.querySelector('.revisions li b:nth-child(2)')); return true; })()")
	update("failing")
	p.is("getSelection().toString() === 'checkout 4.2: new cache'")

	p.mouse(input.DispatchMouseEventTypeMousePressed, "[data-verb=abort]")
	update("paused")
	p.mouse(input.DispatchMouseEventTypeMouseReleased, "[data-verb=abort]")
	p.shows("Abort shop/checkout")
	close(hub.answer)
	p.shows("Abort it?")
	require.EqualValues(t, 2, hub.asked.Load())
	p.quiet()
}

// The numbers on the page agree, states are words, Abort is set apart from the other actions, even on a phone, and the latest event comes
// first.
func TestPageAgreesWithItself(t *testing.T) {
	hub := &largeHub{objects: fleettest.InState("failing", 240, time.Now())}
	p := openMoment(t, hub)
	p.shows("Rolling out", "returns 80 clusters to revision 6", "abort at the 3rd failure")
	p.is("document.querySelector('.legend').textContent.includes('Succeeded 55')")
	p.is("document.querySelector('.track').parentElement.ariaLabel.includes('55 succeeded')")
	for _, width := range []int64{390, 1280} {
		p.run(chromedp.EmulateViewport(width, 860))
		apart := must[float64](p, `(() => {
			const [a, b] = ['abort', 'undo'].map((verb) => document.querySelector('[data-verb=' + verb + ']').getBoundingClientRect());
			return Math.max(a.left - b.right, a.top - b.bottom);
		})()`)
		require.GreaterOrEqual(t, apart, 16.0, "Abort is beside Undo at %d px", width)
	}
	// On a phone, no action moves when the facts change.
	p.run(chromedp.EmulateViewport(390, 860))
	const places = `[...document.querySelectorAll('[data-verb=undo], [data-verb=abort]')].map((e) => [e.getBoundingClientRect().x, e.getBoundingClientRect().y])`
	before := must[[][]float64](p, places)
	require.Len(t, before, 2)
	for state, headline := range map[string]string{
		"aborted": "Every cluster has revision 6 again", "returning": "The hub waits for", "rolling": "are expected in", "paused": "waits for the end of the pause",
	} {
		hub.set(fleettest.InState(state, 240, time.Now()))
		p.shows(headline)
		require.Equal(t, before, must[[][]float64](p, places), state)
	}
	p.run(chromedp.EmulateViewport(1280, 860))
	hub.set(fleettest.InState("failing", 240, time.Now()))
	p.shows("returns 80 clusters to revision 6")
	p.is("(() => { const at = [...document.querySelectorAll('.timeline time')].map((e) => e.dateTime); return at.length > 2 && at.every((t, i) => !i || t <= at[i - 1]); })()")
	p.is("!/[a-z][A-Z][a-z]/.test(document.querySelector('main').innerText.replace(/maxFailures|AbortAll|ImagePullBackOff|progressDeadline/g, ''))")
}
