package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// forecastOf returns the forecast for a fleet whose agents report at once, except one cluster with a given fate.
func (f *fleet) forecastOf(short string, fate forecast.Fate) forecast.Result {
	f.t.Helper()
	names := make([]string, 0, len(f.clusters))
	for _, cluster := range f.clusters {
		names = append(names, f.cluster(cluster))
	}
	set := f.get()
	in := &forecast.Input{
		ReplicaSet: set, Rules: forecast.RulesOf(&set.Spec.ManifestWorkTemplate), Settle: settle,
		Placements: map[string]*placement.Placement{"p1": {
			Selected: len(names), Decisions: 1, Groups: []placement.Group{{Name: "g0", Clusters: names}},
		}},
		Agents: forecast.Agents{Apply: 100 * time.Millisecond, SlowFactor: 1, Fates: map[string]forecast.Fate{f.cluster(short): fate}},
	}
	require.NoError(f.t, in.Validate())
	results, err := forecast.Runs(in, 1, 1, nil, func() bool { return true })
	require.NoError(f.t, err)
	return results[0]
}

// The forecast comes true on the real hub: the same number of clusters run the bad revision before the abort, and the abort comes at the
// same time. The number of clusters is exact. The time deviates by the time that the simulated agents and the API server take.
func TestForecastComesTrue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		deadline string
		report   outcome
		fate     forecast.Fate
		exposed  int
	}{
		{"degrades", "4s", degrades, forecast.Fails, 6},
		{"hangs", "10s", hangs, forecast.Hangs, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := rolledOut(t, 12, progressive(3, c.deadline, 0, abortAll))
			expected := f.forecastOf("c3", c.fate)
			require.Equal(t, forecast.Aborted, expected.Outcome)
			require.Equal(t, c.exposed, expected.Exposed)

			before := f.generations()
			f.agentsReport("c3", "v2", c.report)
			begin := time.Now()
			f.update("v2")
			aborted := f.aborted()
			took := aborted.Status.AbortedTime.Sub(begin)
			f.everywhere("v1")
			exposed := 0
			for cluster, generation := range f.generations() {
				if generation > before[cluster] {
					exposed++
				}
			}
			t.Logf("exposed %d, forecast %d; aborted after %s, forecast %s", exposed, expected.Exposed, took, expected.Duration)
			require.Equal(t, expected.Exposed, exposed)
			// AbortedTime has whole seconds, and this machine may be busy.
			require.InDelta(t, expected.Duration.Seconds(), took.Seconds(), 8)
		})
	}
}

// plan shows the waves in which the hub then writes to every cluster.
func TestPluginPlan(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 7, progressive(3, "10m", 1, abortAll))
	require.Contains(t, f.ok("plan", "web"), "waves    the hub starts no further clusters")

	set := f.get()
	set.Spec.ManifestWorkTemplate = template("v2")
	planned := f.ok("plan", "-f", f.file(set))
	for _, part := range []string{
		f.namespace + "/web   would roll out a new revision 2\n", "waves    3, if every cluster recovers and succeeds; the hub writes the first one now\n",
		"limits   placement p1: every cluster returns to revision 1 when 2 of 7 clusters fail; a cluster fails 10m0s after its ManifestWork is written\n",
		"changes to the template of revision 1:\n", "-  version: v1\n", "+  version: v2\n", "Waiting   Slot", "0/g0",
	} {
		require.Contains(t, planned, part)
	}
	require.Equal(t, "v1", f.versions()["c1"], "a plan changes nothing")
	wanted := wavesIn(planned)
	require.Len(t, wanted, 3)

	f.update("v2")
	f.complete()
	require.Equal(t, wanted, f.inOrder(3))

	set.Spec.ManifestWorkTemplate = template("v1")
	require.Contains(t, f.ok("plan", "-f", f.file(set)), "would return to the template of revision 1, as revision 3")
	f.refuses("name a ManifestWorkReplicaSet, or a file with -f, but not both", "plan")
	f.refuses("not found", "plan", "other")
	set.Name = "another"
	fresh := f.ok("plan", "-f", f.file(set), "-o", "json")
	require.Contains(t, fresh, `"revision": 1`)
	require.Contains(t, fresh, f.cluster("c7"))
	set.Namespace = "elsewhere"
	f.refuses(`the namespace of the file, "elsewhere", is not that of --namespace`, "plan", "-f", f.file(set))
}

// file writes an object to a file, as a user would.
func (f *fleet) file(set *workv1alpha1.ManifestWorkReplicaSet) string {
	f.t.Helper()
	set = set.DeepCopy()
	set.SetGroupVersionKind(workv1alpha1.ManifestWorkReplicaSetKind)
	set.ManagedFields = nil
	content, err := yaml.Marshal(set)
	require.NoError(f.t, err)
	path := filepath.Join(f.t.TempDir(), "web.yaml")
	require.NoError(f.t, os.WriteFile(path, content, 0o600))
	return path
}

// inOrder returns the clusters in the order in which the hub wrote to them, n at a time.
func (f *fleet) inOrder(n int) (chunks [][]string) {
	f.t.Helper()
	works := f.works()
	var clusters []string
	at := map[string]string{}
	for i := range works {
		clusters = append(clusters, works[i].Namespace)
		at[works[i].Namespace] = works[i].Annotations[workv1alpha1.AnnotationAppliedAt]
	}
	slices.SortFunc(clusters, func(a, b string) int {
		first, err := time.Parse(time.RFC3339Nano, at[a])
		require.NoError(f.t, err)
		second, err := time.Parse(time.RFC3339Nano, at[b])
		require.NoError(f.t, err)
		return first.Compare(second)
	})
	for chunk := range slices.Chunk(clusters, n) {
		slices.Sort(chunk)
		chunks = append(chunks, chunk)
	}
	return chunks
}

// wavesIn returns the waves of a printed plan.
func wavesIn(out string) (waves [][]string) {
	_, table, _ := strings.Cut(out, "NAMES\n")
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 || fields[0] != fmt.Sprint(len(waves)+1) {
			break
		}
		clusters := fields[4:]
		slices.Sort(clusters)
		waves = append(waves, clusters)
	}
	return waves
}
