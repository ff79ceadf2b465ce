package operator

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	operatorv1 "open-cluster-management.io/api/operator/v1"

	"github.com/open-cluster-management-io/work-rollback/deploy"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/ocm"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
	"github.com/open-cluster-management-io/work-rollback/test/operator/operatortest"
)

// The operator's name for the version of a CRD.
const versionAnnotation = "operator.open-cluster-management.io/version"

// TestWithTheOperator is one story on one hub: each part begins where the previous part ended.
func TestWithTheOperator(t *testing.T) {
	h := newHub(t)
	t.Run("before deploy/ the hub is upstream's", h.isUpstreams)
	h.joinAndPlace(t)
	h.nameImage(t)
	h.runDeployments(t)
	for _, part := range []struct {
		name string
		play func(*testing.T)
	}{
		{"the image comes first", h.runsWithoutTheRest},
		{"then the CRD", h.runsWithoutRights},
		{"then the permissions", h.startsItsHistory},
		{"the Deployment runs unchanged", h.runsTheDeployment},
		{"the webhook's Deployment runs too", h.runsTheWebhook},
		{"rollout, abort and undo", h.rollsOutAbortsAndUndoes},
		{"a name that is already taken", h.avoidsATakenName},
		{"the operator reverts nothing", h.survivesTheOperator},
		{"a newer version, and back", h.goesUpAndDown},
		{"the hub needs all its permissions, and has no others", h.needsItsRights},
		{"the feature gate turns it off and on", h.obeysTheFeatureGate},
		{"without the annotation the hub is upstream's again", h.goesBack},
		{"the image goes back first", h.survivesUpstreamsHub},
	} {
		if !t.Run(part.name, part.play) {
			return
		}
	}
}

func (h *hub) isUpstreams(t *testing.T) {
	require.False(t, knowsAborts(h.definition(t)))
	_, err := h.Kube.AppsV1().Deployments(sandbox.HubNamespace).Get(t.Context(), sandbox.WorkController, metav1.GetOptions{})
	require.NoError(t, gone(err), "without the feature gate the operator creates no Deployment for the work hub")
}

func (h *hub) runsTheDeployment(t *testing.T) {
	require.True(t, knowsAborts(h.definition(t)))
	deployment, err := h.Kube.AppsV1().Deployments(sandbox.HubNamespace).Get(t.Context(), sandbox.WorkController, metav1.GetOptions{})
	require.NoError(t, err)
	pod := deployment.Spec.Template.Spec
	require.Equal(t, "work-controller-sa", pod.ServiceAccountName)
	container := pod.Containers[0]
	require.Equal(t, "registry.example.com/work:v1.0.0", container.Image, "what deploy/ names")
	require.Empty(t, container.Command)
	require.Equal(t, h.rendered(t, ocm.WorkDeployment), container.Args)
}

// rendered returns the arguments that the operator of the linked release gives to a Deployment of this hub.
func (h *hub) rendered(t *testing.T, file string) []string {
	t.Helper()
	values := ocm.Defaults()
	values["WorkFeatureGates"] = []string{"--feature-gates=ManifestWorkReplicaSet=true"}
	args, err := ocm.Arguments(file, values)
	require.NoError(t, err)
	return args
}

func (h *hub) rollsOutAbortsAndUndoes(t *testing.T) {
	first := h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.everywhere(t, "v1")

	// This update restores the fields that the older CRD had dropped from the spec.
	h.update(t, "v2", false)
	aborted := h.reaches(t, workv1alpha1.ReasonRolloutAborted)
	h.everywhere(t, "v1")
	require.NotNil(t, aborted.Status.AbortedTime)
	require.Equal(t, first.Status.CurrentRevision, aborted.Status.CurrentRevision)

	h.update(t, "v3", true)
	h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.everywhere(t, "v3")

	h.update(t, "v1", true)
	undone := h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.everywhere(t, "v1")
	require.Equal(t, first.Status.CurrentRevision, undone.Status.CurrentRevision)
	require.Nil(t, undone.Status.AbortedTime)
	require.Equal(t, []string{"v2", "v3", "v1"}, h.versions(t))
}

// survivesTheOperator makes the operator apply everything again, including its own CRD, which has no revisions.
func (h *hub) survivesTheOperator(t *testing.T) {
	before := h.definition(t)
	h.resync(t, "quay.io/open-cluster-management/registration:v1.2.0")
	require.Equal(t, before.ResourceVersion, h.definition(t).ResourceVersion, "the operator wrote the CRD")
	require.NotEmpty(t, h.status(t).CurrentRevision)
	_, err := h.Kube.RbacV1().ClusterRoles().Get(t.Context(), "open-cluster-management:cluster-manager-work:revisions", metav1.GetOptions{})
	require.NoError(t, err)
	h.update(t, "v3", true)
	h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.everywhere(t, "v3")
}

