package dashboard

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
)

// awayFor returns the duration of an outage in seconds, as the page shows it.
const awayFor = `(() => {
	const said = /The first request failed (?:(\d+)m)?(?:(\d+)s)? ago/.exec(document.body.innerText);
	return said ? 60 * Number(said[1] ?? 0) + Number(said[2] ?? 0) : 0;
})()`

// The API server is unavailable for a minute: the page shows the outage and its duration, keeps the last state, and then becomes live again
// without a reload.
func TestAPIServerAway(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	p := f.opens(browser, serve(t, "-n", f.namespace))
	p.shows("Complete", "Live")
	require.NoError(t, suite.plane.Stop())
	p.shows("The API server can’t be reached", "Not live", "This state may be out of date: 2 of 2 clusters confirmed revision 1.")
	p.is(awayFor + " >= 30") // Each wait has a time limit, so the minute takes two waits.
	p.is(awayFor + " >= 60")
	p.shows("The API server can’t be reached", "Not live", "This state may be out of date: 2 of 2 clusters confirmed revision 1.")
	require.NoError(t, suite.plane.Start(t.Context()))
	p.shows("Live")
	f.update("v2", "after the outage")
	p.shows("2 of 2 clusters confirmed revision 2.", "after the outage")
}

// The page names a missing permission. With permission to read only ManifestWorkReplicaSets, it shows their content.
func TestWithoutRights(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	config, err := suite.plane.UserConfig("nobody")
	require.NoError(t, err)
	path := t.TempDir() + "/kubeconfig"
	require.NoError(t, controlplane.WriteKubeconfig(path, "hub", config))
	p := newTab(t, browser)
	p.run(chromedp.Navigate(serveWith(t, path, "-n", f.namespace).address))
	p.shows(`User "nobody" cannot list resource "manifestworkreplicasets"`)

	f.grantReplicaSets("nobody")
	d := serveWith(t, path, "-n", f.namespace)
	p = newTab(t, browser)
	p.run(chromedp.Navigate(d.address))
	p.click(f.namespace + "/web")
	p.shows("Complete", "no permission to watch manifestworks.work.open-cluster-management.io in all namespaces")
	p.click("Pause …")
	p.shows("Pause the rollout of")
	p.click("Pause")
	p.shows(`cannot patch resource "manifestworkreplicasets"`)
}

// An object that is deleted while it is shown stays on the page. The page reports the deletion until the object is created again.
func TestDeletedWhileShown(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	p := f.opens(browser, serve(t, "-n", f.namespace))
	p.shows("2 of 2 clusters confirmed revision 1.")
	sets := suite.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace)
	require.NoError(t, sets.Delete(t.Context(), "web", metav1.DeleteOptions{}))
	p.shows("was deleted")
	p.is("document.querySelector('[data-verb=abort]') === null")
	f.create("v1", progressive(2, "10m", 0, ""))
	p.shows("Live · namespace "+f.namespace, "2 of 2 clusters confirmed revision 1.")
	p.is("!document.body.innerText.includes('was deleted') && document.querySelector('[data-verb=abort]') !== null")
	require.NoError(t, sets.Delete(t.Context(), "web", metav1.DeleteOptions{}))
	p.shows("was deleted")
	p.click("Rollouts")
	p.shows("There are no ManifestWorkReplicaSets in namespace " + f.namespace)
	p.quiet()
}

// A page without the token, or with a wrong token, shows nothing. With --read-only, the page has no actions, and the server rejects all
// actions.
func TestReadOnlyAndToken(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	d := serve(t, "-n", f.namespace, "--read-only")
	stranger := newTab(t, browser)
	stranger.run(chromedp.Navigate(d.base() + "#token=guessed"))
	stranger.shows("the token is missing or wrong")
	stranger.is("!document.body.innerText.includes('web')")

	p := f.opens(browser, d)
	p.shows("Read-only", "read-only")
	p.is("location.hash.indexOf('token=') < 0 && document.querySelector('[data-verb=abort]') === null")
	status := must[int](p, `fetch('/api/sets/`+f.namespace+`/web/act', {method: 'POST', body: '{"verb":"pause","confirmed":"x"}',
		headers: {'Content-Type': 'application/json', 'X-Dashboard-Token': `+"'"+d.token()+"'"+`}}).then((a) => a.status)`)
	require.Equal(t, 403, status)
	p.run(chromedp.Reload())
	p.shows(f.namespace+"/web", "2 of 2 clusters confirmed revision 1.")
	require.Empty(t, must[string](p, "document.cookie"))
}
