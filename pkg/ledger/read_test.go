package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func asLater(err error, later *HigherFormat) bool { return errors.As(err, later) }

// The ledger with the highest number counts; if two are equal, the copy counts (R40).
func TestRead(t *testing.T) {
	const higher = `{"format":2,"owner":"uid-of-web","seq":3}`
	other := func(l *Ledger) { l.Collisions = 9 }
	elsewhere := func(l *Ledger) { l.Owner = "other" }
	noneStable := func(l *Ledger) { l.Current = Named{} }
	unknown := func(l *Ledger) { l.Current = named("z") }
	// Revision a is the stable one, and b is rolled out: b must have the copy.
	history := func(onA, onB string, changes ...func(*revision.Record)) revision.History {
		return revision.History{Revisions: []revision.Revision{copied("a", 1, onA, changes...), copied("b", 2, onB)}}
	}
	for name, tc := range map[string]struct {
		status     string
		history    revision.History
		template   revision.Digest
		remembered *Ledger

		counts           *Ledger
		inStatus, inCopy bool
	}{
		"nothing":                       {history: history("", "")},
		"nothing, and no history":       {},
		"both are the same":             {status: text(numbered(3)), history: history("", text(numbered(3))), counts: numbered(3), inStatus: true, inCopy: true},
		"one number, and they differ":   {status: text(numbered(3)), history: history("", text(numbered(3, other))), counts: numbered(3, other), inCopy: true},
		"the status is ahead by one":    {status: text(numbered(4)), history: history("", text(numbered(3, other))), counts: numbered(4), inStatus: true},
		"the status is the first":       {status: text(numbered(1)), history: history("", ""), counts: numbered(1), inStatus: true},
		"the status is behind":          {status: text(numbered(2)), history: history("", text(numbered(3))), counts: numbered(3), inCopy: true},
		"the status is missing":         {history: history("", text(numbered(3))), counts: numbered(3), inCopy: true},
		"the status can't be read":      {status: "{", history: history("", text(numbered(3))), counts: numbered(3), inCopy: true},
		"the status is another one's":   {status: text(numbered(4, elsewhere)), history: history("", text(numbered(3))), counts: numbered(3), inCopy: true},
		"the copy can't be read":        {status: text(numbered(1)), history: history("", "{"), counts: numbered(1), inStatus: true},
		"the copy is another one's":     {status: text(numbered(1)), history: history("", text(numbered(9, elsewhere))), counts: numbered(1), inStatus: true},
		"the copy is elsewhere":         {status: text(numbered(3)), history: history(text(numbered(3)), ""), counts: numbered(3), inStatus: true},
		"the copy is elsewhere, alone":  {history: history(text(numbered(3)), ""), counts: numbered(3)},
		"an older copy is elsewhere":    {status: text(numbered(3)), history: history(text(numbered(2, other)), text(numbered(3))), counts: numbered(3), inStatus: true, inCopy: true},
		"a newer copy is elsewhere":     {status: text(numbered(2)), history: history(text(numbered(3, other)), text(numbered(2))), counts: numbered(3, other)},
		"two copies with one number":    {history: history(text(numbered(3, other)), text(numbered(3))), counts: numbered(3), inCopy: true},
		"the same in other words":       {status: " " + text(numbered(3)), history: history("", " "+text(numbered(3))), counts: numbered(3), inStatus: true},
		"no history":                    {status: text(numbered(30)), counts: numbered(30), inStatus: true},
		"an empty history":              {status: text(numbered(30)), history: revision.History{}, counts: numbered(30), inStatus: true},
		"the revision of b is deleted":  {status: text(numbered(3)), history: revision.History{Revisions: []revision.Revision{copied("a", 1, text(numbered(3)))}}, counts: numbered(3), inStatus: true, inCopy: true},
		"ahead by two, and unknown":     {status: text(numbered(5, unknown)), history: history("", text(numbered(3))), counts: numbered(5, unknown), inStatus: true},
		"ahead by two, never stable":    {status: text(numbered(5, func(l *Ledger) { l.Current = named("b") })), history: history("", text(numbered(3))), counts: numbered(3), inCopy: true},
		"ahead by two, none is stable":  {status: text(numbered(5, noneStable)), history: history("", text(numbered(3))), counts: numbered(5, noneStable), inStatus: true},
		"ahead by two, it was stable":   {status: text(numbered(5)), history: history("", text(numbered(3))), counts: numbered(5), inStatus: true},
		"ahead of no copy":              {status: text(numbered(2)), history: history("", "")},
		"ahead of no copy, was stable":  {status: text(numbered(2)), history: history("", "", wasComplete), counts: numbered(2), inStatus: true},
		"ahead of no copy, none stable": {status: text(numbered(2, noneStable)), history: history("", ""), counts: numbered(2, noneStable), inStatus: true},
		"ahead of no copy, today's template is stable": {
			status:  text(numbered(7, func(l *Ledger) { l.End(at(1)) })),
			history: history("", ""), template: named("b").Digest, counts: numbered(7, func(l *Ledger) { l.End(at(1)) }), inStatus: true,
		},
		"ahead of no copy, another template is stable": {
			status: text(numbered(7, func(l *Ledger) { l.End(at(1)) })), history: history("", ""), template: named("c").Digest,
		},
		"in memory only":                  {history: history("", ""), remembered: numbered(3), counts: numbered(3)},
		"in memory, without a history":    {remembered: numbered(3), counts: numbered(3)},
		"in memory, of another object":    {history: history("", ""), remembered: numbered(3, elsewhere)},
		"memory is behind":                {status: text(numbered(4)), history: history("", text(numbered(4))), remembered: numbered(3), counts: numbered(4), inStatus: true, inCopy: true},
		"memory is ahead of a restored":   {status: text(numbered(2)), history: history("", text(numbered(2))), remembered: numbered(5), counts: numbered(5)},
		"memory differs":                  {status: text(numbered(3)), history: history("", text(numbered(3))), remembered: numbered(3, other), counts: numbered(3), inStatus: true, inCopy: true},
		"memory vouches for a status":     {status: text(numbered(5)), history: history("", ""), remembered: numbered(4), counts: numbered(5), inStatus: true},
		"memory is what the copy lost":    {status: text(numbered(5)), history: history("", ""), remembered: numbered(5), counts: numbered(5), inStatus: true},
		"the status and memory are ahead": {status: text(numbered(5)), history: history("", text(numbered(4))), remembered: numbered(5), counts: numbered(5), inStatus: true},
	} {
		t.Run(name, func(t *testing.T) {
			found := Read(&Places{Owner: uid, Template: tc.template, Status: tc.status, History: tc.history, Remembered: tc.remembered})
			require.NoError(t, found.Later)
			if tc.counts == nil {
				require.Equal(t, Reading{}, found)
				return
			}
			require.Equal(t, text(tc.counts), text(&found.Ledger))
			require.Equal(t, [2]bool{tc.inStatus, tc.inCopy}, [2]bool{found.InStatus, found.InCopy}, "in the status, in the copy")
		})
	}
	for name, tc := range map[string]Places{
		"in the status":                {Status: higher, History: history("", text(numbered(9)))},
		"in the copy":                  {Status: text(numbered(9)), History: history("", higher)},
		"in a copy that is not used":   {Status: text(numbered(9)), History: history(higher, text(numbered(9)))},
		"in the status, and in memory": {Status: higher, Remembered: numbered(9)},
		"in the status alone":          {Status: higher},
	} {
		t.Run("a higher format "+name, func(t *testing.T) {
			tc.Owner = uid
			require.Equal(t, Reading{Later: HigherFormat{Format: 2}}, Read(&tc))
		})
	}
	foreign := strings.Replace(higher, uid, "other", 1)
	require.Equal(t, Reading{}, Read(&Places{Owner: uid, Status: foreign, History: history(foreign, foreign)}), "a higher format of another object")
}
