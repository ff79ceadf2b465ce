package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic/dynamicinformer"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// history records every state of a hub's ManifestWorks and ManifestWorkReplicaSets, as watches report them, so that tests can prove that
// something never happened.
type history struct {
	works cache.SharedIndexInformer

	mu sync.Mutex
	// seenWorks are all states of all works, in the order of the watch.
	seenWorks []seenWork
	// seenSets are the states of each ManifestWorkReplicaSet by "namespace/name".
	seenSets map[string][]seenSet
	// newestSets are the newest resource versions of the sets.
	newestSets map[string]string
	// last holds the last write in each namespace, and its time.
	last map[string]lastWrite
}

type seenWork struct {
	cluster, name, owner, placement, version, hash string
	uid                                            types.UID
	resourceVersion                                string
	generation                                     int64
	// succeeded is true if the agent reported this generation as succeeded.
	succeeded bool
	deleting  bool
	gone      bool
	// written is the time at which the hub wrote the content of the work, by the hub's clock. at is the time at which this test saw it, which
	// can be seconds later on a busy machine.
	written, at time.Time
}

// seenSet is one state of a ManifestWorkReplicaSet.
type seenSet struct {
	// reasons are the reasons of the four conditions, in the order of the table.
	reasons                  [4]string
	current, update, aborted string
}

type lastWrite struct {
	at   time.Time
	what string
}

func newHistory() *history {
	return &history{seenSets: map[string][]seenSet{}, newestSets: map[string]string{}, last: map[string]lastWrite{}}
}

// run watches until the context ends. It returns once the watches have started.
func (h *history) run(ctx context.Context, w *world) error {
	h.works = workinformers.NewSharedInformerFactory(w.works, 0).Work().V1().ManifestWorks().Informer()
	kube := kubeinformers.NewSharedInformerFactory(w.kube, 0)
	sets := dynamicinformer.NewDynamicSharedInformerFactory(w.dynamic, 0).ForResource(workv1alpha1.ManifestWorkReplicaSetResource).Informer()
	var synced []cache.InformerSynced
	for informer, also := range map[cache.SharedIndexInformer]func(obj any, gone bool){
		h.works: func(obj any, gone bool) { h.work(obj.(*workv1.ManifestWork), gone) },
		sets: func(obj any, gone bool) {
			if !gone {
				h.set(obj.(*unstructured.Unstructured))
			}
		},
		kube.Apps().V1().ControllerRevisions().Informer(): func(any, bool) {},
		kube.Events().V1().Events().Informer():            func(any, bool) {},
	} {
		handle := func(obj any, gone bool) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			h.note(obj, gone)
			also(obj, gone)
		}
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { handle(obj, false) }, UpdateFunc: func(_, obj any) { handle(obj, false) },
			DeleteFunc: func(obj any) { handle(obj, true) },
		})
		if err != nil {
			return err
		}
		synced = append(synced, registration.HasSynced)
		go informer.RunWithContext(ctx)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.New("the history's watches did not start")
	}
	return nil
}

func (h *history) note(obj any, gone bool) {
	object, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[object.GetNamespace()] = lastWrite{
		at: time.Now(), what: fmt.Sprintf("%T %s/%s at %s (gone: %v)", obj, object.GetNamespace(), object.GetName(), object.GetResourceVersion(), gone),
	}
}

func ownerOf(work *workv1.ManifestWork) string {
	namespace, name, _ := workv1alpha1.OwnerOf(work)
	return namespace + "/" + name
}

func (h *history) work(work *workv1.ManifestWork, gone bool) {
	seen := seenWork{
		cluster: work.Namespace, name: work.Name, uid: work.UID, resourceVersion: work.ResourceVersion, generation: work.Generation,
		owner: ownerOf(work), placement: work.Labels[workv1alpha1.LabelPlacement],
		hash: work.Labels[workv1alpha1.LabelControllerHash], version: versionOf(work),
		deleting: work.DeletionTimestamp != nil, gone: gone, at: time.Now(),
	}
	progressing := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkProgressing)
	seen.succeeded = progressing != nil && progressing.Status == metav1.ConditionFalse && progressing.ObservedGeneration == work.Generation
	seen.written, _ = time.Parse(time.RFC3339Nano, work.Annotations[workv1alpha1.AnnotationAppliedAt])
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seenWorks = append(h.seenWorks, seen)
}

func (h *history) set(object *unstructured.Unstructured) {
	key := object.GetNamespace() + "/" + object.GetName()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newestSets[key] = object.GetResourceVersion()
	var content workv1alpha1.ManifestWorkReplicaSet
	status, _ := object.Object["status"].(map[string]any)
	if runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": status}, &content) != nil {
		return
	}
	seen := seenSet{current: content.Status.CurrentRevision, update: content.Status.UpdateRevision}
	if content.Status.AbortedTime != nil {
		seen.aborted = "aborted"
	}
	for i, conditionType := range conditionTypes {
		if condition := meta.FindStatusCondition(content.Status.Conditions, conditionType); condition != nil {
			seen.reasons[i] = condition.Reason + "=" + string(condition.Status)
		}
	}
	if states := h.seenSets[key]; len(states) == 0 || states[len(states)-1] != seen {
		h.seenSets[key] = append(states, seen)
	}
}

