package integration

import (
	"context"
	"fmt"
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

// outcome is what a simulated agent reports of a version.
type outcome string

const (
	succeeds outcome = "succeeds"
	hangs    outcome = "hangs" // applied, and progressing for ever
	degrades outcome = "degrades"
	silent   outcome = "silent" // the agent is offline: it reports nothing

	// These degrade and refuse in the words of a real agent.
	notPulled outcome = "Deployment shop/web: 0 of 3 replicas are available: ImagePullBackOff"
	overQuota outcome = `Deployment shop/web: admission webhook "quota" denied the request: exceeded quota`
)

// agentFinalizer keeps a work while its agent is offline, as the real agent's finalizer does.
const agentFinalizer = "cluster.open-cluster-management.io/manifest-work-cleanup"

// agents plays the work agents of all clusters of all tests.
type agents struct {
	client workclient.Interface
	queue  workqueue.TypedRateLimitingInterface[string]
	works  cache.SharedIndexInformer

	mu sync.Mutex
	// outcomes by "cluster/version", "cluster/" and "/version"; the first that is set counts.
	outcomes map[string]outcome
}

// newAgents takes a running informer of the ManifestWorks.
func newAgents(client workclient.Interface, works cache.SharedIndexInformer) *agents {
	return &agents{
		client:   client,
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, time.Second)),
		works:    works,
		outcomes: map[string]outcome{},
	}
}

func (a *agents) run(ctx context.Context) error {
	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			a.queue.Add(key)
		}
	}
	_, err := a.works.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	if err != nil {
		return err
	}
	for range 4 {
		go func() {
			for {
				key, quit := a.queue.Get()
				if quit {
					return
				}
				if err := a.report(ctx, key); err != nil {
					a.queue.AddRateLimited(key)
				} else {
					a.queue.Forget(key)
				}
				a.queue.Done(key)
			}
		}()
	}
	go func() {
		<-ctx.Done()
		a.queue.ShutDown()
	}()
	return nil
}

// set says what the agents report from now on. An empty cluster or version stands for all.
func (a *agents) set(cluster, version string, o outcome) {
	a.mu.Lock()
	a.outcomes[cluster+"/"+version] = o
	a.mu.Unlock()
	for _, key := range a.works.GetStore().ListKeys() {
		if cluster == "" || strings.HasPrefix(key, cluster+"/") {
			a.queue.Add(key)
		}
	}
}

func (a *agents) outcome(cluster, version string) outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range []string{cluster + "/" + version, cluster + "/", "/" + version} {
		if o, ok := a.outcomes[key]; ok {
			return o
		}
	}
	return succeeds
}

func (a *agents) report(ctx context.Context, key string) error {
	cached, exists, err := a.works.GetStore().GetByKey(key)
	if err != nil || !exists {
		return err
	}
	return a.answer(ctx, cached.(*workv1.ManifestWork).DeepCopy())
}

// poll makes the agents look at the API server again and again, where run makes them wait for what a watch tells. It ends with the
// context.
func (a *agents) poll(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		works, err := a.client.WorkV1().ManifestWorks("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return // It is away.
		}
		for i := range works.Items {
			_ = a.answer(ctx, &works.Items[i]) // The next look tries again.
		}
	}, pollInterval)
}

// answer does what an agent does next about a work.
func (a *agents) answer(ctx context.Context, work *workv1.ManifestWork) error {
	what := a.outcome(work.Namespace, versionOf(work))
	client := a.client.WorkV1().ManifestWorks(work.Namespace)
	if what == silent {
		return nil
	}
	if !work.DeletionTimestamp.IsZero() {
		work.Finalizers = nil
		_, err := client.Update(ctx, work, metav1.UpdateOptions{})
		return err
	}
	if len(work.Finalizers) == 0 {
		work.Finalizers = []string{agentFinalizer}
		_, err := client.Update(ctx, work, metav1.UpdateOptions{})
		return err
	}
	wanted := work.DeepCopy()
	conditionsOf(wanted, what, time.Now())
	if equality.Semantic.DeepEqual(wanted.Status, work.Status) {
		return nil
	}
	_, err := client.UpdateStatus(ctx, wanted, metav1.UpdateOptions{})
	return err
}

func conditionsOf(work *workv1.ManifestWork, what outcome, now time.Time) {
	set := func(conditionType string, status bool) {
		condition := metav1.Condition{
			Type: conditionType, Status: metav1.ConditionFalse, Reason: "Simulated", Message: string(what),
			ObservedGeneration: work.Generation, LastTransitionTime: metav1.NewTime(now),
		}
		good := conditionType == workv1.WorkApplied || conditionType == workv1.WorkAvailable
		if status == good && (what == notPulled || what == overQuota) {
			condition.Message = ""
		}
		if status {
			condition.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&work.Status.Conditions, condition)
	}
	set(workv1.WorkApplied, what != overQuota)
	set(workv1.WorkAvailable, true)
	set(workv1.WorkProgressing, what == hangs || what == degrades || what == notPulled)
	set(workv1.WorkDegraded, what == degrades || what == notPulled)
}

// template makes a template of a version, with the rules that make an agent report progress.
func template(version string) workv1.ManifestWorkSpec {
	return workv1.ManifestWorkSpec{
		Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{configMap(version)}},
		ManifestConfigs: []workv1.ManifestConfigOption{{
			ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "default", Name: "demo"},
			ConditionRules: []workv1.ConditionRule{
				{Type: workv1.CelConditionExpressionsType, Condition: workv1.WorkProgressing, CelExpressions: []string{"false"}},
				{Type: workv1.CelConditionExpressionsType, Condition: workv1.WorkDegraded, CelExpressions: []string{"false"}},
			},
		}},
	}
}

func configMap(version string) workv1.Manifest {
	manifest := workv1.Manifest{}
	manifest.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"demo","namespace":"default"},"data":{"version":%q}}`, version)
	return manifest
}

func versionOf(work *workv1.ManifestWork) string { return testwork.Version(&work.Spec) }
