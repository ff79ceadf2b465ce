package docs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	operatorv1 "open-cluster-management.io/api/operator/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
	"github.com/open-cluster-management-io/work-rollback/test/operator/operatortest"
)

// explain fails if the API server serves OCM's own CRD.
const explain = "kubectl explain mwrs.status.abortedTime"

// generations returns the generations of the clusters' works, which must not change while hubs come and go.
func (h *hub) generations(t *testing.T) map[string]int64 {
	t.Helper()
	list, err := h.Works.WorkV1().ManifestWorks(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{LabelSelector: workv1alpha1.LabelReplicaSet})
	require.NoError(t, err)
	found := map[string]int64{}
	for i := range list.Items {
		found[list.Items[i].Namespace] = list.Items[i].Generation
	}
	return found
}

// says waits until the message of Progressing contains, or no longer contains, the given text.
func (h *hub) says(t *testing.T, words string, wanted bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q is said: %v", words, wanted), func() error {
		found := meta.FindStatusCondition(h.get(t).Status.Conditions, workv1alpha1.ConditionProgressing)
		if strings.Contains(found.Message, words) != wanted {
			return errors.New(found.Message)
		}
		return nil
	})
}

// resync makes the operator process everything again.
func (h *hub) resync(t *testing.T) {
	t.Helper()
	h.shell(t, `kubectl patch clustermanager cluster-manager --type=merge -p '{"spec": {"registrationImagePullSpec": "quay.io/open-cluster-management/registration:v1.2.0"}}'`)
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
}

// loseTheCRD: the annotation is lost, so the operator writes its own CRD. The object is written while that CRD is installed.
func (h *hub) loseTheCRD(t *testing.T) {
	h.shell(t, "kubectl annotate crd manifestworkreplicasets.work.open-cluster-management.io operator.open-cluster-management.io/version-")
	h.resync(t)
	eventually(t, "OCM's own CRD is served", func() error {
		if _, problem := h.try(t, explain); problem == "" {
			return errors.New("the field is known")
		}
		return nil
	})
	h.shell(t, "kubectl label mwrs web touched=yes")
	h.says(t, "the API server drops", true)
	h.shell(t, "kubectl events --for mwrs/web | grep OlderCRD")
}

func (h *hub) knowsAborts(t *testing.T, _ string) {
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	eventually(t, "this hub's CRD is served", func() error {
		if _, problem := h.try(t, explain); problem != "" {
			return errors.New(problem)
		}
		return nil
	})
	h.failureStrategyIs(t, "")
}

// loseTheRights makes the hub start without its permissions.
func (h *hub) loseTheRights(t *testing.T) {
	h.disable(t)
	h.shell(t, "kubectl delete clusterrolebinding open-cluster-management:cluster-manager-work:revisions")
	h.setGate(t, "Enable")
	h.says(t, "there is no revision history", true)
}

// setGate enables or disables the feature gate of the hub.
func (h *hub) setGate(t *testing.T, mode string) {
	t.Helper()
	h.shell(t, `kubectl patch clustermanager cluster-manager --type=merge `+
		`-p '{"spec": {"workConfiguration": {"featureGates": [{"feature": "ManifestWorkReplicaSet", "mode": "`+mode+`"}]}}}'`)
}

// disable disables the feature gate, and waits until the work hub has ended.
func (h *hub) disable(t *testing.T) {
	t.Helper()
	h.setGate(t, "Disable")
	h.isHeld(t, "")
}

// revisionsOfTheStory is the number of revisions that the earlier pages have created: v1 to v4, and v5 and v6 of the runbook.
const revisionsOfTheStory = 6

// hasHistoryAgain: the history returns without a restart, and without a write to a cluster.
func (h *hub) hasHistoryAgain(t *testing.T, _ string) {
	generations, child := h.generations(t), h.work.Process()
	h.says(t, "there is no revision history", false)
	eventually(t, "what is stable is known", func() error {
		if status := h.get(t).Status; status.CurrentRevision == "" || status.CurrentRevision != status.UpdateRevision {
			return fmt.Errorf("current %q, update %q", status.CurrentRevision, status.UpdateRevision)
		}
		return nil
	})
	require.Equal(t, generations, h.generations(t))
	require.Same(t, child, h.work.Process())
	require.Len(t, h.revisions(t), revisionsOfTheStory)
}

