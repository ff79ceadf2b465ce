package sandbox

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// Light clusters get a version that works, and then a version that breaks on every second cluster and is aborted and rolled back. They
// report generations as OCM's agents do: a version hands over the objects that it drops, the rollout waits for a disconnected cluster, and
// a deletion keeps the workloads.
func TestLightClusters(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	s := startSandbox(t, r, "--clusters=2", "--whole=0", "--operator=false")
	s.waitFor(`^  # 2 light clusters, up to cluster2, `)
	s.isReady()
	r.must("kubectl mwrs status web")
	output, err := r.shell(`sed 's/web:v1/web:v2-flaky/' "$SAMPLES/web-v1.yaml" | kubectl apply -f -
		kubectl mwrs status web`)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, output)
	require.Equal(t, 3, exit.ExitCode(), output)
	require.Contains(t, r.must("kubectl mwrs why web cluster2"), "the hub recorded a failure of revision 2: degraded")
	r.must("kubectl mwrs undo web --yes --allow-managed --wait")
	r.succeeded("cluster1\ncluster2\n")

	r.handsOverAfterAnOutage()
	r.isAway()
	r.must(`kubectl patch mwrs web --type=merge -p '{"spec": {"preserveResourcesOnDeletion": true}}'
		kubectl delete mwrs web --timeout=2m`)

	s.end(syscall.SIGINT, 0)
}

// handsOverAfterAnOutage rolls out a version with another Deployment. A disconnected cluster gets the version when it is connected again.
func (r *reader) handsOverAfterAnOutage() {
	r.t.Helper()
	r.calm()
	require.Equal(r.t, "cluster2 is offline.\n", r.must("bin/sandbox offline cluster2"))
	r.must(`kubectl patch mwrs web --type=merge -p '{"spec": {"pruneStrategy": "WhenAvailable"}}'
		sed 's/web:v1/web:v3/; /kind: Deployment/,/spec:/s/name: web/name: web-3/; s/name: web}/name: web-3}/' "$SAMPLES/web-v1.yaml" |
		kubectl apply -f -`)
	await.Eventually(r.t, patience, "the hub waits for the agent of the disconnected cluster", func() error {
		output := r.must("kubectl mwrs clusters web --state inflight")
		if !strings.Contains(output, "cluster2") || strings.Contains(output, "cluster1") {
			return errors.New(output)
		}
		return nil
	})
	require.Contains(r.t, r.must("kubectl mwrs why web cluster2"), "waits for a report from the agent on this revision")
	r.must(`bin/sandbox online cluster2
		kubectl mwrs status web`)
	require.Equal(r.t, "web-3 web-3 ", r.must(`kubectl get manifestworks -A `+
		`-o jsonpath='{range .items[*]}{.spec.workload.manifests[*].metadata.name}{" "}{end}'`))
}

// isAway: a cluster that is offline leaves a Placement without tolerations, keeps its work, and returns.
func (r *reader) isAway() {
	r.t.Helper()
	output, err := r.shell("bin/sandbox offline cluster7")
	require.Error(r.t, err)
	require.Contains(r.t, output, `the sandbox has no cluster "cluster7"`)
	const available = `kubectl wait managedcluster/cluster2 --timeout=1m ` +
		`--for=jsonpath='{.status.conditions[?(@.type=="ManagedClusterConditionAvailable")].status}'=`
	r.must(`kubectl patch placement all-clusters --type=json -p '[{"op": "remove", "path": "/spec/tolerations"}]'
		bin/sandbox offline cluster2
		` + available + "Unknown")
	await.Eventually(r.t, patience, "the cluster is away", func() error {
		if output := r.must("kubectl mwrs clusters web --state away -o name"); output != "cluster2\n" {
			return errors.New(output)
		}
		return nil
	})
	r.must("kubectl get manifestwork web -n cluster2")
	r.must("bin/sandbox online cluster2\n" + available + "True")
	r.succeeded("cluster1\ncluster2\n")
}

// succeeded waits until these clusters, and no others, have succeeded.
func (r *reader) succeeded(clusters string) {
	r.t.Helper()
	await.Eventually(r.t, patience, "the clusters succeed", func() error {
		found, err := r.shell("kubectl mwrs clusters web --state succeeded -o name")
		if err != nil || found == clusters {
			return err
		}
		all, err := r.shell("kubectl mwrs clusters web; kubectl get placementdecisions -o yaml")
		return errors.Join(errors.New(all), err)
	})
}
