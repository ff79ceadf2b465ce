package docs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// letsView: an apply of deploy/ leaves the label of an administrator.
func (h *hub) letsView(t *testing.T, _ string) {
	const labels = `kubectl get clusterrole mwrs-viewer -o jsonpath='{.metadata.labels}'`
	h.shell(t, "kubectl apply --server-side --force-conflicts -k deploy/base")
	require.JSONEq(t, `{"rbac.authorization.k8s.io/aggregate-to-view":"true","rbac.authorization.k8s.io/aggregate-to-edit":"true"}`, h.shell(t, labels))
	h.shell(t, "kubectl label clusterrole mwrs-viewer rbac.authorization.k8s.io/aggregate-to-view-")
	require.JSONEq(t, `{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}`, h.shell(t, labels))
}

// mayOnlyAbort checks with the API server what a member of the group may do.
func (h *hub) mayOnlyAbort(t *testing.T, _ string) {
	h.may(t, "web-watch", "list manifestworkreplicasets.work.open-cluster-management.io -n default", true)
	h.may(t, "web-watch", "patch manifestworkreplicasets.work.open-cluster-management.io --subresource=status -n default", true)
	h.may(t, "web-watch", "patch manifestworkreplicasets.work.open-cluster-management.io -n default", false)
}

func (h *hub) seesWorks(t *testing.T, _ string) {
	h.may(t, "web-oncall", "list manifestworks.work.open-cluster-management.io -A", true)
	h.may(t, "web-oncall", "patch manifestworks.work.open-cluster-management.io -A", false)
}

// may checks whether a member of a group may do something.
func (h *hub) may(t *testing.T, group, what string, wanted bool) {
	t.Helper()
	answer := map[bool]string{true: "yes\n", false: "no\n"}[wanted]
	require.Equal(t, answer, h.shell(t, "kubectl auth can-i "+what+" --as=jane --as-group="+group+" || true"), what)
}