// stopThisHub: the image in the commands is not this hub's image.
func (h *hub) stopThisHub(t *testing.T) {
	h.kubelet.Stop()
	require.NoError(t, h.work.Stop(t.Context()))
	// As clusteradm renders it, except workImagePullSpec.
	require.NoError(t, h.Operator.Change(t.Context(), func(spec *operatorv1.ClusterManagerSpec) {
		spec.RegistrationImagePullSpec = "quay.io/open-cluster-management/registration:v1.2.0"
	}))
}

// isUpstreams: the operator wrote its own CRD and image. OCM's hub, whose image is not pulled here, is started in this process, and does
// not change the clusters.
func (h *hub) isUpstreams(t *testing.T, _ string) {
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	eventually(t, "OCM's own CRD is served", func() error {
		if _, problem := h.try(t, explain); problem == "" {
			return errors.New("the field is known")
		}
		return nil
	})
	image := h.shell(t, "kubectl -n open-cluster-management-hub get deployment cluster-manager-work-controller -o jsonpath='{.spec.template.spec.containers[0].image}'")
	require.Equal(t, "quay.io/open-cluster-management/work:v1.2.0", image)
	generations := h.generations(t)
	h.startUpstream(t)
	await.Always(t, 3*time.Second, "the clusters are left alone", func() error {
		if found := h.generations(t); fmt.Sprint(found) != fmt.Sprint(generations) {
			return fmt.Errorf("generations are %v, before %v", found, generations)
		}
		return nil
	})
	require.Len(t, h.revisions(t), revisionsOfTheStory, "the history stays")
}

// startUpstream runs OCM's own work hub until the whole test ends.
func (h *hub) startUpstream(t *testing.T) {
	t.Helper()
	require.NoError(t, manager.EnableReplicaSets())
	h.stopUpstream = manager.Start(context.Background(), h.Plane.RESTConfig(), manager.Upstream)
}

// waitsForPolicies waits until the API server no longer enforces the deleted policy on revisions. The API server refreshes its policies
// periodically.
func (h *hub) waitsForPolicies(t *testing.T) {
	eventually(t, "the deleted policy is no longer enforced", func() error {
		_, problem := h.try(t, "kubectl delete --dry-run=server controllerrevisions -A -l "+workv1alpha1.LabelReplicaSet)
		if problem != "" {
			return errors.New(problem)
		}
		return nil
	})
}

func (h *hub) bearsNoTraces(t *testing.T, _ string) {
	require.Empty(t, h.revisions(t))
	printed := h.shell(t, "kubectl get manifestworks -A -o yaml")
	for _, trace := range []string{
		workv1alpha1.LabelControllerHash, workv1alpha1.AnnotationAppliedAt, workv1alpha1.AnnotationDecisionGroup, workv1alpha1.AnnotationCopiedLabels, "argocd.argoproj.io",
	} {
		require.NotContains(t, printed, trace)
	}
	require.Len(t, h.generations(t), len(operatortest.ClusterNames))
}

func (h *hub) isEmpty(t *testing.T, _ string) {
	eventually(t, "the works are gone", func() error {
		if found := h.generations(t); len(found) > 0 {
			return fmt.Errorf("there are %v", found)
		}
		return nil
	})
}

// SECURITY.md: only administrators write ControllerRevisions, and every user with the role view reads them.
func (h *hub) trustsNobody(t *testing.T) {
	rules := `kubectl get clusterrole %s -o jsonpath='{range .rules[?(@.apiGroups[0]=="apps")]}{.resources}{.verbs}{"\n"}{end}'`
	of := func(role string) (lines []string) {
		for line := range strings.Lines(h.shell(t, fmt.Sprintf(rules, role))) {
			if strings.Contains(line, "controllerrevisions") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	require.Empty(t, of("system:aggregate-to-edit"))
	require.Empty(t, of("system:aggregate-to-admin"))
	require.Len(t, of("system:aggregate-to-view"), 1)
	require.Contains(t, of("system:aggregate-to-view")[0], `["get","list","watch"]`)
}
