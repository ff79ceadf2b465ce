package plugin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/worklist"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// follower keeps the objects of a ManifestWorkReplicaSet up to date with informers.
type follower struct {
	clients *clients
	// changed receives a value after a change. It buffers at most one value.
	changed chan struct{}
	sources []*source

	mu sync.Mutex
	// lease is the Lease of the hub's leader; nil if it can't be read.
	lease *coordinationv1.Lease
}

// source is the informer of one kind.
type source struct {
	cache.SharedInformer
	// permission is the permission that the informer requires. It is empty for the ManifestWorkReplicaSet itself: without the set, nothing can
	// be shown.
	permission string
	// lost is the error about the missing permission; nil while the user has the permission.
	lost error
}

// The sources, in the order of follow.
const (
	ofSet = iota
	ofRevisions
	ofPlacements
	ofDecisions
	ofWorks
)

// lister is the part of a typed client that an informer uses.
type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// following returns the ListWatch of the objects that the options select.
func following[L runtime.Object](client lister[L], selected metav1.ListOptions) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector, options.FieldSelector = selected.LabelSelector, selected.FieldSelector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = selected.LabelSelector, selected.FieldSelector
			return client.Watch(ctx, options)
		},
	}
}

// listed lists objects as the other commands do, and then watches them. A streaming list would decode the manifests of all works.
type listed struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported makes an informer list the objects before it watches them.
func (listed) IsWatchListSemanticsUnSupported() bool { return true }

func followingWorks(c *clients, selected metav1.ListOptions) *cache.ListWatch {
	lw := following(c.works.WorkV1().ManifestWorks(metav1.NamespaceAll), selected)
	lw.ListWithContextFunc = func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		works, version, err := worklist.Read(ctx, c.works, selected.LabelSelector)
		if err != nil {
			return nil, err
		}
		list := &internalversion.List{ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: make([]runtime.Object, 0, len(works))}
		for i := range works {
			list.Items = append(list.Items, &keptWork{works[i].Object, works[i].Digest})
		}
		return list, nil
	}
	return lw
}

// keptWork is a work without its manifests.
type keptWork struct {
	*workv1.ManifestWork
	digest revision.Digest
}

// follow starts to follow the objects of a ManifestWorkReplicaSet until the context ends.
func follow(ctx context.Context, c *clients, name string) *follower {
	f := &follower{clients: c, changed: make(chan struct{}, 1)}
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	ours := metav1.ListOptions{LabelSelector: workv1alpha1.WorkSelector(c.namespace, name)}
	in := " in namespace " + c.namespace
	cluster, all := c.clusters.ClusterV1beta1(), metav1.ListOptions{}
	f.add(following(setsIn(c.objects, c.namespace), only), &unstructured.Unstructured{}, "", decoded)
	f.add(following(c.kube.AppsV1().ControllerRevisions(c.namespace), revisionsOf(c.namespace, name)), &appsv1.ControllerRevision{},
		"controllerrevisions.apps"+in, nil)
	f.add(following(cluster.Placements(c.namespace), all), &clusterv1beta1.Placement{},
		"placements.cluster.open-cluster-management.io"+in, nil)
	f.add(following(cluster.PlacementDecisions(c.namespace), all), &clusterv1beta1.PlacementDecision{},
		"placementdecisions.cluster.open-cluster-management.io"+in, nil)
	f.add(followingWorks(c, ours), &workv1.ManifestWork{}, "manifestworks.work.open-cluster-management.io in all namespaces", keeping())
	go f.readLease(ctx)
	f.run(ctx)
	return f
}

// decoded decodes a ManifestWorkReplicaSet.
func decoded(object any) (any, error) {
	if read, ok := object.(*unstructured.Unstructured); ok {
		return replicaset.Decode(read).ManifestWorkReplicaSet, nil
	}
	return object, nil
}

// keeping returns a transformation that keeps the parts of a work that a view reads.
func keeping() cache.TransformFunc {
	keeper := worklist.NewKeeper()
	return func(object any) (any, error) {
		if work, ok := object.(*workv1.ManifestWork); ok {
			kept := keeper.WorkOf(work)
			return &keptWork{kept.Object, kept.Digest}, nil
		}
		return object, nil
	}
}

