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

// A browser opens six connections to a server. With seven tabs, the page still opens and acts. A hidden tab does not send requests, and
// shows the current state when it is visible again.
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

// An address with an unencoded part leads to a name that does not exist.
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

// If the command can't be reached, the page is not live. It shows the last state, and becomes live again without a reload.
func TestCommandAway(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	p := f.opens(browser, serve(t, "-n", f.namespace))
	p.shows("Complete", "Live")
	p.is("(() => { window.really = window.fetch; window.fetch = async () => { throw new TypeError('away'); }; return true; })()")
	p.shows("The command has ended or can’t be reached", "2 of 2 clusters confirmed revision 1.")
	p.is("(() => { window.fetch = window.really; return true; })()")
	p.shows("Live · namespace " + f.namespace)
	p.quiet()
}

// A page that gets no state is not live, regardless of the reason: the command reads again after the tab was hidden, a permission was
// revoked, or another command uses the port.
func TestAnswersWithoutState(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	p := f.opens(browser, serve(t, "-n", f.namespace))
	p.is("(() => { window.really = window.fetch; return true; })()")
	for _, answer := range []struct {
		status     int
		body, says string
	}{
		{200, `{"now": Date.now(), "scope": "x"}`, "Reading from the hub"},
		{200, `{"now": Date.now(), "scope": "x", "error": "not yours"}`, "Not live: the newest state can’t be shown"},
		{401, `{"error": "wrong token"}`, "Not live: the newest state can’t be shown"},
	} {
		p.shows("Complete", "Live · namespace "+f.namespace)
		p.is(fmt.Sprintf("(() => { window.fetch = async () => new Response(JSON.stringify(%s), { status: %d }); return true; })()",
			answer.body, answer.status))
		p.shows(answer.says, "This state may be out of date: 2 of 2 clusters confirmed revision 1.")
		p.is("(() => { window.fetch = window.really; return true; })()")
	}
	p.quiet()
}
