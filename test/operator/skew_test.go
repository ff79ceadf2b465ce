package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ocmfeature "open-cluster-management.io/api/feature"
	operatorv1 "open-cluster-management.io/api/operator/v1"

	"github.com/open-cluster-management-io/work-rollback/deploy"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
	"github.com/open-cluster-management-io/work-rollback/test/operator/operatortest"
)

// The hub's messages about missing parts, and how to add them.
const (
	missingCRD    = "its CRD of ManifestWorkReplicaSet is not the one of this hub; apply the CRD that came with this hub"
	missingRights = "the API server does not let this hub read ControllerRevisions. Apply this release's ClusterRole and binding (deploy/base)"
)

// nameImage makes the operator create the Deployments of deploy/, without the rest of deploy/.
func (h *hub) nameImage(t *testing.T) {
	t.Helper()
	require.NoError(t, h.Operator.Change(t.Context(), func(spec *operatorv1.ClusterManagerSpec) {
		spec.WorkImagePullSpec = "registry.example.com/work:v1.0.0"
		spec.WorkConfiguration = &operatorv1.WorkConfiguration{FeatureGates: []operatorv1.FeatureGate{
			{Feature: string(ocmfeature.ManifestWorkReplicaSet), Mode: operatorv1.FeatureGateModeTypeEnable},
		}}
	}))
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
}

// runsWithoutTheRest: the ClusterManager names the image, but the CRD and the roles of deploy/ were not applied.
func (h *hub) runsWithoutTheRest(t *testing.T) {
	require.False(t, knowsAborts(h.definition(t)))

	h.create(t, "v0")
	h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.everywhere(t, "v0")
	// Longer than the interval at which the hub looks for a history.
	h.quiet(t, 16*time.Second)
	seen := h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	require.Empty(t, seen.Status.CurrentRevision, "upstream's CRD keeps it")
	require.Contains(t, progressing(seen), missingCRD)
	require.Contains(t, progressing(seen), missingRights)
	require.Equal(t, everyWork(1), h.workGenerations(t))
	h.told(t, workv1alpha1.EventOlderCRD, missingCRD)
	h.told(t, workv1alpha1.EventHistoryUnavailable, missingRights)
}

// runsWithoutRights: the CRD is installed, but the roles are not.
func (h *hub) runsWithoutRights(t *testing.T) {
	objects, err := deploy.Render()
	require.NoError(t, err)
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			require.NoError(t, sandbox.Apply(t.Context(), h.Plane.RESTConfig(), object))
		}
	}
	eventually(t, "the CRD is served", func() error {
		// The API server sets the defaults that only this CRD has.
		if mwrs, err := h.get(t.Context()); err != nil || mwrs.Spec.RevisionHistoryLimit == nil {
			return fmt.Errorf("the old CRD is served, or:  %w", err)
		}
		return nil
	})
	seen := h.rollsOut(t, "v1", 3*time.Second)
	require.NotContains(t, progressing(seen), missingCRD)
	require.Contains(t, progressing(seen), missingRights)
	require.NotEmpty(t, seen.Status.CurrentRevision)
	require.Empty(t, h.revisions(t))
	require.Equal(t, everyWork(2), h.workGenerations(t))
}

// startsItsHistory applies deploy/ to a running hub, without an effect on the clusters.
func (h *hub) startsItsHistory(t *testing.T) {
	before := h.work.Process()
	require.NoError(t, sandbox.Deploy(t.Context(), h.Plane.RESTConfig()))
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	// The informer of revisions was rejected repeatedly, and retries less and less often: in the end, every minute.
	await.Eventually(t, 2*time.Minute, "the history starts", func() error {
		seen, err := h.get(t.Context())
		if err != nil {
			return err
		}
		revisions := h.revisions(t)
		if len(revisions) != 1 || seen.Status.CurrentRevision != revisions[0].Labels[workv1alpha1.LabelControllerHash] {
			return fmt.Errorf("there are %d revisions, current is %q: %s", len(revisions), seen.Status.CurrentRevision, progressing(seen))
		}
		if progressing(seen) != fmt.Sprintf("New revision %s is successfully progressed", revisions[0].Name) {
			return errors.New(progressing(seen))
		}
		return nil
	})
	h.quiet(t, 3*time.Second)
	require.Equal(t, []string{"v1"}, h.versions(t))
	require.Equal(t, everyWork(2), h.workGenerations(t))
	require.Same(t, before, h.work.Process())
	ended, _ := before.Exited()
	require.False(t, ended)
	requests, err := readAudit(h.auditLog)
	require.NoError(t, err)
	h.asked = len(requests)
}

// keepsHistoryWithoutTheCRD: the permissions exist, but the CRD is upstream's.
func (h *hub) keepsHistoryWithoutTheCRD(t *testing.T) {
	before := h.workGenerations(t)
	seen := h.rollsOut(t, "v5c", 5*time.Second)
	require.Contains(t, progressing(seen), missingCRD)
	require.NotContains(t, progressing(seen), missingRights)
	require.True(t, slices.Contains(h.versions(t), "v5c"))
	for cluster, generation := range h.workGenerations(t) {
		require.Equal(t, before[cluster]+1, generation, cluster)
	}
}