// add adds an informer that reports its changes.
func (f *follower) add(lw *cache.ListWatch, object runtime.Object, permission string, transform cache.TransformFunc) {
	s := &source{permission: permission}
	list, watches := lw.ListWithContextFunc, lw.WatchFuncWithContext
	lw.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return patiently(ctx, func() (runtime.Object, error) { return list(ctx, options) })
	}
	lw.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		events, err := patiently(ctx, func() (watch.Interface, error) { return watches(ctx, options) })
		f.note(s, err)
		return events, err
	}
	s.SharedInformer = cache.NewSharedInformer(listed{lw}, object, 0)
	f.sources = append(f.sources, s)
	_, err := s.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { f.tell() }, UpdateFunc: func(any, any) { f.tell() }, DeleteFunc: func(any) { f.tell() },
	})
	err = errors.Join(err, s.SetTransform(transform),
		s.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { f.note(s, err) }))
	if err != nil {
		panic(err) // Only a running informer rejects them.
	}
}

// reconnectAfter is the pause between two attempts of a request while the API server can't be reached.
const reconnectAfter = 2 * time.Second

// patiently retries a request while the API server can't be reached. An informer's own backoff would grow to half a minute.
func patiently[T any](ctx context.Context, request func() (T, error)) (found T, err error) {
	_ = wait.PollUntilContextCancel(ctx, reconnectAfter, true, func(context.Context) (bool, error) {
		found, err = request()
		return err == nil || errors.As(err, new(apierrors.APIStatus)), nil
	})
	return found, err
}

// run starts the informers.
func (f *follower) run(ctx context.Context) {
	for _, s := range f.sources {
		go s.RunWithContext(ctx)
	}
	f.tell()
}

// leaseEvery is the interval at which the Lease of the hub's leader is read. A Lease of 10 seconds, as in the sandbox, must not look late
// in between.
const leaseEvery = 5 * time.Second

// readLease reads the Lease of the hub's leader until the context ends.
func (f *follower) readLease(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		lease := f.clients.lease(ctx)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lease = lease
	}, leaseEvery)
}

// ready reports whether each informer has its objects or lacks permission.
func (f *follower) ready() (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sources {
		switch {
		case s.lost != nil && s.permission == "":
			return false, s.lost
		case s.lost == nil && !s.HasSynced():
			return false, nil
		}
	}
	return true, nil
}

func (f *follower) tell() {
	select {
	case f.changed <- struct{}{}:
	default: // A change is waiting already.
	}
}

// note records that an informer watches, or that it lacks a permission. The informer retries, because the user may get the permission
// later.
func (f *follower) note(s *source, err error) {
	if err != nil && !apierrors.IsForbidden(err) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if (s.lost == nil) != (err == nil) {
		s.lost = err
		f.tell()
	}
}

// errDeleted ends a watch after the object was deleted.
var errDeleted = errors.New("deleted")

// objects returns the current objects of the informers.
func (f *follower) objects(now time.Time) (*view.Objects, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	set := objectsOf[*workv1alpha1.ManifestWorkReplicaSet](f.sources[ofSet])
	if len(set) == 0 {
		return nil, errDeleted
	}
	out := &view.Objects{
		ReplicaSet: set[0], Now: now, Revisions: objectsOf[*appsv1.ControllerRevision](f.sources[ofRevisions]),
		Placements: map[string]*clusterv1beta1.Placement{}, Decisions: map[string][]*clusterv1beta1.PlacementDecision{},
	}
	for _, placement := range objectsOf[*clusterv1beta1.Placement](f.sources[ofPlacements]) {
		out.Placements[placement.Name] = placement
	}
	for _, decision := range objectsOf[*clusterv1beta1.PlacementDecision](f.sources[ofDecisions]) {
		name := decision.Labels[clusterv1beta1.PlacementLabel]
		out.Decisions[name] = append(out.Decisions[name], decision)
	}
	for _, w := range objectsOf[*keptWork](f.sources[ofWorks]) {
		out.Works = append(out.Works, work.Work{Object: w.ManifestWork, Digest: w.digest})
	}
	for _, s := range f.sources {
		if s.lost != nil {
			out.Missing = append(out.Missing, "watch "+s.permission)
		}
	}
	out.Lease = f.lease
	out.FromCopy()
	return out, nil
}

// objectsOf returns the objects of an informer, by namespace and name.
func objectsOf[T metav1.Object](s *source) []T {
	if s.lost != nil {
		return nil
	}
	var out []T
	for _, object := range s.GetStore().List() {
		if found, ok := object.(T); ok {
			out = append(out, found)
		}
	}
	slices.SortFunc(out, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}
