package plugin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// Any response from the API server, even a refusal, shows that it is reachable. An overload or a broken connection does not.
func TestDashboardContact(t *testing.T) {
	now := time.Unix(1000, 0)
	h := &dashboardHub{o: &options{now: func() time.Time { return now }}, clients: &clients{namespace: "default"}}
	require.Equal(t, "namespace default", h.Scope())
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	for _, err := range []error{nil, forbidden} {
		h.noteContact(err)
		since, _ := h.Contact()
		require.Zero(t, since)
	}
	h.noteContact(errors.New("connection refused"))
	now = now.Add(time.Minute)
	h.noteContact(&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusServiceUnavailable, Message: "starting"}})
	since, problem := h.Contact()
	require.Equal(t, time.Unix(1000, 0), since, "since the first failure")
	require.Equal(t, "starting", problem)
	require.Equal(t, since, h.seenAt(), "what is read is as old: a Lease is not late because it can't be read")
	h.noteContact(nil)
	since, _ = h.Contact()
	require.Zero(t, since)
	require.Equal(t, now, h.seenAt())
}

// The list has the same row for an object without its template.
func TestDashboardRow(t *testing.T) {
	set := newOneHub(t).set
	set.ManagedFields = []metav1.ManagedFieldsEntry{{}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	require.NoError(t, err)
	read := &unstructured.Unstructured{Object: content}
	row := view.RowOf(replicaset.Decode(read).ManifestWorkReplicaSet)
	kept, err := withoutTemplate(read)
	require.NoError(t, err)
	after := kept.(*workv1alpha1.ManifestWorkReplicaSet)
	require.Empty(t, after.ManagedFields)
	require.Empty(t, after.Spec.ManifestWorkTemplate)
	require.Equal(t, row, view.RowOf(after))
}

// If the user has no permission to read the object or the list, the page reports this, and does not wait forever.
func TestDashboardWithoutPermission(t *testing.T) {
	_, host := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not yours"}`)
	}))
	c, err := newClients(&rest.Config{Host: host}, "default")
	require.NoError(t, err)
	h := &dashboardHub{o: &options{now: time.Now, sampleFrom: 1000, sampleStep: 10}, clients: c}
	followed, listed := h.Follow(t.Context(), "default", "web"), h.List(t.Context())
	for _, now := range []func() error{
		func() error { _, err := followed(); return err },
		func() error { _, err := listed(); return err },
	} {
		require.Eventually(t, func() bool {
			err = now()
			return apierrors.IsForbidden(err) && !errors.Is(err, dashboard.ErrNotReady)
		}, time.Minute, 10*time.Millisecond)
		require.ErrorContains(t, err, "not yours")
	}
}

// TestFollowsAgain: an informer gets its objects as soon as its missing permission is granted, or the API server is reachable again.
func TestFollowsAgain(t *testing.T) {
	h := newOneHub(t)
	var refuses, breaks atomic.Bool
	refuses.Store(true)
	_, host := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case breaks.Load():
			panic(http.ErrAbortHandler)
		case refuses.Load() && strings.HasSuffix(r.URL.Path, "/controllerrevisions"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		default:
			h.ServeHTTP(w, r)
		}
	}))
	c, err := newClients(&rest.Config{Host: host}, "default")
	require.NoError(t, err)
	missing := func(f dashboard.Followed[*view.Objects], want int) {
		t.Helper()
		require.Eventually(t, func() bool {
			objects, err := f()
			return err == nil && len(objects.Missing) == want
		}, time.Minute, 10*time.Millisecond)
	}
	hub := &dashboardHub{o: &options{now: time.Now}, clients: c}
	followed := hub.Follow(t.Context(), "default", "web")
	missing(followed, 4) // This hub does not serve Placements, PlacementDecisions or ManifestWorks.
	refuses.Store(false)
	missing(followed, 3)
	breaks.Store(true)
	late := hub.Follow(t.Context(), "default", "web")
	_, err = late()
	require.ErrorIs(t, err, dashboard.ErrNotReady)
	breaks.Store(false)
	missing(late, 3)
}

// TestPatiently: a request is retried until the API server responds in any way, or until the context ends.
func TestPatiently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone, refused := errors.New("connection refused"), apierrors.NewForbidden(schema.GroupResource{}, "", nil)
		begin, answers := time.Now(), []error{gone, gone, refused}
		_, err := patiently(t.Context(), func() (int, error) {
			next := answers[0]
			answers = answers[1:]
			return 0, next
		})
		require.Equal(t, refused, err)
		require.Equal(t, 2*reconnectAfter, time.Since(begin))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = patiently(ctx, func() (int, error) { return 0, gone })
		require.Equal(t, gone, err)
	})
}

// TestTheLeaseIsReadOften: between two reads, the Lease of a running hub does not look late, even if it lasts for only 10 seconds.
func TestTheLeaseIsReadOften(t *testing.T) {
	const lasts, renewed = 10 * time.Second, 2 * time.Second
	require.Less(t, leaseEvery+renewed, lasts)
}
