package docs

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// deletesTheHub matches commands that delete every ManifestWorkReplicaSet of a hub, and the workloads: they delete the CRD, or the
// ClusterManager, whose operator then deletes its CRDs.
var deletesTheHub = regexp.MustCompile(`(?m)` +
	`delete\b.*\s-k\s*=?\s*(\./)?deploy(/|/base/?|/hub/?|/crds/?)?(\s|$)` +
	`|delete\b.*\s(crd|customresourcedefinitions?)\b` +
	`|delete\b.*\bclustermanagers?\b` +
	`|helm uninstall (?:[^w]|w[^o])|clusteradm clean`)

// No block of a page has a command that deletes every ManifestWorkReplicaSet.
func TestNoPageDeletesTheHub(t *testing.T) {
	for _, command := range []string{
		"kubectl delete -k deploy", "kubectl delete --wait=false -k ./deploy/base\n", "kubectl delete -k deploy/hub", "kubectl delete crd x",
		"kubectl delete clustermanager cluster-manager", "helm uninstall cluster-manager", "clusteradm clean",
	} {
		require.Regexp(t, deletesTheHub, command)
	}
	require.NotRegexp(t, deletesTheHub, "kubectl delete -k deploy/monitoring")
	require.NotRegexp(t, deletesTheHub, "helm uninstall work-rollback", "it keeps the CRD")
	for _, block := range fenced(t) {
		if block.Language == "sh" {
			require.NotRegexp(t, deletesTheHub, block.Text, block.Where())
		}
	}
}
