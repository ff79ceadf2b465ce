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
			{Name: "cluster1", Revision: v2, State: "rolling out", Mood: Busy},
			{Name: "east", Revision: v1, State: "running", Mood: Good},
			{Name: "new", State: "not reached yet"},
		},
		Current: v1, Update: v2,
		Conditions: []Condition{
			{Type: "PlacementVerified", Status: "True", Reason: "AsExpected", Mood: Good},
			{Type: "Progressing", Status: "False", Reason: "RolloutAborted", Mood: Bad},
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
	require.Equal(t, sampleBody, text(body(sample(), noColours)))
}

func TestColoursDoNotMoveColumns(t *testing.T) {
	coloured := text(body(sample(), colours))
	require.Contains(t, coloured, "cluster1  58d9f (v2-broken)  \033[33mrolling out\033[0m\n")
	for _, code := range append(values(colours), "\033[0m") {
		coloured = strings.ReplaceAll(coloured, code, "")
	}
	require.Equal(t, sampleBody, coloured)
}

func values(p palette) []string {
	var codes []string
	for _, code := range p {
		codes = append(codes, code)
	}
	return codes
}

func TestEmptyRevision(t *testing.T) {
	require.Equal(t, "-", Revision{}.long())
	require.Equal(t, "abc", Revision{Hash: "abc"}.long())
	require.Equal(t, "abc (v1)", Revision{Hash: "abc", Version: "v1"}.long())
}

func TestPlainPrintsOnlyChanges(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	printer := NewPlain(&out, func() time.Time { return now })

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

func TestPlainGoesOnFromTheLastStep(t *testing.T) {
	var out strings.Builder
	printer := NewPlain(&out, func() time.Time { return time.Unix(0, 0) })
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

func TestTerminalRedrawsInPlace(t *testing.T) {
	var out strings.Builder
	screen := &terminal{out: &out, palette: noColours, size: func() (int, int) { return 30, 6 }}
	view := sample()

	screen.Show(view)
	require.Equal(t, `[2/5] Version 2 goes out
      One cluster at a time.
  CLUSTER   REVISION
  cluster1  58d9f (v2-broken)
`, strings.ReplaceAll(out.String(), "         \n", "\n"), "clipped to the width and the height")

	out.Reset()
	screen.Show(view)
	require.Empty(t, out.String(), "nothing changed")

	view.Clusters[0].Revision = view.Current
	screen.Show(view)
	require.True(t, strings.HasPrefix(out.String(), "\033[4A\033[J[2/5]"), "got %q", out.String())

	out.Reset()
	screen.Finish(view)
	require.Contains(t, out.String(), "[ ] the hub aborted\n\n", "the last screen is whole")
	out.Reset()
	screen.Show(view)
	require.True(t, strings.HasPrefix(out.String(), "[2/5]"), "a finished screen stays, got %q", out.String())
}

func TestClip(t *testing.T) {
	tests := map[string]struct {
		text, want string
	}{
		"short":                      {text: "abc", want: "abc"},
		"long":                       {text: "abcdef", want: "abcd"},
		"runes, not bytes":           {text: "äöüßé", want: "äöüß"},
		"colour ends where it began": {text: "a\033[31mbcdef\033[0m", want: "a\033[31mbcd\033[0m"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, clip(test.text, 4))
		})
	}
}

func TestSentencesGoOnInTheNextLine(t *testing.T) {
	require.Equal(t, "  one two\n  three\n  much-too\n", text(fit(line{"message", "  one two three much-too-long"}, 10)))
}
