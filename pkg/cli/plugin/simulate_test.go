package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
)

const simulated = `
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: web, namespace: default}
spec:
  placementRefs:
  - name: production
    rolloutStrategy:
      type: Progressive
      progressive: {maxConcurrency: 3, maxFailures: 0, progressDeadline: 150s}
      failureStrategy: AbortAll
  manifestWorkTemplate:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: default}}
    manifestConfigs:
    - resourceIdentifier: {group: "", resource: configmaps, name: web, namespace: default}
      conditionRules:
      - {type: CEL, condition: Progressing, celExpressions: ["false"]}
`

// runOn runs the plugin on a manifest, without a hub.
func runOn(t *testing.T, manifest string, args ...string) (out, errors string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web.yaml")
	require.NoError(t, os.WriteFile(file, []byte(manifest), 0o600))
	code, out, errors = mwrs(t, "", append(args, "-f", file)...)
	return out, errors, code
}

// simulate shows the result in words, and the effect of each single change on it.
func TestSimulate(t *testing.T) {
	out, errors, code := runOn(t, simulated, "simulate", "--apply", "1m", "--clusters", "12", "--fail", "100%", "--slow", "0%", "--spread", "0", "--runs", "40",
		"--budget", "10m")
	require.Zero(t, code, errors)
	for _, part := range []string{
		"default/web   12 clusters in placement production\n",
		"assumed  a cluster succeeds after 1m0s; 100% fail, 0% hang, 0% are offline\n",
		"40 runs with seed 1 in ", ": 100% aborted\n",
		"HALF OF THE RUNS", "at most 2m30s", "at most 3 ", "at most 9 ",
		"What would change it",
		"a mandatory canary group of 1 of 12 clusters in placement production   40     1 (-2) ",
		"half the concurrency (maxConcurrency 1)", "half the progressDeadline (1m15s)", "1m15s (-1m15s)",
		"a condition rule for Degraded", "100% (same)",
	} {
		require.Contains(t, out, part)
	}
	require.NotContains(t, out, "note")

	out, _, _ = runOn(t, strings.ReplaceAll(simulated, "Progressing", "Custom"), "simulate", "--fail", "100%", "--runs", "1", "--slow", "0%")
	require.Contains(t, out, "note     the template has no condition rules")
	require.Contains(t, out, "broken clusters that count as successes")
	require.Contains(t, out, "there are too few runs")
}

// The same seed gives the same result, and -o json has the whole result.
func TestSimulateAsJSON(t *testing.T) {
	answer := func(seed string) simulation {
		out, errors, code := runOn(t, simulated, "simulate", "--runs", "20", "--budget", "10m", "--seed", seed, "-o", "json",
			"--groups", "production=canary:2,5,rest", "--fail", "10%")
		require.Zero(t, code, errors)
		var s simulation
		require.NoError(t, json.Unmarshal([]byte(out), &s))
		s.Took = ""
		return s
	}
	first := answer("7")
	require.Equal(t, first, answer("7"))
	require.NotEqual(t, first, answer("8"))
	require.Equal(t, 20, first.Result.Runs)
	require.Equal(t, 20, first.Result.Outcomes[forecast.Aborted]+first.Result.Outcomes[forecast.Complete])
	require.Len(t, first.Changes, 4)
	for _, c := range first.Changes {
		require.Equal(t, first.Result, c.Without)
	}
}

// The result considers holds, windows and success gates, and the output names the assumptions about unpredictable gates.
func TestSimulateGates(t *testing.T) {
	at := func(o *options) { o.now = func() time.Time { return time.Date(2026, 7, 3, 9, 0, 0, 0, time.UTC) } }
	file := filepath.Join(t.TempDir(), "web.yaml")
	gated := strings.ReplaceAll(simulated, "Progressing", "SmokePassed")
	gated = strings.ReplaceAll(gated, "      failureStrategy", "      groups: [{groupName: canary, approval: Required}, {groupIndex: 1, approval: Required}]\n"+
		"      successGates: [{conditionType: SmokePassed}, {conditionType: Latency, mode: Report}]\n      failureStrategy")
	require.NoError(t, os.WriteFile(file, []byte(gated), 0o600))
	var out bytes.Buffer
	args := []string{"simulate", "-f", file, "--groups", "canary:5,rest", "--fail", "0%", "--slow", "0%", "--held", "10%", "--window", "UTC 09:30-10:30",
		"--runs", "10", "--budget", "1m", "--spread", "0"}
	require.Zero(t, Run(t.Context(), args, genericiooptions.IOStreams{Out: &out, ErrOut: &out}, at), out.String())
	for _, part := range []string{
		"default/web   100 clusters in placement production (2 decision groups)\n",
		"0% fail, 0% hang, 0% are offline, 10% are on hold; the rollout begins at 2026-07-03T09:00:00Z, and each cluster waits for its window\n",
		"note     each group that needs an approval is approved at once (canary, 1): add the time that users need\n",
		"note     success gate SmokePassed is True when a healthy cluster succeeds, and never if the cluster fails or hangs: ",
		": 100% complete\n", "at most 39m18s",
	} {
		require.Contains(t, out.String(), part)
	}
	require.NotContains(t, out.String(), "as soon as its objects exist")
	require.NotContains(t, out.String(), "Latency")
}

