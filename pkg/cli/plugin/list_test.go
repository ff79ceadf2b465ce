package plugin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// manySets is an API server with n ManifestWorkReplicaSets. The last one has lost a field.
type manySets struct {
	n      int
	limits []string
}

func (m *manySets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/leases/") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	query := r.URL.Query()
	m.limits = append(m.limits, query.Get("limit"))
	begin, _ := strconv.Atoi(query.Get("continue"))
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		limit = m.n
	}
	end := min(m.n, begin+limit)
	version := workv1alpha1.SchemeGroupVersion.String()
	list := &workv1alpha1.ManifestWorkReplicaSetList{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ManifestWorkReplicaSetList"}}
	if end < m.n {
		list.Continue = strconv.Itoa(end)
	}
	for i := begin; i < end; i++ {
		set := workv1alpha1.ManifestWorkReplicaSet{
			TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: "ManifestWorkReplicaSet"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("web-%d", i)},
		}
		list.Items = append(list.Items, set)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

// TestManySets: `list` and the doctor read ManifestWorkReplicaSets page by page.
func TestManySets(t *testing.T) {
	const n = 3*replicaset.PageSize + 1
	limit := strconv.Itoa(replicaset.PageSize)
	server := &manySets{n: n}
	kubeconfig, host := serve(t, server)
	code, out, errs := mwrs(t, "", "list", "-A", "--kubeconfig", kubeconfig)
	require.Zero(t, code, errs)
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), n+1)
	require.Equal(t, []string{limit, limit, limit, limit}, server.limits)

	server.limits = nil
	c, err := newClients(&rest.Config{Host: host}, "default")
	require.NoError(t, err)
	d := &doctor{clients: c}
	require.NoError(t, d.refused(t.Context()))
	require.NoError(t, d.refused(t.Context())) // It does not read the objects again.
	require.Equal(t, []string{limit, limit, limit, limit}, server.limits)
}