// catchUp waits until the watch shows the current works of a fleet on the API server. On a busy machine, the watch may lag behind the
// test's reads.
func (h *history) catchUp(f *fleet) {
	f.t.Helper()
	live, err := f.listWorks()
	if err != nil {
		return // The test has ended, or has stopped the API server.
	}
	eventually(f.t, "the watch shows what the API server has", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		newest := map[types.UID]string{}
		for i := range h.seenWorks {
			newest[h.seenWorks[i].uid] = h.seenWorks[i].resourceVersion
		}
		for i := range live {
			if err := notBefore(newest[live[i].UID], &live[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// notBefore returns an error if a resource version is older than an object.
func notBefore(seen string, live metav1.Object) error {
	if order, err := resourceversion.CompareResourceVersion(seen, live.GetResourceVersion()); err != nil || order < 0 {
		return fmt.Errorf("%s/%s is at %s, the watch shows %q", live.GetNamespace(), live.GetName(), live.GetResourceVersion(), seen)
	}
	return nil
}

// ofFleet returns the states of a fleet's works.
func (h *history) ofFleet(f *fleet) []seenWork {
	f.t.Helper()
	h.catchUp(f)
	h.mu.Lock()
	defer h.mu.Unlock()
	var seen []seenWork
	for i := range h.seenWorks {
		if h.seenWorks[i].owner == f.namespace+"/"+f.name {
			seen = append(seen, h.seenWorks[i])
		}
	}
	return seen
}

// seenOf returns the states of a fleet's ManifestWorkReplicaSet.
func (h *history) seenOf(f *fleet) []seenSet {
	f.t.Helper()
	key := f.namespace + "/" + f.name
	live, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Get(f.t.Context(), f.name, metav1.GetOptions{})
	if err == nil {
		eventually(f.t, "the watch shows what the API server has", func() error {
			h.mu.Lock()
			defer h.mu.Unlock()
			return notBefore(h.newestSets[key], live)
		})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seenSets[key])
}

// a fleet's history

func (f *fleet) short(cluster string) string { return strings.TrimPrefix(cluster, f.namespace+"-") }

// sequence returns the versions that a cluster's work had: one for each generation.
func (f *fleet) sequence(short string) []string {
	var versions []string
	var uid types.UID
	var generation int64
	for _, seen := range f.w.history.ofFleet(f) {
		if seen.cluster != f.cluster(short) || seen.deleting || (seen.uid == uid && seen.generation == generation) {
			continue
		}
		uid, generation = seen.uid, seen.generation
		versions = append(versions, seen.version)
	}
	return versions
}

// reached returns the clusters that ever had a version, sorted.
func (f *fleet) reached(version string) []string {
	clusters := []string{}
	for _, seen := range f.w.history.ofFleet(f) {
		if seen.version == version && !slices.Contains(clusters, f.short(seen.cluster)) {
			clusters = append(clusters, f.short(seen.cluster))
		}
	}
	slices.Sort(clusters)
	return clusters
}

// times returns the number of times that a work was seen with a version.
func (f *fleet) times(version string) (n int) {
	for _, seen := range f.w.history.ofFleet(f) {
		if seen.version == version {
			n++
		}
	}
	return n
}

// mostInFlight returns the largest number of clusters that had a version at the same time without having reported its success (P4).
func (f *fleet) mostInFlight(version string) int {
	most := 0
	inFlight := map[string]bool{}
	succeeded := map[string]int64{}
	for _, seen := range f.w.history.ofFleet(f) {
		key := seen.cluster + "/" + string(seen.uid)
		if seen.succeeded {
			succeeded[key] = seen.generation
		}
		if seen.version == version && !seen.gone && succeeded[key] != seen.generation {
			inFlight[key] = true
		} else {
			delete(inFlight, key)
		}
		most = max(most, len(inFlight))
	}
	return most
}

// firstAt returns the time at which a cluster got a version or, with succeeded, when its agent reported the success of
// that version.
func (f *fleet) firstAt(short, version string, succeeded bool) time.Time {
	f.t.Helper()
	return f.first(short, version, succeeded).at
}

// writtenAt returns the time at which the hub first wrote a version for a cluster, by the hub's clock.
func (f *fleet) writtenAt(short, version string) time.Time {
	f.t.Helper()
	return f.first(short, version, false).written
}

func (f *fleet) first(short, version string, succeeded bool) seenWork {
	f.t.Helper()
	for _, seen := range f.w.history.ofFleet(f) {
		if seen.cluster == f.cluster(short) && seen.version == version && (seen.succeeded || !succeeded) {
			return seen
		}
	}
	f.t.Fatalf("%s never had %s (succeeded: %v)", short, version, succeeded)
	return seenWork{}
}

// quietFor is the time for which nothing must be written. quietWithin is the time that the last writes before that may take: agents may
// report a moment after the hub has nothing left to do, and the status counts their reports.
const (
	quietFor    = 3 * time.Second
	quietWithin = 15 * time.Second
)

// quiet fails unless the writes end: no ManifestWorkReplicaSet, ManifestWork, ControllerRevision or event of this fleet changes for
// quietFor (P7).
func (f *fleet) quiet() {
	f.t.Helper()
	begin := time.Now()
	eventually(f.t, "nothing is written any more (P7)", func() error {
		last := lastWrite{at: begin}
		f.w.history.mu.Lock()
		defer f.w.history.mu.Unlock()
		for _, namespace := range append([]string{f.namespace}, f.clusterNamespaces()...) {
			if found := f.w.history.last[namespace]; found.at.After(last.at) {
				last = found
			}
		}
		if time.Since(begin) > quietFor+quietWithin {
			f.t.Fatalf("not quiet (P7), the last write was of %s; %s", last.what, describe(f.get()))
		}
		if time.Since(last.at) < quietFor {
			return fmt.Errorf("the last write was of %s", last.what)
		}
		return nil
	})
}

func (f *fleet) clusterNamespaces() []string {
	namespaces := make([]string, 0, len(f.clusters))
	for _, short := range f.clusters {
		namespaces = append(namespaces, f.cluster(short))
	}
	return namespaces
}
