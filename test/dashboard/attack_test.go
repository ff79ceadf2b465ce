package dashboard

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// evilPage is the page of an attacker.
func evilPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write([]byte("<!DOCTYPE html><title>evil</title><iframe id=frame></iframe>"))
}

// rebinding listens on an address of the attacker. After rebind, all its connections lead to the dashboard. The Host header still has the
// name that the browser uses.
func rebinding(t *testing.T, dashboard, address string) (rebind func()) {
	t.Helper()
	target, err := url.Parse(dashboard)
	require.NoError(t, err)
	var rebound atomic.Bool
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rebound.Load() {
			proxy.ServeHTTP(w, r)
			return
		}
		evilPage(w, r)
	}))
	require.NoError(t, server.Listener.Close())
	server.Listener, err = net.Listen("tcp4", address)
	require.NoError(t, err)
	server.Start()
	t.Cleanup(server.Close)
	return func() { rebound.Store(true) }
}

// Another page in the same browser can neither read nor change anything. It is on another port, and its name resolves to 127.0.0.1.
func TestAttackByAnotherPage(t *testing.T) {
	f := newFleet(t, 2)
	f.create("v1", progressive(2, "10m", 0, ""))
	d := serve(t, "-n", f.namespace)
	port := strings.TrimSuffix(d.base()[strings.LastIndex(d.base(), ":")+1:], "/")
	browser := newBrowser(t, "host-resolver-rules=MAP rebound.example 127.0.0.2")
	victim := f.opens(browser, d)
	victim.shows("Complete")

	evil := httptest.NewServer(http.HandlerFunc(evilPage))
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
	// DNS rebinding: the page was loaded from the attacker, under a name that now leads to the dashboard. To the browser, both have the same
	// origin.
	rebind := rebinding(t, d.base(), "127.0.0.2:"+port)
	page.run(chromedp.Navigate("http://rebound.example:" + port + "/"))
	page.is("document.title === 'evil'")
	rebind()
	require.Empty(t, must[[]string](page, attack("http://rebound.example:"+port+"/")))
	require.Equal(t, "the Host header does not name this server", must[map[string]string](page, "fetch('/').then((a) => a.json())")["error"])
	// A frame stays empty.
	page.run(chromedp.Navigate(evil.URL))
	page.is(`new Promise((done) => { const f = document.getElementById('frame'); f.onload = () => done(f.contentDocument === null); f.src = '` + d.base() + `'; })`)
	require.False(t, f.get().Spec.Paused, "an attack paused the rollout")
	f.becomes(workv1alpha1.StateComplete)

	// The dashboard's own page can.
	victim.click("Pause …")
	victim.shows("Pause the rollout of")
	victim.click("Pause")
	victim.shows("Paused")
}
