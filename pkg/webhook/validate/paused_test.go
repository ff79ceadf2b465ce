package validate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A user who pauses an object during an abort learns that the abort stops.
func TestPauseOfAnAbort(t *testing.T) {
	const warning = "spec.paused: an abort is in progress, and the pause stops it: clusters that are not rolled back yet keep the revision " +
		"whose rollout was aborted, until spec.paused is false"
	require.LessOrEqual(t, len(warning), 256, "API servers cut warnings at this length")
	const aborted = `abortedTime: "2026-01-02T03:04:05Z"`
	const ledger = `'{"format":1,"owner":"uid","seq":7,"abort":{"at":"2026-01-02T03:04:05Z","restored":"2026-01-02T03:05:06Z"}}'`
	aborting := set("status", "{"+aborted+", state: Aborting}")
	for name, tc := range map[string]struct {
		old, new []edit
		want     []string
	}{
		"an abort in progress":          {[]edit{aborting}, []edit{set("spec.paused", "true")}, []string{warning}},
		"a manual abort":                {[]edit{set("status", "{"+aborted+"}")}, []edit{set("spec.paused", "true")}, []string{warning}},
		"paused since before the abort": {[]edit{aborting, set("spec.paused", "true")}, []edit{set("spec.paused", "true"), set("spec.revisionHistoryLimit", "3")}, []string{warning}},
		"it is resumed":                 {[]edit{aborting, set("spec.paused", "true")}, nil, nil},
		"another change":                {[]edit{aborting}, []edit{set("spec.revisionHistoryLimit", "3")}, nil},
		"a completed abort": {
			[]edit{set("status", "{"+aborted+", state: Aborted}")}, []edit{set("spec.paused", "true")}, nil,
		},
		"paused after the abort": {
			[]edit{set("status", "{"+aborted+", state: Paused, ledger: "+ledger+"}"), set("metadata.uid", "uid"), set("spec.paused", "true")},
			[]edit{set("spec.paused", "true"), set("metadata.uid", "uid"), set("spec.revisionHistoryLimit", "3")}, nil,
		},
		"no abort":                       {nil, []edit{set("spec.paused", "true")}, nil},
		"a status that can't be read":    {[]edit{set("status", "{abortedTime: 7}")}, []edit{set("spec.paused", "true")}, nil},
		"a status that is not an object": {[]edit{set("status", "7")}, []edit{set("spec.paused", "true")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := ReplicaSet(build(t, tc.old...), build(t, tc.new...), limit)
			require.Empty(t, verdict.Errors)
			require.Equal(t, tc.want, verdict.Warnings)
		})
	}
	require.Empty(t, ReplicaSet(nil, build(t, set("spec.paused", "true")), limit).Warnings)
}
