package dashboard

import (
	"fmt"
	"testing"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// hide makes the page believe that its tab is hidden, or visible again. A headless browser shows all tabs.
func (p *tab) hide(hidden bool) {
	p.t.Helper()
	p.is(fmt.Sprintf(`(() => {
		Object.defineProperty(document, 'hidden', { configurable: true, get: () => %v });
		document.dispatchEvent(new Event('visibilitychange'));
		return true;
	})()`, hidden))
}

// A browser opens six connections to a server. With seven tabs, the page still opens and acts: a hidden tab has no stream. It shows the
// present again when it is visible.
func TestSevenTabs(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	d := serve(t, "-n", f.namespace)
	tabs := make([]*tab, 7)
	for i := range tabs {
		tabs[i] = f.opens(browser, d)
		tabs[i].shows("Complete")
		tabs[i].hide(i < len(tabs)-1)
	}
	last := tabs[len(tabs)-1]
	last.click("Pause …")
	last.shows("Pause the rollout of")
	last.click("Pause")
	last.shows("Paused")
	f.becomes(workv1alpha1.StatePaused)
	last.hide(true)
	tabs[0].hide(false)
	tabs[0].shows("Paused", "Live")
	for _, p := range tabs {
		p.quiet()
	}
}

// A part of the address that is not encoded is a name that does not exist.
func TestAddressThatIsNotEncoded(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	p := f.opens(browser, serve(t, "-n", f.namespace))
	p.shows("Complete")
	p.is("(() => { location.hash = '#/%'; return true; })()")
	p.shows(f.namespace + "/web")
	p.quiet()
}

// A separator that arrives in two parts delays no event. A stream without beats is not live after a few seconds, and begins again.
func TestStreamThatFallsSilent(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	p := f.opens(browser, serve(t, "-n", f.namespace))
	p.shows("Complete", "Live")
	p.is(`(() => {
		window.really = window.fetch;
		window.fetch = async () => new Response(new ReadableStream({ start: (to) => {
			window.send = (text) => to.enqueue(new TextEncoder().encode(text));
			window.send('event: hello\ndata: {"scope":"a stream of the test","readOnly":true,"now":0}\n');
		} }));
		return true;
	})()`)
	p.hide(true)
	p.hide(false)
	p.is("typeof window.send === 'function'")
	p.is("(() => { window.send('\\n'); return true; })()")
	p.shows("Live, read-only · a stream of the test")
	p.shows("The command has ended or can’t be reached")
	p.is("(() => { window.fetch = window.really; return true; })()")
	p.shows("Live · namespace " + f.namespace)
}