// goesUpAndDown makes the operator roll out another version of the image, and then the first version again. Each version records itself
// with the permissions of deploy/, without an effect on the clusters.
func (h *hub) goesUpAndDown(t *testing.T) {
	older, err := os.Readlink(h.image)
	require.NoError(t, err)
	newer := operatortest.BuildRelease(t, "v9.1.0")
	works, revisions := h.workGenerations(t), h.versions(t)
	for _, step := range []struct{ image, binary, version, snapshots string }{
		{"registry.example.com/work:again", older, "v9.0.0", ""}, // The older hub, whose first run had no permissions.
		{"registry.example.com/work:newer", newer, "v9.1.0", "v9.0.0"},
		{"registry.example.com/work:v1.0.0", older, "v9.0.0", ""},
	} {
		h.pull(t, step.binary)
		require.NoError(t, h.Operator.Change(t.Context(), func(spec *operatorv1.ClusterManagerSpec) { spec.WorkImagePullSpec = step.image }))
		eventually(t, step.version+" is recorded", func() error {
			found, err := h.Kube.CoreV1().ConfigMaps(sandbox.HubNamespace).Get(t.Context(), plan.ConfigMap, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if found.Data[plan.KeyVersion] != step.version || found.Data[plan.KeySnapshots] != step.snapshots {
				return fmt.Errorf("there is %v", found.Data)
			}
			return nil
		})
	}
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	require.Equal(t, works, h.workGenerations(t))
	require.Equal(t, revisions, h.versions(t))
}

// resync changes a field of the ClusterManager that does not affect works, and waits until the operator has processed everything.
func (h *hub) resync(t *testing.T, registrationImage string) {
	t.Helper()
	require.NoError(t, h.Operator.Change(t.Context(), func(spec *operatorv1.ClusterManagerSpec) {
		spec.RegistrationImagePullSpec = registrationImage
	}))
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
}

func (h *hub) status(t *testing.T) workv1alpha1.ManifestWorkReplicaSetStatus {
	t.Helper()
	mwrs, err := h.get(t.Context())
	require.NoError(t, err)
	return mwrs.Status
}

// obeysTheFeatureGate: without the gate, the operator deletes the work hub's Deployment, ServiceAccount and role, so the kubelet ends the
// work hub. Changes in that time wait until the gate is enabled again.
func (h *hub) obeysTheFeatureGate(t *testing.T) {
	ctx := t.Context()
	before := h.work.Process()
	h.setGate(t, operatorv1.FeatureGateModeTypeDisable)
	eventually(t, "the work hub ends", func() error {
		if ended, _ := before.Exited(); !ended {
			return errors.New("it runs")
		}
		return nil
	})
	_, err := h.Kube.AppsV1().Deployments(sandbox.HubNamespace).Get(ctx, sandbox.WorkController, metav1.GetOptions{})
	require.NoError(t, gone(err))
	_, err = h.Kube.CoreV1().ServiceAccounts(sandbox.HubNamespace).Get(ctx, "work-controller-sa", metav1.GetOptions{})
	require.NoError(t, gone(err))

	status, works, versions := h.status(t), h.workGenerations(t), h.versions(t)
	h.update(t, "v5", true)
	h.resync(t, "quay.io/open-cluster-management/registration:latest")
	require.Equal(t, status, h.status(t))
	require.Equal(t, works, h.workGenerations(t))
	require.Equal(t, versions, h.versions(t))
	require.True(t, knowsAborts(h.definition(t)))

	// The operator deleted the role before the hub could release its Lease. The next hub would wait until the Lease expires: more than two
	// minutes.
	require.NoError(t, h.Kube.CoordinationV1().Leases(sandbox.HubNamespace).Delete(ctx, "work-manager-lock", metav1.DeleteOptions{}))
	h.setGate(t, operatorv1.FeatureGateModeTypeEnable)
	h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.everywhere(t, "v5")
	require.NotSame(t, before, h.work.Process())
	select {
	case err := <-h.work.Crashed():
		t.Fatal(err)
	default:
	}
}

func (h *hub) setGate(t *testing.T, mode operatorv1.FeatureGateModeType) {
	t.Helper()
	require.NoError(t, h.Operator.Change(t.Context(), func(spec *operatorv1.ClusterManagerSpec) {
		require.Len(t, spec.WorkConfiguration.FeatureGates, 1)
		spec.WorkConfiguration.FeatureGates[0].Mode = mode
	}))
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
}

// needsItsRights compares the hub's permissions with its requests in the API server's audit log, from all earlier parts.
func (h *hub) needsItsRights(t *testing.T) {
	objects, err := deploy.Render()
	require.NoError(t, err)
	require.NotEmpty(t, grants(t, objects))
	var requests []request
	eventually(t, "every permission from deploy/ is needed", func() error {
		var err error
		if requests, err = readAudit(h.auditLog); err != nil {
			return err
		}
		unused := grants(t, objects)
		for _, request := range requests {
			delete(unused, request.grant())
		}
		if len(unused) > 0 {
			return fmt.Errorf("nobody needed %v", unused)
		}
		return nil
	})
	for _, request := range requests[h.asked:] {
		require.NotEqual(t, "forbid", request.decision(), "the work hub has no permission to %s", request)
	}

	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:open-cluster-management-hub:work-controller-sa",
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:open-cluster-management-hub", "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: sandbox.HubNamespace},
	}}
	review, err = h.Kube.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	require.NoError(t, err)
	require.False(t, review.Status.Allowed, "the work hub runs with the permissions of an administrator")
}

// goesBack is the way back in deploy/README.md, as far as the CRD is concerned. It also proves that only the annotation keeps the operator
// from removing this project's fields.
func (h *hub) goesBack(t *testing.T) {
	crd := h.definition(t)
	delete(crd.Annotations, versionAnnotation)
	_, err := h.definitions.ApiextensionsV1().CustomResourceDefinitions().Update(t.Context(), crd, metav1.UpdateOptions{})
	require.NoError(t, err)
	h.resync(t, "quay.io/open-cluster-management/registration:v1.2.0")
	require.False(t, knowsAborts(h.definition(t)))
	h.keepsHistoryWithoutTheCRD(t)

	// Then back to this project's hub.
	require.NoError(t, sandbox.Deploy(t.Context(), h.Plane.RESTConfig()))
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	require.True(t, knowsAborts(h.definition(t)))
	h.update(t, "v6", true)
	h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.everywhere(t, "v6")
	require.NotEmpty(t, h.status(t).CurrentRevision)
}
