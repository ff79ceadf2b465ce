package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sample() View {
	v1 := Revision{Hash: "6b7f9c4d5", Version: "v1", Number: 1}
	v2 := Revision{Hash: "58d9f", Version: "v2-broken", Number: 2}
	return View{
		Step: 2, Steps: 5,
		Title: "Version 2 goes out", Why: "One cluster at a time.",
		Clusters: []Cluster{
			{Name: "cluster1", Revision: v2, State: "rolling out"},
			{Name: "east", Revision: v1, State: "running"},
			{Name: "new", State: "not reached yet"},
		},
		Current: v1, Update: v2,
		Conditions: []Condition{
			{Type: "PlacementVerified", Status: "True", Reason: "AsExpected"},
			{Type: "Progressing", Status: "False", Reason: "RolloutAborted"},
		},
		Message: "1 of 3 clusters failed",
		Checks:  []Check{{Text: "one cluster has version 2", Done: true}, {Text: "the hub aborted"}},
	}
}

const sampleBody = `  CLUSTER   REVISION           STATE
  cluster1  58d9f (v2-broken)  rolling out
  east      6b7f9c4d5 (v1)     running
  new       -                  not reached yet
  current revision  6b7f9c4d5 (v1), number 1
  update revision   58d9f (v2-broken), number 2
  CONDITION          STATUS   REASON
  PlacementVerified  True     AsExpected
  Progressing        False    RolloutAborted
  the hub says: 1 of 3 clusters failed
  [x] one cluster has version 2
  [ ] the hub aborted
`

func TestBody(t *testing.T) {
	require.Equal(t, sampleBody, text(body(sample())))
}

func TestEmptyRevision(t *testing.T) {
	require.Equal(t, "-", Revision{}.long())
	require.Equal(t, "abc", Revision{Hash: "abc"}.long())
	require.Equal(t, "abc (v1)", Revision{Hash: "abc", Version: "v1"}.long())
}

func TestPrintsOnlyChanges(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	printer := New(&out, func() time.Time { return now })

	view := sample()
	view.Clusters, view.Conditions = view.Clusters[:1], view.Conditions[1:]
	printer.Show(view)
	require.Equal(t, `
[2/5] Version 2 goes out
      One cluster at a time.
 0:00  cluster1  58d9f (v2-broken)  rolling out
 0:00  current revision  6b7f9c4d5 (v1), number 1
 0:00  update revision   58d9f (v2-broken), number 2
 0:00  Progressing  False    RolloutAborted
 0:00  the hub says: 1 of 3 clusters failed
 0:00  [x] one cluster has version 2
`, out.String())

	out.Reset()
	now = now.Add(61 * time.Second)
	printer.Show(view)
	require.Empty(t, out.String(), "nothing changed")

	view.Clusters[0].State = "broken"
	printer.Show(view)
	require.Equal(t, " 1:01  cluster1  58d9f (v2-broken)  broken\n", out.String())

	out.Reset()
	view.Checks = []Check{{Text: "the hub aborted", Done: true}}
	printer.Finish(view)
	require.Equal(t, ` 1:01  [x] the hub aborted
   -- step 2 is done after 1m1s:
  CLUSTER   REVISION           STATE
  cluster1  58d9f (v2-broken)  broken
  current revision  6b7f9c4d5 (v1), number 1
  update revision   58d9f (v2-broken), number 2
  CONDITION    STATUS   REASON
  Progressing  False    RolloutAborted
  the hub says: 1 of 3 clusters failed
  [x] the hub aborted
`, out.String())
}

func TestGoesOnFromTheLastStep(t *testing.T) {
	var out strings.Builder
	printer := New(&out, func() time.Time { return time.Unix(0, 0) })
	view := sample()
	printer.Finish(view)

	out.Reset()
	view.Step, view.Title = 3, "The hub aborts"
	view.Clusters[0].State = "going back"
	printer.Show(view)
	require.Equal(t, `
[3/5] The hub aborts
      One cluster at a time.
 0:00  cluster1  58d9f (v2-broken)  going back
 0:00  [x] one cluster has version 2
`, out.String())
}
