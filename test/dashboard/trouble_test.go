package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The API server is away for a while: the page says so, keeps what it saw, and is live again by itself.
func TestZAPIServerAway(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	p := f.opens(browser, serve(t, "-n", f.namespace))
	p.shows("Complete", "Live")
	require.NoError(t, suite.plane.Stop())
	p.shows("The API server can’t be reached", "2 of 2 clusters confirmed revision 1")
	require.NoError(t, suite.plane.Start(t.Context()))
	p.shows("Live")
	f.update("v2", "after the outage")
	p.shows("2 of 2 clusters confirmed revision 2", "after the outage")
}

// Without a right, the page names it. With the right to read only ManifestWorkReplicaSets, it shows what they tell.
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

// An object that is deleted while it is shown stays on the page, and the page says that it is gone.
func TestDeletedWhileShown(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	p := f.opens(browser, serve(t, "-n", f.namespace))
	p.shows("2 of 2 clusters confirmed revision 1")
	sets := suite.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace)
	require.NoError(t, sets.Delete(t.Context(), "web", metav1.DeleteOptions{}))
	p.shows("was deleted", f.clusters[0])
	p.is("document.querySelector('[data-verb=abort]') === null")
	p.click("Rollouts")
	p.shows("There are no ManifestWorkReplicaSets in namespace " + f.namespace)
	p.quiet()
}

// A page without the token, or with a wrong one, shows nothing. With --read-only, it has no actions, and the server refuses them.
func TestReadOnlyAndToken(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	d := serve(t, "-n", f.namespace, "--read-only")
	stranger := newTab(t, browser)
	stranger.run(chromedp.Navigate(d.base() + "#token=guessed"))
	stranger.shows("The token is missing or wrong")
	stranger.is("!document.body.innerText.includes('web')")

	p := f.opens(browser, d)
	p.shows("Read-only", "read-only")
	p.is("location.hash.indexOf('token') < 0 && document.querySelector('[data-verb=abort]') === null")
	status := must[int](p, `fetch('/api/sets/`+f.namespace+`/web/act', {method: 'POST', body: '{"verb":"pause","confirmed":"x"}',
		headers: {'Content-Type': 'application/json', 'X-Dashboard-Token': `+"'"+d.token()+"'"+`}}).then((a) => a.status)`)
	require.Equal(t, 403, status)
	p.run(chromedp.Reload())
	p.shows(f.namespace+"/web", "2 of 2 clusters confirmed revision 1")
	require.Empty(t, must[string](p, "document.cookie"))
}

// Another page in the same browser, on another port and under a name that it resolves to 127.0.0.1, neither reads nor changes anything.
func TestAttackByAnotherPage(t *testing.T) {
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	d := serve(t, "-n", f.namespace)
	port := strings.TrimSuffix(d.base()[strings.LastIndex(d.base(), ":")+1:], "/")
	browser := newBrowser(t, "host-resolver-rules=MAP rebound.example 127.0.0.1")
	victim := f.opens(browser, d)
	victim.shows("Complete")

	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><title>evil</title><iframe id=frame></iframe>"))
	}))
	defer evil.Close()
	attack := func(base string) string {
		return `(async () => {
			const base = '` + base + `', act = base + 'api/sets/` + f.namespace + `/web/act', body = '{"verb":"pause","confirmed":"Pause the rollout of ` + f.namespace + `/web?"}';
			const seen = [];
			const read = async (name, url, options) => {
				try { const a = await fetch(url, options); const text = await a.text(); if (a.ok && a.type !== 'opaque') seen.push(name + ': ' + text.slice(0, 80)); } catch { /* Refused. */ }
			};
			await read('list', base + 'api/list');
			await read('list with credentials', base + 'api/list', { credentials: 'include' });
			await read('guess', base + 'api/list', { headers: { 'X-Dashboard-Token': 'x' } });
			await read('simple post', act, { method: 'POST', body, mode: 'no-cors' });
			await read('text', act, { method: 'POST', body, headers: { 'Content-Type': 'text/plain' } });
			await read('json', act, { method: 'POST', body, headers: { 'Content-Type': 'application/json', 'X-Dashboard-Token': 'x' } });
			await read('once', base + 'api/open', { method: 'POST', body: '{"once":""}', mode: 'no-cors' });
			navigator.sendBeacon(act, body);
			const form = document.createElement('form');
			Object.assign(form, { method: 'post', action: act, enctype: 'text/plain', target: 'none' });
			form.append(Object.assign(document.createElement('input'), { name: body.slice(0, -1) + ',"x":"', value: '"}' }));
			document.body.append(form);
			form.submit();
			const script = await new Promise((done) => {
				const s = Object.assign(document.createElement('script'), { src: base + 'api/list', onload: () => done('loaded'), onerror: () => done('') });
				document.body.append(s);
			});
			if (script) seen.push('script');
			const popup = window.open(base);
			await new Promise((done) => { setTimeout(done, 300); });
			try { if (popup?.document.body.innerText.includes('web')) seen.push('popup'); } catch { /* Another origin. */ }
			try { if (popup?.sessionStorage.length) seen.push('storage'); } catch { /* Another origin. */ }
			return seen;
		})()`
	}
	page := newTab(t, browser)
	for _, from := range []string{evil.URL, strings.Replace(evil.URL, "127.0.0.1", "localhost", 1)} {
		page.run(chromedp.Navigate(from))
		require.Empty(t, must[[]string](page, attack(d.base())))
	}
	// DNS rebinding: the name of the attacker now leads to the dashboard. To the browser it is the same origin.
	page.run(chromedp.Navigate("http://rebound.example:" + port + "/"))
	page.shows("the Host header does not name this server")
	require.Empty(t, must[[]string](page, attack("http://rebound.example:"+port+"/")))
	// A frame stays empty.
	page.run(chromedp.Navigate(evil.URL))
	page.is(`new Promise((done) => { const f = document.getElementById('frame'); f.onload = () => done(f.contentDocument === null); f.src = '` + d.base() + `'; })`)
	require.False(t, f.get().Spec.Paused, "an attack paused the rollout")
	f.becomes(workv1alpha1.StateComplete)

	// The page itself can.
	victim.click("Pause …")
	victim.click("Pause")
	victim.shows("Paused")
}
