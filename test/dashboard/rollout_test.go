package dashboard

import (
	"testing"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The page shows a rollout, and performs an abort and an undo.
func TestRolloutAbortUndo(t *testing.T) {
	browser := newBrowser(t)
	f := newFleet(t, 2, 4, 6)
	f.create("v1", progressive(3, "10m", 0, ""))
	p := f.opens(browser, serve(t, "-n", f.namespace))
	p.shows("Complete", "12 of 12 clusters confirmed revision 1.")

	f.update("v2", "image 2")
	f.becomes(workv1alpha1.StateComplete)
	p.shows("Complete", "12 of 12 clusters confirmed revision 2.", "image 2")

	for _, cluster := range f.clusters[:3] {
		suite.agents.Set(cluster, "v3", hangs)
	}
	f.update("v3", "image 3")
	p.shows("Rolling out", "revision 3")
	p.is("window.dashboard.model.head.counts.InFlight === 3")
	p.click("Abort …")
	p.shows("Abort the rollout of revision 3", "The hub will write to 3 clusters.")
	p.is("(document.getElementById('reason').value = 'v3 leaks memory') !== ''")
	p.click("Abort: 3 clusters will be written")
	p.shows("Aborted", "Every cluster has revision 2 again", "v3 leaks memory", "3 of 12 clusters had revision 3",
		"restored: every cluster had confirmed")
	f.becomes(workv1alpha1.StateAborted)

	p.click("Undo …")
	p.shows("Restore the template of revision 2", "-  version: v3", "+  version: v2", "*** (before)")
	p.is("!document.body.innerText.includes('hidden-v')")
	p.click("Undo")
	p.shows("Complete", "12 of 12 clusters confirmed revision 4.")
	f.becomes(workv1alpha1.StateComplete)
	p.quiet()
}
