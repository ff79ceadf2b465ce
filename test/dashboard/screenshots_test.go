package dashboard

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/fleettest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

var screenshots = flag.String("screenshots", "", "write screenshots of a real run to this directory")

// widths are the sizes of the windows of the screenshots.
var widths = map[int64]int64{390: 844, 1280: 860, 2560: 1440}

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
	shoot(p, filepath.Join(*screenshots, "failing.png"), [2]int64{1280, 860}, "light")
	p.click("Plan")
	p.shows("Limits")
	shoot(p, filepath.Join(*screenshots, "plan.png"), [2]int64{1280, 860}, "light")
	p.run(chromedp.KeyEvent("\x1b"))
	p.click("Abort …")
	p.shows("The hub will write to")
	shoot(p, filepath.Join(*screenshots, "dialog.png"), [2]int64{1280, 860}, "light")
	p.run(chromedp.KeyEvent("\x1b"))
	p.is("window.dashboard.model.head.counts.Restoring < 60") // About 25 agents are silent.
	p.is("(() => { document.activeElement.blur(); return true; })()")
	shoot(p, filepath.Join(*screenshots, "readme.png"), [2]int64{1180, 1000}, "light") // Small enough for the README.
}

// TestMoments writes a screenshot of each state of a rollout, for fleets of several sizes, in each width, dark and light.
func TestMoments(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no -screenshots directory")
	}
	for _, clusters := range []int{20, 240, manyClusters} {
		hub := &largeHub{objects: fleettest.InState("rolling", clusters, time.Now())}
		p := openMoment(t, hub)
		for _, state := range fleettest.States {
			objects := fleettest.InState(state, clusters, time.Now())
			hub.set(objects)
			p.is(fmt.Sprintf("document.querySelector('.headline').innerText.includes(%q)", view.Of(objects).Headline.Before))
			for width, height := range widths {
				for _, scheme := range []string{"light", "dark"} {
					name := fmt.Sprintf("%s-%d-%d-%s.png", state, clusters, width, scheme)
					shoot(p, filepath.Join(*screenshots, name), [2]int64{width, height}, scheme)
				}
			}
		}
	}
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
