package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The report of an aborted rollout shows who aborted it and why. Hostile texts stay texts.
func TestPluginReport(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(1, "10m", 0))
	f.agentsReport("c1", "v2", hangs)
	const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`
	f.because(hostile)
	f.update("v2")
	f.has("c1", "v2")
	f.ok("abort", "web", "--reason", "leaks "+hostile, "--yes")
	f.everywhere("v1")
	f.aborted()
	require.Equal(t, 3, f.mwrs("status", "web", "--timeout", "1m").code)
	f.editStatus(func(status *workv1alpha1.ManifestWorkReplicaSetStatus) { status.AbortedBy = "mallory <b>\u202eevil" })

	text := f.ok("report", "web")
	page, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	content, policy, headings := inert(t, page)
	require.Contains(t, policy, "default-src 'none'")
	require.Equal(t, []string{"summary", "timeline", "exposure", "causes", "clusters", "revisions", "diff"}, headings)
	for _, part := range []string{
		"Aborted", "3 of 3 clusters confirmed revision 1", "1 of 3 clusters had revision 2",
		`the rollout of revision 2 was aborted by mallory <b>\u202eevil: `, ": leaks " + hostile,
		"the rollout of revision 2 started by integration.test: " + hostile,
		"revision 1 became the current revision", f.cluster("c3"),
	} {
		require.Contains(t, content, part)
	}
	require.Regexp(t, `(?m)^-.*v1`, content, "the diff")
	require.Regexp(t, `(?m)^\+.*v2`, content, "the diff")

	file := t.TempDir() + "/web.html"
	require.Empty(t, f.ok("report", "web", "-o", file))
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(written), "<!DOCTYPE html>")
	f.refuses("not found", "report", "nothing")
}

// inert checks that a page has no scripts, handlers or resources. It returns the text of the page, its policy and the IDs of its headings.
func inert(t *testing.T, page *html.Node) (content, policy string, headings []string) {
	t.Helper()
	var text strings.Builder
	for node := range page.Descendants() {
		if node.Type == html.TextNode {
			text.WriteString(node.Data)
		}
		require.NotContains(t, []atom.Atom{atom.Script, atom.Img, atom.Link, atom.Iframe, atom.Object, atom.Base, atom.B}, node.DataAtom)
		for _, attribute := range node.Attr {
			require.False(t, strings.HasPrefix(attribute.Key, "on"), attribute.Key)
			require.NotContains(t, []string{"src", "href", "action"}, attribute.Key)
			if attribute.Key == "content" && strings.Contains(attribute.Val, "-src") {
				policy = attribute.Val
			}
			if attribute.Key == "id" && node.DataAtom == atom.H2 {
				headings = append(headings, attribute.Val)
			}
		}
	}
	return text.String(), policy, headings
}
