package workwriter

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
)

// fakeWorks answers what it is asked by functions; nil for what must not be asked.
type fakeWorks struct {
	workclientset.Interface
	workv1client.WorkV1Interface
	workv1client.ManifestWorkInterface
	namespace string

	get    func(namespace, name string) (*workv1.ManifestWork, error)
	list   func(namespace, selector string) (*workv1.ManifestWorkList, error)
	create func(work *workv1.ManifestWork) (*workv1.ManifestWork, error)
	patch  func(namespace, name string, data []byte) (*workv1.ManifestWork, error)
	delete func(namespace, name string, preconditions *metav1.Preconditions) error
}

func (f fakeWorks) WorkV1() workv1client.WorkV1Interface { return f }

func (f fakeWorks) ManifestWorks(namespace string) workv1client.ManifestWorkInterface {
	f.namespace = namespace
	return f
}

func (f fakeWorks) Get(_ context.Context, name string, _ metav1.GetOptions) (*workv1.ManifestWork, error) {
	return f.get(f.namespace, name)
}

func (f fakeWorks) List(_ context.Context, options metav1.ListOptions) (*workv1.ManifestWorkList, error) {
	return f.list(f.namespace, options.LabelSelector)
}

func (f fakeWorks) Create(_ context.Context, work *workv1.ManifestWork, _ metav1.CreateOptions) (*workv1.ManifestWork, error) {
	return f.create(work)
}

func (f fakeWorks) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*workv1.ManifestWork, error) {
	return f.patch(f.namespace, name, data)
}

func (f fakeWorks) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	return f.delete(f.namespace, name, options.Preconditions)
}

// updatingWorks is a client by which works are written whole.
type updatingWorks struct {
	fakeWorks
	updated []*workv1.ManifestWork
}

func (u *updatingWorks) WorkV1() workv1client.WorkV1Interface { return u }

func (u *updatingWorks) ManifestWorks(string) workv1client.ManifestWorkInterface { return u }

func (u *updatingWorks) Update(_ context.Context, work *workv1.ManifestWork, _ metav1.UpdateOptions) (*workv1.ManifestWork, error) {
	u.updated = append(u.updated, work)
	return work, nil
}

// goneWorks has none.
type goneWorks struct{ fakeWorks }

func (g goneWorks) WorkV1() workv1client.WorkV1Interface { return g }

func (g goneWorks) ManifestWorks(string) workv1client.ManifestWorkInterface { return g }

func (goneWorks) Update(_ context.Context, work *workv1.ManifestWork, _ metav1.UpdateOptions) (*workv1.ManifestWork, error) {
	return nil, apierrors.NewNotFound(workv1.Resource("manifestworks"), work.Name)
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
