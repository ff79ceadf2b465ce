package story

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// The story prints each line of the plugin's screen when it changes, and all lines at the end of a step.
func TestTellerPrintsWhatChanges(t *testing.T) {
	now := time.Now()
	var out bytes.Buffer
	teller, err := newTeller(&out, &rest.Config{Host: "https://localhost"})
	require.NoError(t, err)
	teller.now = func() time.Time { return now }
	printed := func() string {
		defer out.Reset()
		return out.String()
	}
	fleet := func(state view.State) *view.Fleet {
		return &view.Fleet{
			Namespace: "demo", Name: "web", State: workv1alpha1.StateRollingOut, Since: now, Summary: "0 of 1 clusters confirmed revision 1",
			Revisions: []view.Revision{{Number: 1, Hash: "abc"}},
			Attention: []view.Alike{{Cluster: view.Cluster{Name: "cluster1", State: state, Since: now, Wrote: "1"}, Names: []string{"cluster1"}}},
			Next:      []view.Command{{Purpose: "wait", Args: []string{"kubectl", "mwrs", "status", "web"}}},
		}
	}
	checks := []outcome{{text: "it is proved", done: true}, {text: "it is open"}}

	teller.start(1, 2, "A title", "A reason.")
	require.Equal(t, "\n[1/2] A title\n      A reason.\n", printed())
	require.NoError(t, teller.show(fleet(rollout.PhaseInFlight), nil))
	require.Equal(t, " 0:00  demo/web   RollingOut for 0s   0 of 1 clusters confirmed revision 1\n"+
		" 0:00  CLUSTER    STATE      SINCE   WROTE   CONFIRMED   WAITS-FOR   MESSAGE\n"+
		" 0:00  cluster1   InFlight   0s      1       no          -           -\n", printed())

	now = now.Add(65 * time.Second)
	same := fleet(rollout.PhaseInFlight)
	same.Since, same.Attention[0].Since = now.Add(-time.Minute), now.Add(-time.Minute)
	require.NoError(t, teller.show(same, nil))
	require.Empty(t, printed(), "an age is not news")
	require.NoError(t, teller.show(fleet(rollout.PhaseSoaking), checks))
	require.Equal(t, " 1:05  cluster1   Soaking   0s      1       no          -           -\n 1:05  [x] it is proved\n", printed())

	require.NoError(t, teller.finish(1, fleet(rollout.PhaseSoaking), checks))
	require.Equal(t, "   -- step 1 is proved after 1m5s. kubectl mwrs get web -n demo:\n"+
		"demo/web   RollingOut for 0s   0 of 1 clusters confirmed revision 1\n"+
		"REVISION   HASH   STATE   NOW   REACHED   STARTED   ENDED   CHANGE-CAUSE   BY\n"+
		"1          abc    -       0     -         -         -       -              -\n"+
		"CLUSTER    STATE     SINCE   WROTE   CONFIRMED   WAITS-FOR   MESSAGE\n"+
		"cluster1   Soaking   0s      1       no          -           -\n"+
		"Next  wait:\n        kubectl mwrs status web\n", printed())
}
