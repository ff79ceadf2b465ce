package plugin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// slowFleet is a large fleet whose API server serves watches, and answers lists of whole works only when it may.
type slowFleet struct {
	*largeFleet
	mayList chan struct{}
}

func (f *slowFleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") != "": // The informers then list.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case query.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		if strings.HasSuffix(r.URL.Path, "/manifestworks") && !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			<-f.mayList
		}
		f.largeFleet.ServeHTTP(w, r)
	}
}

// lists adds the answers to the lists of the informers.
func (f *slowFleet) lists() {
	for path, answer := range f.answers {
		collection := path[:strings.LastIndex(path, "/")]
		switch object := answer.(type) {
		case *workv1alpha1.ManifestWorkReplicaSet:
			f.answers[collection] = &workv1alpha1.ManifestWorkReplicaSetList{Items: []workv1alpha1.ManifestWorkReplicaSet{*object}}
		case *clusterv1beta1.Placement:
			f.answers[collection] = &clusterv1beta1.PlacementList{Items: []clusterv1beta1.Placement{*object}}
		}
	}
}

// TestFollowsASampleFirst: a follower has a sample of a large fleet before it has all works, and then the works themselves.
func TestFollowsASampleFirst(t *testing.T) {
	const n = 300
	fleet := &slowFleet{largeFleet: newLargeFleet(t, n, 100), mayList: make(chan struct{})}
	fleet.lists()
	_, host := serve(t, fleet)
	c, err := newClients(&rest.Config{Host: host}, "default")
	require.NoError(t, err)
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	set.Namespace, set.Name = "default", "web"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := newFollower(&options{now: time.Now, sampleFrom: n, sampleStep: 1}, c, set)
	require.NoError(t, f.start(ctx))
	count := func() (works, unread int) {
		if ready, err := f.ready(); err != nil || !ready {
			return 0, 0
		}
		objects, err := f.objects(time.Now())
		require.NoError(t, err)
		return len(objects.Works), len(objects.Unread)
	}
	becomes := func(unread int, what string) {
		require.Eventually(t, func() bool { works, now := count(); return works == n && now == unread }, time.Minute, 10*time.Millisecond, what)
	}
	becomes(n, "a sample of which nothing had to be read")
	close(fleet.mayList)
	becomes(0, "all works")
	objects, err := f.objects(time.Now())
	require.NoError(t, err)
	for i := range objects.Works {
		require.NotEmpty(t, objects.Works[i].Digest)
		require.Empty(t, objects.Works[i].Object.Spec.Workload.Manifests)
	}
	require.Nil(t, f.first)
}
