package workwriter

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// ours is an owner without revisions, as a pass sees it. It notes the works that were found.
func ours(found *[]string) *Owner {
	return &Owner{
		Object:     &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "owner"}},
		Label:      "ns.web",
		History:    &revision.History{},
		IsRevision: func(hash string) bool { return hash == "aaa" },
		Found:      func(work metav1.Object) { *found = append(*found, work.GetName()) },
		NameTaken:  func(cluster, name string) { *found = append(*found, cluster+" has "+name) },
	}
}

func workOf(cluster, hash string) *work.Work {
	work := rt.Work(cluster, rt.AtRevision(hash))
	return &work
}

func at(client workclientset.Interface, whole bool) *Writer {
	return New(Config{Works: client, Whole: whole, Clock: clocktesting.NewFakeClock(rt.Epoch)})
}