// An invalid flag or file leads to an error that names it and the remedy.
func TestSimulateRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`--fail "2" is not a percentage: use a value such as 2%`:                              {"--fail", "2"},
		`--offline "NaN%" is not a percentage`:                                                {"--offline", "NaN%"},
		`--hang is 200%: use a share from 0% to 100%`:                                         {"--hang", "200%"},
		`--clusters "0": use a number from 1 to 100000 for Placement "production"`:            {"--clusters", "0"},
		`--clusters "prod=3": the manifest has no placementRef of that name`:                  {"--clusters", "prod=3"},
		`--groups "5,20" leaves 75 of 100 clusters without a group: add rest`:                 {"--groups", "5,20"},
		`--groups "100,rest" leaves no cluster for rest`:                                      {"--groups", "100,rest"},
		`--groups "5,x": "x" is not a size`:                                                   {"--groups", "5,x"},
		`--groups "rest,rest": "rest" is not a size: use numbers above zero and rest once`:    {"--groups", "rest,rest"},
		`--groups "200,rest" has more clusters than the Placement: use at most 100`:           {"--groups", "200,rest"},
		`--window "UTC 9-10": "9-10": not a valid time range`:                                 {"--window", "UTC 9-10"},
		`--held is 101%: use a share from 0% to 100%`:                                         {"--held", "101%"},
		`--apply is -1s: use a duration above zero`:                                           {"--apply", "-1s"},
		`--runs is 0: use a number from 1 to 100000`:                                          {"--runs", "0"},
		`--runs is 2147483647: use a number from 1 to 100000`:                                 {"--runs", "2147483647"},
		`--budget is 0s: use a duration above zero`:                                           {"--budget", "0s"},
		`"name" for "-o, --output" flag: use json, yaml or jsonpath=…`:                        {"-o", "name"},
		`--slow, --fail, --hang, --offline and --held add up to 120%`:                         {"--fail", "60%", "--slow", "60%"},
		`spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline`:                  {"deadline"},
		`there are several ManifestWorkReplicaSets in the file: use a file with one of them`:  {"twice"},
		`there is no ManifestWorkReplicaSet in the file`:                                      {"none"},
		`web.yaml: line 1: the document is not an object`:                                     {"broken"},
		`the fleet has no decision group "canary", which is mandatory: add it to --groups as`: {"mandatory"},
	} {
		manifest := simulated
		switch args[0] {
		case "deadline":
			manifest, args = strings.ReplaceAll(manifest, "150s", "soon"), nil
		case "twice":
			manifest, args = manifest+"---\n"+manifest, nil
		case "none":
			manifest, args = "kind: ConfigMap", nil
		case "broken":
			manifest, args = "x", nil
		case "mandatory":
			manifest, args = strings.ReplaceAll(manifest, "maxFailures: 0", "maxFailures: 0, mandatoryDecisionGroups: [{groupName: canary}]"), nil
		}
		_, errors, code := runOn(t, manifest, append([]string{"simulate"}, args...)...)
		require.Equal(t, 1, code, want)
		require.Contains(t, errors, want)
	}
}

// Without --apply, healthy clusters succeed before the deadline of the file. With a longer --apply, the output reports that they don't.
func TestSimulateBelowTheDeadline(t *testing.T) {
	args := []string{"simulate", "--fail", "0%", "--slow", "0%", "--runs", "20", "--budget", "10m", "--clusters", "10"}
	manifest := strings.ReplaceAll(simulated, "150s", "40s")
	out, errors, code := runOn(t, manifest, args...)
	require.Zero(t, code, errors)
	require.Contains(t, out, "assumed  a cluster succeeds after 4s")
	require.Contains(t, out, ": 100% complete\n")
	require.NotContains(t, out, "note")
	out, _, _ = runOn(t, manifest, append(args, "--apply", "1m")...)
	require.Contains(t, out, ": 100% aborted\n")
	require.Contains(t, out, "note     half of the healthy clusters fail, too: they need longer than the progressDeadline of 40s in placement production")
}

// A simulation ends with its context and with its budget, even during its first run.
func TestSimulateEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	require.NoError(t, os.WriteFile(file, []byte(simulated), 0o600))
	simulate := func(ctx context.Context, code int, changes ...Option) string {
		var out bytes.Buffer
		args := []string{"simulate", "-f", file, "--clusters", "1000", "--budget", "1h"}
		require.Equal(t, code, Run(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, changes...))
		return out.String()
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.Empty(t, simulate(stopped, exitInterrupted))
	var asked atomic.Int64
	late := func(o *options) { o.now = func() time.Time { return time.Unix(asked.Add(1)*3600, 0) } }
	require.Contains(t, simulate(t.Context(), 1, late), "the time for the simulation ran out before a run ended")
}
