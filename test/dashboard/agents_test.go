package dashboard

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/test/internal/testwork"
)

// outcome is what a simulated agent reports about a version.
type outcome string

const (
	succeeds outcome = "succeeds"
	hangs    outcome = "waiting for 2 of 3 replicas to become ready"
	degrades outcome = "Deployment shop/web: ProgressDeadlineExceeded"
	// silent is the outcome of an agent that reports nothing.
	silent outcome = ""
)

// agents plays the work agents of all clusters.
type agents struct {
	client workclient.Interface

	mu       sync.Mutex
	outcomes map[string]outcome
}

func newAgents(client workclient.Interface) *agents {
	return &agents{client: client, outcomes: map[string]outcome{}}
}

// set sets what the agent of a cluster reports about a version.
func (a *agents) set(cluster, version string, o outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.outcomes[cluster+"/"+version] = o
}

func (a *agents) outcome(cluster, version string) outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, ok := a.outcomes[cluster+"/"+version]; ok {
		return o
	}
	return succeeds
}

// run lets the agents look at the API server again and again. It retries while the API server is unavailable.
func (a *agents) run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		works, err := a.client.WorkV1().ManifestWorks("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		for i := range works.Items {
			_ = a.answer(ctx, &works.Items[i]) // The next look tries again.
		}
	}, 200*time.Millisecond)
}

func (a *agents) answer(ctx context.Context, work *workv1.ManifestWork) error {
	if !work.DeletionTimestamp.IsZero() {
		return nil
	}
	what, before := a.outcome(work.Namespace, testwork.Version(&work.Spec)), work.Status.DeepCopy()
	if what == silent {
		return nil
	}
	for kind, status := range map[string]bool{
		workv1.WorkApplied: true, workv1.WorkAvailable: true, workv1.WorkProgressing: what != succeeds, workv1.WorkDegraded: what == degrades,
	} {
		condition := metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: "Simulated", Message: string(what), ObservedGeneration: work.Generation,
		}
		if status {
			condition.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&work.Status.Conditions, condition)
	}
	if equality.Semantic.DeepEqual(*before, work.Status) {
		return nil
	}
	_, err := a.client.WorkV1().ManifestWorks(work.Namespace).UpdateStatus(ctx, work, metav1.UpdateOptions{})
	return err
}
