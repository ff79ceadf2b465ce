package view

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// The text names the numbers of failures and their consequence.
func TestLimitsText(t *testing.T) {
	const m = time.Minute
	groups := []rollout.GroupLimits{{Name: "canary", Total: 1, Mandatory: true}, {Index: 1, Total: 9, MaxFailures: 2}}
	for want, c := range map[string]struct {
		limits  rollout.Limits
		current string
	}{
		"every cluster returns to revision 6 when 3 of 10 clusters fail; a cluster fails 1m0s after its ManifestWork is written": {
			rollout.Limits{Total: 10, MaxFailures: 2, AbortAll: true, Deadline: m}, "6"},
		"the rollout there stops when 3 of 10 clusters fail; every cluster returns to revision 6 when 5 of 10 clusters fail; " +
			"a cluster fails 1m0s after its ManifestWork is written": {
			rollout.Limits{Total: 10, MaxFailures: 2, Extra: 2, AbortAll: true, Deadline: m}, "6"},
		"the rollout there stops when 1 of 2 clusters fails; too few clusters are left to abort it, because the percentage in maxFailures applies to all clusters that counted since the rollout began; " +
			"a cluster fails 1m0s after its ManifestWork is written": {
			rollout.Limits{Total: 2, Extra: 2, AbortAll: true, Deadline: m}, "6"},
		"the rollout there stops when 1 of 10 clusters fails; it is not aborted, because no other revision is stable; a cluster fails 1m0s after its ManifestWork is written": {
			rollout.Limits{Total: 10, AbortAll: true, Deadline: m}, ""},
		"the rollout there stops when 1 of 10 clusters fails; a cluster fails 1m0s after its ManifestWork is written; 1 failed and 2 may fail so far": {
			rollout.Limits{Total: 10, Deadline: m, Failed: 1, Halting: 3}, "6"},
		"the rollout there stops when 1 of 1 clusters in mandatory group canary fails, or 3 of 10 clusters fail; a cluster fails 1m0s after its ManifestWork is written": {
			rollout.Limits{Total: 10, MaxFailures: 2, Deadline: m, Groups: groups}, "6"},
		"the rollout there stops when 1 of 1 clusters in mandatory group canary fails, or 3 of 9 clusters in group 1 fail; " +
			"a cluster fails 1m0s after its ManifestWork is written": {rollout.Limits{Total: 10, PerGroup: true, Deadline: m, Groups: groups}, "6"},
		"the rollout there stops when 1 of 10 clusters fails; it is not aborted, because AbortAll does not apply to an undo; a cluster fails 1m0s after its ManifestWork is written": {
			rollout.Limits{Total: 10, Undo: true, Deadline: m}, "6"},
		"the rollout there continues, however many clusters fail; a cluster fails 1m0s after its ManifestWork is written": {
			rollout.Limits{Total: 10, MaxFailures: 10, Deadline: m}, "6"},
		"no late or degraded cluster fails, because progressDeadline is None": {rollout.Limits{Total: 10, AbortAll: true}, "6"},
		"spec bad": {rollout.Limits{Err: fmt.Errorf("spec bad")}, "6"},
	} {
		require.Equal(t, want, limitsText(c.current, &c.limits, true))
	}
}

// The text describes when the first wave begins, and how many clusters are in no wave.
func TestAheadText(t *testing.T) {
	now, later := []forecast.Wave{{Now: true}, {}}, []forecast.Wave{{}}
	for want, a := range map[string]Ahead{
		"2, if every cluster recovers and succeeds; the hub writes the first one now":                        {Waves: now},
		"2, if every cluster recovers and succeeds; the first one waits":                                     {Waves: now, Paused: true},
		"1, if every cluster recovers and succeeds; the first one waits; in none of these waves: 4 clusters": {Waves: later, Unreached: 4},
		"the hub starts no further clusters":                                                                 {},
		"the hub starts no further clusters; waiting: 3 clusters":                                            {Unreached: 3},
	} {
		require.Equal(t, want, a.text())
	}
}
