// Package agents simulates the work agents of all clusters of a hub: it reports the status of ManifestWorks to the API server.
package agents

import (
	"context"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/test/internal/testwork"
)

// Outcome is an agent's report about a version.
type Outcome struct {
	Refused, Progressing, Degraded bool
	// Silent is true if the agent is offline: it reports nothing, and removes no finalizer.
	Silent bool
	// Message is the message of all conditions. If Terse is true, only conditions that are not as wanted have the message, as with a real
	// agent.
	Message string
	Terse   bool
}

// The outcomes.
var (
	Succeeds = Outcome{Message: "succeeds"}
	Hangs    = Outcome{Progressing: true, Message: "hangs"}
	Degrades = Outcome{Progressing: true, Degraded: true, Message: "degrades"}
	Silent   = Outcome{Silent: true}
)

// finalizer keeps a work while its agent is offline, as the real agent's finalizer does.
const finalizer = "cluster.open-cluster-management.io/manifest-work-cleanup"

// Agents report success, unless Set changes this.
type Agents struct {
	client workclient.Interface
	queue  workqueue.TypedRateLimitingInterface[string]
	// works is empty if the agents poll.
	works cache.Store

	mu sync.Mutex
	// outcomes has the keys "cluster/version", "cluster/" and "/version"; the first key that is set applies.
	outcomes map[string]Outcome
}

// New returns agents that do nothing before Watch or Poll.
func New(client workclient.Interface) *Agents {
	return &Agents{
		client:   client,
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, time.Second)),
		works:    cache.NewStore(cache.MetaNamespaceKeyFunc),
		outcomes: map[string]Outcome{},
	}
}

// Watch makes the agents follow an informer of the ManifestWorks until the context ends.
func (a *Agents) Watch(ctx context.Context, works cache.SharedIndexInformer) error {
	a.works = works.GetStore()
	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			a.queue.Add(key)
		}
	}
	if _, err := works.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }}); err != nil {
		return err
	}
	for range 4 {
		go a.work(ctx)
	}
	context.AfterFunc(ctx, a.queue.ShutDown)
	return nil
}

func (a *Agents) work(ctx context.Context) {
	for {
		key, quit := a.queue.Get()
		if quit {
			return
		}
		if cached, exists, err := a.works.GetByKey(key); err == nil && exists && a.answer(ctx, cached.(*workv1.ManifestWork).DeepCopy()) != nil {
			a.queue.AddRateLimited(key)
		} else {
			a.queue.Forget(key)
		}
		a.queue.Done(key)
	}
}

// Poll makes the agents poll the API server until the context ends, even while the API server is unavailable.
func (a *Agents) Poll(ctx context.Context, interval time.Duration) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		works, err := a.client.WorkV1().ManifestWorks("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		for i := range works.Items {
			_ = a.answer(ctx, &works.Items[i]) // The next poll tries again.
		}
	}, interval)
}

// Set sets the reports from the agents. An empty cluster or version means all.
func (a *Agents) Set(cluster, version string, o Outcome) {
	a.mu.Lock()
	a.outcomes[cluster+"/"+version] = o
	a.mu.Unlock()
	for _, key := range a.works.ListKeys() {
		if cluster == "" || strings.HasPrefix(key, cluster+"/") {
			a.queue.Add(key)
		}
	}
}

func (a *Agents) outcome(cluster, version string) Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range []string{cluster + "/" + version, cluster + "/", "/" + version} {
		if o, ok := a.outcomes[key]; ok {
			return o
		}
	}
	return Succeeds
}

// answer performs an agent's next step for a work.
func (a *Agents) answer(ctx context.Context, work *workv1.ManifestWork) error {
	what := a.outcome(work.Namespace, testwork.Version(&work.Spec))
	client := a.client.WorkV1().ManifestWorks(work.Namespace)
	if what.Silent {
		return nil
	}
	if leaving := !work.DeletionTimestamp.IsZero(); leaving || len(work.Finalizers) == 0 {
		work.Finalizers = []string{finalizer}
		if leaving {
			work.Finalizers = nil
		}
		_, err := client.Update(ctx, work, metav1.UpdateOptions{})
		return err
	}
	before := work.Status.DeepCopy()
	what.report(work)
	if equality.Semantic.DeepEqual(*before, work.Status) {
		return nil
	}
	_, err := client.UpdateStatus(ctx, work, metav1.UpdateOptions{})
	return err
}

func (o Outcome) report(work *workv1.ManifestWork) {
	set := func(conditionType string, status, wanted bool) {
		condition := metav1.Condition{
			Type: conditionType, Status: metav1.ConditionFalse, Reason: "Simulated", ObservedGeneration: work.Generation,
			LastTransitionTime: metav1.Now(), Message: o.Message,
		}
		if status {
			condition.Status = metav1.ConditionTrue
		}
		if o.Terse && status == wanted {
			condition.Message = ""
		}
		meta.SetStatusCondition(&work.Status.Conditions, condition)
	}
	set(workv1.WorkApplied, !o.Refused, true)
	set(workv1.WorkAvailable, true, true)
	set(workv1.WorkProgressing, o.Progressing, false)
	set(workv1.WorkDegraded, o.Degraded, false)
}
