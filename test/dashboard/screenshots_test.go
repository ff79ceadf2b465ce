package dashboard

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

var screenshots = flag.String("screenshots", "", "write screenshots of a real run to this directory")

// TestScreenshots writes the screenshot of the README: the moment of an abort in a real run. `make screenshot` runs it.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no -screenshots directory")
	}
	browser := newBrowser(t)
	f := newFleetIn(t, "shop", 6, 60, 174)
	f.create("v1", progressive(120, "30s", 3, workv1alpha1.AbortAll))
	for i, cluster := range f.clusters[:100] {
		switch {
		case i%23 == 7:
			suite.agents.Set(cluster, "v2", degrades)
		case i%3 == 1 || i > 70:
			suite.agents.Set(cluster, "v2", hangs)
		}
	}
	for i := 1; i < 100; i += 4 {
		suite.agents.Set(f.clusters[i], "v1", silent)
	}
	p := f.opens(browser, serve(t, "-n", f.namespace))
	f.update("v2", "web 2.4: new cache")
	p.is("window.dashboard.model.head.counts.Degraded >= 4 && window.dashboard.model.head.counts.InFlight > 20")
	p.is("window.dashboard.model.head.counts.Restoring < 60") // About 25 agents are silent.
	p.is("(() => { document.activeElement.blur(); return true; })()")
	shoot(p, filepath.Join(*screenshots, "readme.png"), [2]int64{1180, 1000}, "light") // Small enough for the README.
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
