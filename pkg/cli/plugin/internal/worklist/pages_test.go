package worklist

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
)

var statusType = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}

// pages is an API server with n works. At the works of expired, the list expires once.
type pages struct {
	n, expired        int
	limits, selectors []string
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	p.limits, p.selectors = append(p.limits, query.Get("limit")), append(p.selectors, query.Get("labelSelector"))
	begin, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	w.Header().Set("Content-Type", "application/json")
	if begin > 0 && begin == p.expired {
		p.expired = 0
		status := apierrors.NewResourceExpired("the list is too old").Status()
		status.TypeMeta, status.Continue = statusType, strconv.Itoa(begin)
		w.WriteHeader(http.StatusGone)
		_ = json.NewEncoder(w).Encode(status)
		return
	}
	end, next := min(p.n, begin+limit), ""
	if end < p.n {
		next = strconv.Itoa(end)
	}
	_, _ = fmt.Fprint(w, `{"items":[`)
	for i := begin; i < end; i++ {
		if i > begin {
			_, _ = fmt.Fprint(w, ",")
		}
		_, _ = fmt.Fprintf(w, `{"metadata":{"name":"web","namespace":"c%d"},"spec":{}}`, i)
	}
	_, _ = fmt.Fprintf(w, `],"metadata":{"continue":%q,"resourceVersion":"%d"}}`, next, begin+7)
}

func (p *pages) client(t *testing.T) workclient.Interface {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	client, err := workclient.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	return client
}

// TestRead: all pages are read in order, even if the list expires on the API server meanwhile.
func TestRead(t *testing.T) {
	for _, n := range []int{0, 1, PageSize, 4*PageSize + 3} {
		server := &pages{n: n, expired: 2 * PageSize}
		works, version, err := Read(t.Context(), server.client(t), "a=b")
		require.NoError(t, err)
		require.Len(t, works, n)
		require.Equal(t, "7", version, "that of the first page")
		for i := range works {
			require.Equal(t, fmt.Sprintf("c%d", i), works[i].Cluster())
		}
		for _, limit := range server.limits {
			require.Equal(t, strconv.Itoa(PageSize), limit, "no request is without a limit")
		}
		for _, selector := range server.selectors {
			require.Equal(t, "a=b", selector, "each page selects the same works")
		}
	}
}

// TestReadFails: an error from the API server keeps its reason, and broken JSON is an error.
func TestReadFails(t *testing.T) {
	answer := func(code int, body any) workclient.Interface {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(body)
		}))
		t.Cleanup(server.Close)
		return workclient.NewForConfigOrDie(&rest.Config{Host: server.URL})
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "manifestworks"}, "", nil).Status()
	forbidden.TypeMeta = statusType
	_, _, err := Read(t.Context(), answer(http.StatusForbidden, forbidden), "")
	require.True(t, apierrors.IsForbidden(err), err)
	_, _, err = Read(t.Context(), answer(http.StatusOK, []int{1}), "")
	require.ErrorContains(t, err, "json parse error")
	expired := apierrors.NewResourceExpired("too old").Status()
	expired.TypeMeta = statusType
	_, _, err = Read(t.Context(), answer(http.StatusGone, expired), "")
	require.True(t, apierrors.IsResourceExpired(err), err)
}