// survivesUpstreamsHub lets OCM's own hub take over while the CRD and the permissions stay, and then this hub again.
func (h *hub) survivesUpstreamsHub(t *testing.T) {
	ctx := t.Context()
	h.quiet(t, 3*time.Second)
	status, works, versions := h.status(t), h.workGenerations(t), h.versions(t)
	require.NoError(t, h.work.Stop(ctx))
	stop := h.startUpstream(t)
	h.update(t, "v7", true)
	h.everywhere(t, "v7")
	eventually(t, "upstream's hub reports both clusters", func() error {
		seen, err := h.get(ctx)
		if err != nil || seen.Status.Summary.Available != 2 || !meta.IsStatusConditionTrue(seen.Status.Conditions, workv1alpha1.ConditionPlacementRolledOut) {
			return fmt.Errorf("the status is %+v: %w", seen.Status, err)
		}
		return nil
	})
	stop()
	for cluster, generation := range h.workGenerations(t) {
		require.Equal(t, works[cluster]+1, generation, cluster)
	}
	require.Equal(t, versions, h.versions(t), "the revisions are kept")
	require.Equal(t, status.CurrentRevision, h.status(t).CurrentRevision)

	works = h.workGenerations(t)
	require.NoError(t, h.work.Start(ctx))
	back := h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.quiet(t, 3*time.Second)
	require.Equal(t, works, h.workGenerations(t), "nothing is rolled out again")
	newest := h.revisions(t)[len(h.revisions(t))-1]
	require.Equal(t, newest.Labels[workv1alpha1.LabelControllerHash], back.Status.CurrentRevision)
	require.Equal(t, "v7", h.versions(t)[len(h.versions(t))-1])
	require.True(t, slices.Contains(h.versions(t), versions[len(versions)-1]), "the earlier current revision is still known")

	h.update(t, "v8", false)
	h.reaches(t, workv1alpha1.ReasonRolloutAborted)
	h.everywhere(t, "v7")
}

// startUpstream runs OCM's own hub controllers with the permissions of the work controller's ServiceAccount.
func (h *hub) startUpstream(t *testing.T) (stop func()) {
	t.Helper()
	require.NoError(t, manager.EnableReplicaSets())
	config, err := h.Plane.ServiceAccountConfig(t.Context(), sandbox.HubNamespace, "work-controller-sa")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	end := manager.Start(ctx, config, manager.Upstream)
	return func() { require.NoError(t, end()) }
}

// rollsOut rolls out a working version. It returns the object after the work hub has written nothing for the given time.
func (h *hub) rollsOut(t *testing.T, version string, quiet time.Duration) *workv1alpha1.ManifestWorkReplicaSet {
	t.Helper()
	h.update(t, version, true)
	h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.everywhere(t, version)
	h.quiet(t, quiet)
	return h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
}

// quiet waits until the work hub has neither written nor tried to write anything for a given time. A hub that loops never becomes quiet.
func (h *hub) quiet(t *testing.T, duration time.Duration) {
	t.Helper()
	eventually(t, fmt.Sprintf("no writes for %v", duration), func() error {
		requests, err := readAudit(h.auditLog)
		if err != nil {
			return err
		}
		for _, request := range slices.Backward(requests) {
			if request.writes() && time.Since(request.Received) < duration {
				return fmt.Errorf("%s, at %s", request, request.Received)
			}
		}
		return nil
	})
}

// writes reports whether a request tried to write a work, a ManifestWorkReplicaSet, a revision or an event.
func (r request) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) &&
		slices.Contains([]string{"manifestworks", "manifestworkreplicasets", "controllerrevisions", "events"}, r.ObjectRef.Resource)
}

// told waits until an event and the log of the work hub have a text.
func (h *hub) told(t *testing.T, reason, what string) {
	t.Helper()
	eventually(t, "an event "+reason, func() error {
		events, err := h.Kube.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil || len(events.Items) != 1 {
			return fmt.Errorf("there are %d: %w", len(events.Items), err)
		}
		require.Contains(t, events.Items[0].Note, what)
		return nil
	})
	log, err := os.ReadFile(h.work.Process().LogPath())
	require.NoError(t, err)
	require.Contains(t, string(log), what)
}

func progressing(mwrs *workv1alpha1.ManifestWorkReplicaSet) string {
	if condition := meta.FindStatusCondition(mwrs.Status.Conditions, workv1alpha1.ConditionProgressing); condition != nil {
		return condition.Message
	}
	return ""
}

// everyWork returns the same generation for all works.
func everyWork(generation int64) map[string]int64 {
	generations := map[string]int64{}
	for _, cluster := range operatortest.ClusterNames {
		generations[cluster] = generation
	}
	return generations
}
