package workwriter

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
)

// answering is a client that answers each request with a verb by a function, or as an API server with some works where that returns nothing.
func answering(verb string, answer func(clienttesting.Action) (*workv1.ManifestWork, error), works ...runtime.Object) *workfake.Clientset {
	client := workfake.NewSimpleClientset(works...)
	client.PrependReactor(verb, "manifestworks", func(action clienttesting.Action) (bool, runtime.Object, error) {
		work, err := answer(action)
		return work != nil || err != nil, work, err
	})
	return client
}

// asked counts the requests with a verb.
func asked(client *workfake.Clientset, verb string) (n int) {
	for _, action := range client.Actions() {
		if action.GetVerb() == verb {
			n++
		}
	}
	return n
}

// ours is an owner without revisions, as a pass sees it. What is found is noted.
func ours(found *[]string) *Owner {
	return &Owner{
		Object:     &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "owner"}},
		Label:      "ns.web",
		Snapshot:   &rollout.Snapshot{Owner: "ns.web"},
		History:    &revision.History{},
		IsRevision: func(hash string) bool { return hash == "aaa" },
		Found:      func(work metav1.Object) { *found = append(*found, work.GetName()) },
		NameTaken:  func(cluster, name string) { *found = append(*found, cluster+" has "+name) },
	}
}

func workOf(cluster, hash string) *rollout.Work {
	work := rt.Work(cluster, rt.Bears(hash))
	return &work
}

func at(client workclientset.Interface, whole bool) *Writer {
	return New(Config{Works: client, Whole: whole, Clock: clocktesting.NewFakeClock(rt.Epoch)})
}
