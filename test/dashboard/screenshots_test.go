package dashboard

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

var screenshots = flag.String("screenshots", "", "write screenshots of a real run to this directory")

// sizes are the sizes of the screenshots: a phone, a laptop, and a 4K screen.
var sizes = map[string][2]int64{"phone": {360, 740}, "laptop": {1280, 860}, "4k": {3840, 2160}}

// TestScreenshots writes screenshots of a rollout in each size, dark and light, and of what the page does. `make screenshot` runs it.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no -screenshots directory")
	}
	browser := newBrowser(t)
	f := newFleetIn(t, "shop", 6, 60, 174)
	f.create("v1", progressive(120, "10m", 3, workv1alpha1.AbortAll))
	for i, cluster := range f.clusters[:100] {
		switch {
		case i%23 == 7:
			suite.agents.set(cluster, "v2", degrades)
		case i%3 == 1 || i > 70:
			suite.agents.set(cluster, "v2", hangs)
		}
	}
	p := f.opens(browser, serve(t, "-n", f.namespace))
	f.update("v2", "web 2.4: new cache")
	p.is("window.dashboard.model.head.counts.Degraded >= 4 && window.dashboard.model.head.counts.InFlight > 20")
	for scheme, dark := range map[string]string{"light": "light", "dark": "dark"} {
		for name, size := range sizes {
			shoot(p, filepath.Join(*screenshots, fmt.Sprintf("%s-%s.png", name, scheme)), size, dark)
		}
	}
	shoot(p, filepath.Join(*screenshots, "readme.png"), [2]int64{1000, 720}, "light") // Small enough for the README.
	p.click("Plan")
	p.shows("Limits")
	shoot(p, filepath.Join(*screenshots, "plan.png"), sizes["laptop"], "light")
	p.click("Simulate")
	p.is("document.querySelector('.form') !== null")
	must[bool](p, "document.querySelector('form').requestSubmit() ?? true")
	p.shows("Film of a typical run")
	p.is("(() => { const r = document.querySelector('.panel input[type=range]'); r.value = r.max * 0.6; r.dispatchEvent(new Event('input')); return true; })()")
	shoot(p, filepath.Join(*screenshots, "simulate.png"), sizes["laptop"], "dark")
	p.run(chromedp.KeyEvent("\x1b"))
	p.click("Abort …")
	p.shows("The hub will write to")
	shoot(p, filepath.Join(*screenshots, "abort.png"), sizes["laptop"], "light")
	p.click("Abort:")
	p.shows("Aborted", "240 of 240 clusters confirmed revision 1")
	p.is("(() => { const r = document.querySelector('.scrub input'); r.value = r.max / 2; r.dispatchEvent(new Event('input')); scrollTo(0, 0); return true; })()")
	shoot(p, filepath.Join(*screenshots, "aborted.png"), sizes["laptop"], "light")
}

// shoot writes a screenshot.
func shoot(p *tab, path string, size [2]int64, scheme string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(p.t, err)
	p.run(chromedp.EmulateViewport(size[0], size[1]))
	must[bool](p, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
	image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(p.t, os.WriteFile(path, image, 0o600))
}
