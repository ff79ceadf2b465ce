package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
)

// newBrowser starts a Chromium with its own profile. Additional flags have the form name=value.
func newBrowser(t *testing.T, more ...string) context.Context {
	t.Helper()
	needsChromium(t)
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.WSURLReadTimeout(patience),
	}
	for _, flag := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-extensions", "disable-dev-shm-usage",
		"disable-background-timer-throttling", "disable-renderer-backgrounding", "no-default-browser-check", "mute-audio", "no-proxy-server",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	for _, flag := range more {
		name, value, _ := strings.Cut(flag, "=")
		options = append(options, chromedp.Flag(name, value))
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	require.NoError(t, chromedp.Do(ctx))
	return ctx
}

// tab is a tab of a browser. It records the page's console messages.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// newTab opens a tab.
func newTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	p := &tab{t: t}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithListener(p.listen))
	t.Cleanup(cancel)
	p.ctx = ctx
	p.run()
	_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	return p
}

func (p *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			p.note(fmt.Sprintf("console.%s: %s %s", e.Type, arg.Value, arg.Description))
		}
	case *runtime.EventExceptionThrown:
		p.note(fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *log.EventEntryAdded:
		p.note(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
	}
}

func (p *tab) note(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, problem)
}

// quiet fails if the page wrote anything to the console.
func (p *tab) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.problems)
}

func (p *tab) run(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

// eval evaluates an expression, or the promise that it returns.
func eval[T any](p *tab, expression string) (value T, err error) {
	wrapped := fmt.Sprintf("Promise.resolve(%s).then((v) => JSON.stringify(v ?? null))", expression)
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](wrapped, chromedp.EvalAwaitPromise))
	if err != nil {
		return value, err
	}
	return value, json.Unmarshal([]byte(text), &value)
}

func must[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := eval[T](p, expression)
	require.NoError(p.t, err, expression)
	return value
}

// shows waits until the text of the page contains all parts.
func (p *tab) shows(parts ...string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("the page shows %q", parts), func() error {
		text, err := eval[string](p, "document.body.innerText")
		if err != nil {
			return err
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				return fmt.Errorf("no %q in:\n%s", part, text)
			}
		}
		return nil
	})
}

// is waits until an expression is true.
func (p *tab) is(expression string) {
	p.t.Helper()
	eventually(p.t, expression, func() error {
		if yes, err := eval[bool](p, expression); err != nil || !yes {
			return fmt.Errorf("it is %v: %w", yes, err)
		}
		return nil
	})
}

// click clicks on the first visible button, link or summary with a text.
func (p *tab) click(text string) {
	p.t.Helper()
	p.is(fmt.Sprintf(`(() => {
		const all = [...document.querySelectorAll('dialog[open] button'), ...document.querySelectorAll('button, a')];
		const found = all.find((e) => e.innerText.trim().startsWith(%q) && !e.disabled && e.offsetParent !== null);
		found?.click();
		return Boolean(found);
	})()`, text))
}

// dashboard is a running command.
type dashboard struct {
	// address is the address that the command printed.
	address string
	stop    func()
}

// base is the address without the fragment.
func (d *dashboard) base() string { return strings.SplitN(d.address, "#", 2)[0] }

func (d *dashboard) token() string { return strings.SplitN(d.address, "#token=", 2)[1] }

var printed = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#token=\S+`)

// serve runs `kubectl mwrs dashboard` until the test ends.
func serve(t *testing.T, args ...string) *dashboard {
	t.Helper()
	kubeconfig, err := suite.plane.Kubeconfig(t.TempDir() + "/kubeconfig")
	require.NoError(t, err)
	return serveWith(t, kubeconfig, args...)
}

func serveWith(t *testing.T, kubeconfig string, args ...string) *dashboard {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out := &output{}
	done := make(chan int, 1)
	go func() {
		done <- plugin.Run(ctx, append([]string{"dashboard", "--kubeconfig", kubeconfig}, args...),
			genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: out})
	}()
	d := &dashboard{stop: func() { cancel(); <-done }}
	t.Cleanup(cancel)
	eventually(t, "the command prints its address", func() error {
		if d.address = printed.FindString(out.String()); d.address == "" {
			return fmt.Errorf("it printed %q", out.String())
		}
		return nil
	})
	return d
}

// output is a buffer for several goroutines.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var _ io.Writer = &output{}

// opens opens the page of the fleet's ManifestWorkReplicaSet.
func (f *fleet) opens(browser context.Context, d *dashboard) *tab {
	f.t.Helper()
	p := newTab(f.t, browser)
	p.run(chromedp.Navigate(d.address))
	p.shows(f.namespace + "/web")
	p.click(f.namespace + "/web")
	p.is("document.querySelector('.map canvas') !== null && window.dashboard?.model.cells.length > 0")
	return p
}
