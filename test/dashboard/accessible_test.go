package dashboard

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

//go:embed testdata/accessible.js
var accessible string

// Each part of the page has names for screen readers, has enough contrast, and fits the width of its window: dark and light, on a phone and
// on a large screen. Everything works with the keyboard.
func TestAccessible(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 1, 3)
	f.create("v1", progressive(2, "2s", 0, ""))
	suite.agents.Set(f.clusters[0], "v2", degrades)
	f.update("v2", "a change with a very long cause: "+strings.Repeat("verylongwordwithoutanybreak", 4))
	f.becomes(workv1alpha1.StateStalled)
	d := serve(t, "-n", f.namespace)
	p := newTab(t, browser)
	p.run(chromedp.Navigate(d.address))
	p.shows(f.namespace+"/web", "Stalled", "1 need attention")
	p.accessible("list")

	// With the keyboard: the link, the map, a cell, its story, the legend's filter.
	must[bool](p, "document.querySelector('.list a').focus() ?? true")
	p.keys("\r")
	p.is("window.dashboard?.model.cells.length === 4")
	p.accessible("set")
	p.keys("m", kbDown, kbRight)
	p.is("window.dashboard.map.selected === 1 && !document.querySelector('.tip').hidden")
	p.is("document.getElementById('announce').textContent.includes('" + f.clusters[1] + "')")
	p.keys(kbHome, "\r")
	p.shows("the hub recorded a failure", "Retry "+f.clusters[0])
	p.accessible("why")
	p.keys("\x1b")
	p.is("document.getElementById('panel').children.length === 0 && document.activeElement === window.dashboard.map.canvas")
	p.keys("/", "eu2")
	p.shows("1 of 4 clusters")
	p.is("window.dashboard.map.dim[0] === 1")
	must[bool](p, "(() => { const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')); s.blur(); return true; })()")
	p.click("Failed")
	p.shows("1 of 4 clusters")
	p.click("Failed")
	p.keys("p")
	p.shows("the hub starts no further clusters", "Limits")
	p.accessible("plan")
	p.keys("\x1b")
	p.click("Undo …")
	p.shows("Restore the template of revision 1")
	p.accessible("undo")
	p.keys("\x1b")
	p.is("document.querySelector('dialog') === null")

	p.click("Retry …")
	p.shows("Retry all 1 cluster")
	suite.agents.Set(f.clusters[0], "v2", succeeds)
	p.click("Retry")
	p.shows("Complete", "4 of 4 clusters confirmed revision 2.")
	saved := must[string](p, `(async () => {
		let found = null;
		const create = URL.createObjectURL;
		URL.createObjectURL = (blob) => { found = blob; return create(blob); };
		[...document.querySelectorAll('button')].find((b) => b.innerText === 'Save report').click();
		while (!found) await new Promise((done) => { setTimeout(done, 50); });
		return found.text();
	})()`)
	require.Contains(t, saved, "<!DOCTYPE html>")
	require.NotContains(t, saved, "hidden-v")
	p.quiet()
}

const (
	kbDown  = kb.ArrowDown
	kbRight = kb.ArrowRight
	kbHome  = kb.Home
)

// keys presses keys.
func (p *tab) keys(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.run(chromedp.KeyEvent(key))
	}
}

// accessible checks the page in both color schemes and in two sizes.
func (p *tab) accessible(what string) {
	p.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		require.NoError(p.t, err)
		for _, width := range []int64{360, 1280} {
			p.run(chromedp.EmulateViewport(width, 800))
			must[bool](p, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
			require.Empty(p.t, must[[]string](p, accessible), "%s, %s, %d px", what, scheme, width)
		}
	}
}
