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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/worklist"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// follower keeps the objects of a ManifestWorkReplicaSet up to date with informers.
type follower struct {
	*options
	clients *clients
	name    string
	// changed receives a value after a change. It holds at most one.
	changed chan struct{}
	sources []*source

	mu      sync.Mutex
	missing []string
	failed  error
	// lease is the Lease of the hub's leader; nil if it can't be read.
	lease *coordinationv1.Lease
}

// source is the informer of one kind.
type source struct {
	cache.SharedInformer
	// permission is the permission that the informer requires. The set itself has none: without it, nothing can be shown.
	permission string
	lost       bool
}

// The sources, in the order of newFollower.
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

// listedWorks lists works as the other commands read them, and then watches them. A list through a typed client, or a watch that begins
// with all objects, would decode the manifests of all works.
type listedWorks struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported makes an informer list the works before it watches them.
func (listedWorks) IsWatchListSemanticsUnSupported() bool { return true }

func followingWorks(c *clients, selected metav1.ListOptions) cache.ListerWatcher {
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
	return listedWorks{lw}
}

// keptWork is a work without its manifests.
type keptWork struct {
	*workv1.ManifestWork
	digest revision.Digest
}

func newFollower(o *options, c *clients, set *workv1alpha1.ManifestWorkReplicaSet) *follower {
	f := &follower{options: o, clients: c, name: set.Name, changed: make(chan struct{}, 1)}
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", set.Name).String()}
	ours := metav1.ListOptions{LabelSelector: owned(set)}
	in := " in namespace " + c.namespace
	cluster, all := c.clusters.ClusterV1beta1(), metav1.ListOptions{}
	informer := func(lw cache.ListerWatcher, object runtime.Object, permission string) {
		f.sources = append(f.sources, &source{SharedInformer: cache.NewSharedInformer(lw, object, 0), permission: permission})
	}
	informer(following(c.replicaSets(), only), &workv1alpha1.ManifestWorkReplicaSet{}, "")
	informer(following(c.kube.AppsV1().ControllerRevisions(c.namespace), ours), &appsv1.ControllerRevision{}, "controllerrevisions.apps"+in)
	informer(following(cluster.Placements(c.namespace), all), &clusterv1beta1.Placement{}, "placements.cluster.open-cluster-management.io"+in)
	informer(following(cluster.PlacementDecisions(c.namespace), all), &clusterv1beta1.PlacementDecision{},
		"placementdecisions.cluster.open-cluster-management.io"+in)
	informer(followingWorks(c, ours), &workv1.ManifestWork{},
		"manifestworks.work.open-cluster-management.io in all namespaces")
	return f
}

// start starts the informers, and returns when each has its objects or lacks permission.
func (f *follower) start(ctx context.Context) error {
	keeper := worklist.NewKeeper()
	err := f.sources[ofWorks].SetTransform(func(object any) (any, error) {
		if work, ok := object.(*workv1.ManifestWork); ok {
			kept := keeper.Of(work)
			return &keptWork{kept.Object, kept.Digest}, nil
		}
		return object, nil
	})
	if err != nil {
		return err
	}
	for _, s := range f.sources {
		if err := f.attach(s); err != nil {
			return err
		}
		go s.RunWithContext(ctx)
	}
	go f.readLease(ctx)
	f.tell()
	return nil
}

// leaseEvery is how often the Lease of the hub's leader is read. It is renewed more often.
const leaseEvery = 15 * time.Second

// readLease reads the Lease of the hub's leader until the context ends.
func (f *follower) readLease(ctx context.Context) {
	ticker := time.NewTicker(leaseEvery)
	defer ticker.Stop()
	for {
		lease := f.clients.lease(ctx)
		f.mu.Lock()
		f.lease = lease
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ready reports whether each informer has its objects or lacks permission.
func (f *follower) ready() (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(f.sources, func(s *source) bool { return !s.lost && !s.HasSynced() }), f.failed
}

// attach makes a source report its changes and its errors.
func (f *follower) attach(s *source) error {
	_, err := s.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { f.tell() }, UpdateFunc: func(any, any) { f.tell() }, DeleteFunc: func(any) { f.tell() },
	})
	return errors.Join(err, s.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { f.lose(s, err) }))
}

func (f *follower) tell() {
	select {
	case f.changed <- struct{}{}:
	default: // A change is waiting already.
	}
}

// lose records a missing permission. An informer retries all other errors.
func (f *follower) lose(s *source, err error) {
	if !apierrors.IsForbidden(err) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case s.permission == "":
		f.failed = err
	case !s.lost:
		s.lost = true
		f.missing = append(f.missing, "watch "+s.permission)
	}
	f.tell()
}

// errDeleted is the end of a watch: the object was deleted.
var errDeleted = errors.New("deleted")

// objects returns the objects as the informers have them.
func (f *follower) objects(now time.Time) (*view.Objects, error) {
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
	f.mu.Lock()
	defer f.mu.Unlock()
	out.Missing, out.Lease = slices.Clone(f.missing), f.lease
	out.FromCopy()
	return out, nil
}

// objectsOf returns the objects of an informer, by namespace and name.
func objectsOf[T metav1.Object](s *source) []T {
	if s.lost {
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
