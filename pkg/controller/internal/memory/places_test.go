package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
)

// One place is enough if the API server drops the ledger in the other place, or if all writes to the other place have failed for 10 s.
func TestPlaces(t *testing.T) {
	const request, note = "patching ManifestWorkReplicaSet demo/web", "denied: ask the owner of the webhook"
	const dropped, rejected, failed = "dropped", "rejected", "failed"
	type try struct {
		at      time.Duration
		outcome string
	}
	for name, tc := range map[string]struct {
		tries []try
		now   time.Duration
		lost  bool
		// waits is the time until the next attempt.
		waits time.Duration
	}{
		"no try":                              {},
		"dropped":                             {tries: []try{{0, dropped}}, lost: true, waits: PrunedInterval},
		"dropped a while ago":                 {tries: []try{{0, dropped}}, now: PrunedInterval, lost: true},
		"dropped, and the clock was set back": {tries: []try{{time.Hour, dropped}}, lost: true},
		"rejected once":                       {tries: []try{{0, rejected}}, now: placePatience - time.Second},
		"rejected for 10 s":                   {tries: []try{{0, rejected}, {placePatience, rejected}}, now: placePatience, lost: true, waits: PrunedInterval},
		"failed for 10 s":                     {tries: []try{{0, failed}, {placePatience, failed}}, now: placePatience, lost: true, waits: RefusedInterval},
		"rejected once, and not tried since":  {tries: []try{{0, rejected}}, now: placePatience, lost: true, waits: PrunedInterval - placePatience},
		"rejected after it was dropped":       {tries: []try{{0, dropped}, {time.Hour, rejected}}, now: time.Hour},
		"dropped after it was rejected":       {tries: []try{{0, rejected}, {1, dropped}}, now: 1, lost: true, waits: PrunedInterval},
		"held in between":                     {tries: []try{{0, failed}, {1, ""}, {placePatience, failed}}, now: placePatience},
	} {
		t.Run(name, func(t *testing.T) {
			m, last := Places{}, ""
			for _, tried := range tc.tries {
				switch last = tried.outcome; last {
				case dropped:
					m.Dropped(Status, 1, rt.At(tried.at))
				case rejected:
					m.Failed(Status, 1, rt.At(tried.at), request, refusedBy("a webhook"), note)
				case failed:
					m.Failed(Status, 1, rt.At(tried.at), request, errors.New("down"), note)
				default:
					m.Held(Status, 1)
				}
			}
			require.Equal(t, tc.lost, m.Lost(Status, rt.At(tc.now)))
			require.Equal(t, tc.waits > 0, m.Waits(Status, rt.At(tc.now)))
			require.False(t, m.Waits(Status, rt.At(tc.now+tc.waits)))
			require.Equal(t, last == dropped, m.Drops(Status))

			found, known := m[Status]
			require.Equal(t, last != "", known)
			if tc.waits > 0 {
				require.Equal(t, rt.At(tc.now+tc.waits), found.TryAt())
			}
			if last == rejected || last == failed {
				require.Equal(t, []string{request, note}, []string{found.Request, found.Note})
			} else {
				require.Empty(t, found.Note)
			}
			require.False(t, m.Lost(Revision, rt.At(tc.now)), "the other place")
			m.Held(Status, 1)
			require.Empty(t, m)
			require.False(t, m.Lost(Status, rt.At(tc.now)))
		})
	}
}
