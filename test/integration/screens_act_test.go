package integration

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
)

// rehearsal returns a kubeconfig for a proxy of the fleet's API server that makes each patch a dry run. So all commands that change
// something start from the same state, and the API server still validates their patches.
func (s screens) rehearsal() string {
	s.t.Helper()
	target, err := url.Parse(s.w.config.Host)
	require.NoError(s.t, err)
	transport, err := rest.TransportFor(s.w.config)
	require.NoError(s.t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if r.In.Method != http.MethodPatch {
				return
			}
			query := r.Out.URL.Query()
			query.Set("dryRun", metav1.DryRunAll)
			r.Out.URL.RawQuery = query.Encode()
		},
	})
	s.t.Cleanup(proxy.Close)
	path := filepath.Join(s.t.TempDir(), "rehearsal")
	require.NoError(s.t, controlplane.WriteKubeconfig(path, "rehearsal", &rest.Config{Host: proxy.URL}))
	return path
}

// ofSamples matches the lines of a screen that differ for a sample of the works: the note, and the estimated end, which is measured on all
// clusters.
var ofSamples = regexp.MustCompile(`(?m)^(note(:|    ) the ManifestWorks of \d+ clusters were not read: .*|ends     .*)\n`)

// sampled requires that a sample of the works, read one at a time, gives the same screen as all works.
func (s screens) sampled(kubeconfig, command, screen string) {
	s.t.Helper()
	sampled, _ := s.run(kubeconfig, "", append(strings.Fields(command), s.flags...), plugin.WithSamples(0, 1))
	require.Equal(s.t, ofSamples.ReplaceAllString(screen, ""), ofSamples.ReplaceAllString(sampled, ""), sampled)
}

// reportScreen writes a report to a file, and returns it as the text that a browser shows.
func (s screens) reportScreen(kubeconfig string) (string, int) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "web.html")
	out, code := s.run(kubeconfig, "", append([]string{"report", "web", "-o", file}, s.flags...))
	if code != 0 {
		return out, code
	}
	written, err := os.ReadFile(file) //nolint:gosec // A file of this test.
	require.NoError(s.t, err)
	page, err := html.Parse(strings.NewReader(string(written)))
	require.NoError(s.t, err)
	return out + pageText(page), 0
}

var reportTimes = []struct {
	part   *regexp.Regexp
	stable string
}{
	{regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC`), "2026-01-01 00:00:00 UTC"},
	{regexp.MustCompile(`the abort came \d+[smh\d]* after`), "the abort came 1m after"},
}

// pageText returns the text of a page: a line for each row, heading and paragraph. The events of the timeline are indented.
func pageText(page *html.Node) string {
	var out strings.Builder
	section := ""
	for node := range page.Descendants() {
		switch node.DataAtom {
		case atom.H2:
			section = strings.TrimSpace(textOf(node))
			out.WriteString("== " + section + "\n")
		case atom.H1, atom.P, atom.Pre:
			out.WriteString(strings.TrimSpace(textOf(node)) + "\n")
		case atom.Tr:
			line := ""
			for cell := range node.ChildNodes() {
				if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
					line += " | " + strings.Join(strings.Fields(textOf(cell)), " ")
				}
			}
			if section == "Timeline" {
				line = "    " + line
			}
			out.WriteString(line + "\n")
		}
	}
	text := out.String()
	for _, times := range reportTimes {
		text = times.part.ReplaceAllString(text, times.stable)
	}
	return text
}

// textOf returns the text in an element.
func textOf(node *html.Node) string {
	var text strings.Builder
	for part := range node.Descendants() {
		if part.Type == html.TextNode {
			text.WriteString(part.Data)
		}
	}
	return text.String()
}
