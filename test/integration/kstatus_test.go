package integration

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// told is what kstatus made of each version of an object, without repetitions.
type told struct {
	mu       sync.Mutex
	statuses []status.Status
	message  string
}

// tellKstatus computes the status of a fleet's ManifestWorkReplicaSet with each version of it that the API server stores from now on.
func tellKstatus(f *fleet) *told {
	f.t.Helper()
	seen := &told{}
	events, err := f.w.dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(f.namespace).Watch(f.t.Context(),
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", f.name).String()})
	require.NoError(f.t, err)
	f.t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Deleted {
				continue
			}
			seen.add(object)
		}
	}()
	return seen
}

func (s *told) add(object *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	computed, message := status.UnknownStatus, ""
	if result, err := status.Compute(object); err != nil {
		message = err.Error()
	} else {
		computed, message = result.Status, result.Message
	}
	s.message = message
	if len(s.statuses) == 0 || s.statuses[len(s.statuses)-1] != computed {
		s.statuses = append(s.statuses, computed)
	}
}

// comesTo waits until a tool that waits for the object would have seen these, one after the other, and nothing else.
func (f *fleet) comesTo(seen *told, says string, wanted ...status.Status) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("kstatus goes through %v", wanted), func() error {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if !slices.Equal(seen.statuses, wanted) || !strings.Contains(seen.message, says) {
			return fmt.Errorf("it went through %v, and says %q", seen.statuses, seen.message)
		}
		return nil
	})
}

// What Flux, Helm and Argo CD see of a whole life: no tool takes a rollout for done before it is, nor an abort or a stalled rollout for
// success, nor the failure of one version for that of the next.
func TestKstatusOfAWholeLife(t *testing.T) {
	t.Parallel()
	const current, inProgress, failed = status.CurrentStatus, status.InProgressStatus, status.FailedStatus
	f := newFleet(t, 2)
	f.place("p1", f.clusters)
	seen := tellKstatus(f)
	f.create("v1", ref("p1", progressive(1, "2s", 0, abortAll)))
	wanted := []status.Status{inProgress, current}
	f.comesTo(seen, "", wanted...)

	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	wanted = append(wanted, inProgress, failed)
	f.comesTo(seen, "was aborted", wanted...)

	f.update("v3")
	wanted = append(wanted, inProgress, current)
	f.comesTo(seen, "", wanted...)

	manifests := f.get().Spec.ManifestWorkTemplate
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate.Workload.Manifests = nil
	})
	wanted = append(wanted, inProgress, failed)
	f.comesTo(seen, "spec.manifestWorkTemplate.workload.manifests", wanted...)

	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate = manifests
		mwrs.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
	})
	wanted = append(wanted, inProgress, current)
	f.comesTo(seen, "", wanted...)

	f.agentsReport("c1", "v4", hangs)
	f.update("v4")
	wanted = append(wanted, inProgress, failed)
	f.comesTo(seen, "c1", wanted...)
	f.agentsReport("c1", "v4", succeeds)
	wanted = append(wanted, inProgress, current)
	f.comesTo(seen, "", wanted...)
	f.quiet()

	f.delete()
	wanted = append(wanted, status.TerminatingStatus)
	f.comesTo(seen, "", wanted...)
}
