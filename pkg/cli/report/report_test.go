package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/report"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestRenderEscapes: no text of any field can add an element or an attribute, or send control characters.
func TestRenderEscapes(t *testing.T) {
	const evil = "</pre></style><script>alert(1)</script>\" onload='x' \x1b[31m\u202e\xff{{.}}"
	page, err := report.Render(&report.Input{
		Fleet: &view.Fleet{
			Namespace: evil, Name: evil, State: evil, Summary: evil, Why: evil, Notes: []string{evil}, Then: []view.Fact{{Text: evil}}, Alarms: []view.Alarm{{Text: evil, Remedy: evil}},
			Causes:    []view.Cause{{Reason: evil, Message: evil, Clusters: []string{evil}}},
			Bars:      []view.Bar{{Placement: evil, Strategy: evil}},
			Revisions: []view.Revision{{Hash: evil, State: workv1alpha1.RevisionState(evil), ChangeCause: evil, CreatedBy: evil, AbortReason: evil}},
		},
		Clusters: []view.Cluster{{Name: evil, Placement: evil, State: evil, Wrote: evil, Message: evil}},
		Events:   []view.Event{{At: time.Unix(0, 0), Text: evil}}, Diff: "+" + evil + "\n",
	})
	require.NoError(t, err)
	require.Equal(t, 28, strings.Count(string(page), "&lt;script&gt;"), "every text is on the page")
	require.NotContains(t, string(page), "\x1b")
	require.NotContains(t, string(page), "\u202e")
	root, err := html.Parse(strings.NewReader(string(page)))
	require.NoError(t, err)
	styles := 0
	for node := range root.Descendants() {
		require.NotEqual(t, atom.Script, node.DataAtom)
		if node.DataAtom == atom.Style {
			styles++
		}
		for _, attribute := range node.Attr {
			require.NotEqual(t, "onload", attribute.Key)
		}
	}
	require.Equal(t, 1, styles)
}

// TestRenderMarks: each decision group has its own name, and states that are good or bad are marked.
func TestRenderMarks(t *testing.T) {
	page, err := report.Render(&report.Input{
		Fleet:    &view.Fleet{Reached: &view.Reached{Revision: 2, Clusters: 1, Total: 2, Ran: metav1.Duration{Duration: 20 * time.Minute}}, Bars: []view.Bar{{Placement: "production", Done: 1, Total: 2}, {Placement: "production", Group: "canary", Done: 1, Total: 1}}},
		Clusters: []view.Cluster{{Name: "c1", State: rollout.PhaseFailed}, {Name: "c2", State: rollout.PhaseSucceeded}, {Name: "c3", State: rollout.PhaseWaiting}, {Name: "c4", State: rollout.PhaseCompleted}},
	})
	require.NoError(t, err)
	for _, part := range []string{
		"<td>production</td>", `<td class="group">canary</td>`, `<td class="bad">Failed</td>`, `<td class="good">Succeeded</td>`, "<td>Waiting</td>",
		`<td class="bad">Completed</td>`,
		"1 of 2 clusters had revision 2; the abort came 20m after the rollout began.",
	} {
		require.Contains(t, string(page), part)
	}
}
