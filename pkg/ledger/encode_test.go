package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Equal ledgers have equal texts, regardless of the time zones of their times. Encode does not change the ledger.
func TestEncode(t *testing.T) {
	east := time.FixedZone("east", 3600)
	l := numbered(4, func(l *Ledger) {
		l.Abort = &revision.Abort{At: at(1).In(east), Reason: "a < b & c"}
		l.SetTroubles([]Trouble{{Cluster: "c1", State: Failed, Since: at(2).In(east)}})
		l.Halted = map[string]time.Time{"p1": at(3).In(east)}
		l.Counted = map[string]int{"p1": 2}
	})
	l.Begun.At = l.Begun.At.In(east)
	same := l.Clone()
	same.Begun.At, same.Abort.At, same.Troubles[0].Since = at(0), at(1), at(2)
	same.Halted["p1"] = at(3)
	require.Equal(t, text(&same), text(l))
	require.True(t, l.Equal(&same))
	require.Equal(t, `{"format":1,"owner":"uid-of-web","seq":4,"update":{"hash":"b","digest":"d-b"},"current":{"hash":"a","digest":"d-a"},`+
		`"begun":{"at":"2030-01-01T12:00:00Z","how":"New"},"abort":{"at":"2030-01-01T12:01:00Z","reason":"a < b & c"},`+
		`"troubles":[{"cluster":"c1","state":"Failed","since":"2030-01-01T12:02:00Z"}],"halted":{"p1":"2030-01-01T12:03:00Z"},"counted":{"p1":2}}`, text(l))
	require.Equal(t, []*time.Location{east, east, east, east},
		[]*time.Location{l.Begun.At.Location(), l.Abort.At.Location(), l.Troubles[0].Since.Location(), l.Halted["p1"].Location()})

	read, err := Decode(text(l), uid)
	require.NoError(t, err)
	require.Equal(t, &same, read)
	same.Collisions++
	require.False(t, l.Equal(&same))
	l.Ended = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	require.False(t, l.Equal(l), "what can't be encoded")
}

// A full ledger fits. If the messages from agents make it too long, only the messages are omitted.
func TestEncodeIsBounded(t *testing.T) {
	l := full(strings.Repeat("m", workv1alpha1.MaxFailureMessage))
	require.Less(t, len(text(l)), 110<<10)
	read, err := Decode(text(l), uid)
	require.NoError(t, err)
	require.True(t, read.Equal(l))

	l = full(strings.Repeat("\u2028", 300)) // Each takes six bytes in JSON.
	require.Less(t, len(text(l)), maxBytes)
	read, err = Decode(text(l), uid)
	require.NoError(t, err)
	short := l.Short()
	require.True(t, read.Equal(&short))
	require.NotEmpty(t, l.Troubles[0].Message, "the ledger itself keeps them")

	for i := range l.Approvals {
		l.Approvals[i].By = strings.Repeat(`"`, 256)
	}
	read, err = Decode(text(l), uid)
	require.NoError(t, err)
	require.Len(t, read.Approvals, MaxApprovals)
}

func TestDecode(t *testing.T) {
	good := text(numbered(3))
	for name, tc := range map[string]struct{ text, err string }{
		"a ledger":                       {text: good},
		"with what this build ignores":   {text: strings.Replace(good, `{`, `{"unknown":[1],`, 1)},
		"the largest number":             {text: strings.Replace(good, `"seq":3`, `"seq":9007199254740991`, 1)},
		"empty":                          {"", "it is not a ledger: unexpected end of JSON input"},
		"no JSON":                        {"{", "it is not a ledger"},
		"a list":                         {"[]", "it is not a ledger"},
		"null":                           {"null", "it is the ledger of another object"},
		"of another object":              {strings.Replace(good, uid, "other", 1), "it is the ledger of another object"},
		"a later one of another object":  {`{"format":2,"owner":"other","seq":1}`, "it is the ledger of another object"},
		"a later one":                    {`{"format":2,"owner":"uid-of-web","seq":1,"update":7}`, "its format is 2, and this hub reads format 1"},
		"a later one without a number":   {`{"format":3,"owner":"uid-of-web"}`, "its format is 3"},
		"no format":                      {strings.Replace(good, `"format":1,`, "", 1), "it has format 0 and number 3"},
		"a negative format":              {strings.Replace(good, `"format":1`, `"format":-1`, 1), "it has format -1"},
		"no number":                      {strings.Replace(good, `"seq":3,`, "", 1), "it has format 1 and number 0"},
		"a negative number":              {strings.Replace(good, `"seq":3`, `"seq":-3`, 1), "number -3"},
		"a number that is too large":     {strings.Replace(good, `"seq":3`, `"seq":9007199254740993`, 1), "number 9007199254740993"},
		"a number that no integer holds": {strings.Replace(good, `"seq":3`, `"seq":1e30`, 1), "it is not a ledger"},
		"a field of another kind":        {strings.Replace(good, `"hash":"b"`, `"hash":7`, 1), "it is not a ledger"},
		"a time that is none":            {strings.Replace(good, "2030-", "soon-", 1), "it is not a ledger"},
		"something after it":             {good + "{}", "it is not a ledger"},
		"too long":                       {good + strings.Repeat(" ", maxBytes), "the maximum is 131072"},
		"as long as it may be":           {text: good + strings.Repeat(" ", maxBytes-len(good))},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Decode(tc.text, uid)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.Nil(t, found)
				later := HigherFormat{}
				require.Equal(t, strings.HasPrefix(name, "a later one") && !strings.Contains(name, "another object"), asLater(err, &later))
				return
			}
			require.NoError(t, err)
			require.Equal(t, named("b"), found.Update)
		})
	}
}

func TestSeqOf(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "{": 0, "null": 0, `{"seq":"3"}`: 0, `{"seq":-3}`: 0, `{"seq":9007199254740992}`: 0, `{"seq":1e30}`: 0,
		`{"seq":3}`: 3, `{"format":9,"owner":"other","seq":3,"update":[]}`: 3, `{"seq":4503599627370495}`: 4503599627370495, `{"seq":4503599627370496}`: 0,
	} {
		require.Equal(t, want, SeqOf(text), text)
	}
}

// FuzzDecode: any text in a place is either read or rejected with a reason. A ledger that was read does not change when it is written
// again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{`, `[]`, `{"format":1,"owner":"uid-of-web","seq":1}`, `{"format":1e0,"owner":"uid-of-web","seq":1}`, text(full("m")),
		`{"format":1,"owner":"uid-of-web","seq":1,"troubles":[{}],"abort":{},"halted":{"":"0001-01-01T00:00:00Z"},"begun":{"at":"9999-12-31T23:59:59-23:59"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, found string) {
		SeqOf(found)
		l, err := Decode(found, uid)
		if (err == nil) != (l != nil) {
			t.Fatalf("half read: %+v %v", l, err)
		}
		if err != nil {
			return
		}
		written, err := l.Encode()
		if err != nil || len(written) > maxBytes {
			return // JSON can't hold years after 9999, and takes more bytes for some characters.
		}
		again, err := Decode(written, uid)
		if err != nil || text(again) != written {
			t.Fatalf("%q became %q: %v", found, written, err)
		}
		l.Complete()
		l.Undoes()
		if err := l.Project(&objectStatus{}); err != nil {
			t.Fatal(err)
		}
	})
}
