package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/crds"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/agents"
)

// because sets the change cause.
func (f *fleet) because(cause string) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Annotations = map[string]string{workv1alpha1.AnnotationChangeCause: cause}
	})
}

// lists waits until status.revisions has these lines, the newest revision first.
func (f *fleet) lists(wanted ...string) []workv1alpha1.RevisionStatus {
	f.t.Helper()
	var listed []workv1alpha1.RevisionStatus
	eventually(f.t, fmt.Sprintf("status.revisions is %q", wanted), func() error {
		listed = f.get().Status.Revisions
		lines := make([]string, 0, len(listed))
		for i := range listed {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %d %s", listed[i].State, listed[i].Clusters, listed[i].ChangeCause)))
		}
		if !slices.Equal(lines, wanted) {
			return fmt.Errorf("it is %q", lines)
		}
		return nil
	})
	return listed
}

// kubectl runs kubectl with all permissions, and returns its output.
func (f *fleet) kubectl(args ...string) string {
	f.t.Helper()
	kubeconfig, err := f.w.plane.Kubeconfig(f.t.TempDir() + "/kubeconfig")
	require.NoError(f.t, err)
	command := exec.CommandContext(f.t.Context(), env.Tools.Kubectl, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+f.t.TempDir())
	output, err := command.CombinedOutput()
	require.NoError(f.t, err, string(output))
	return string(output)
}

// olderCRD returns the CRD without some fields, such as "status.ledger".
func olderCRD(t *testing.T, fields ...string) []byte {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal(crds.ManifestWorkReplicaSet, crd))
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	for _, path := range fields {
		name, field, _ := strings.Cut(path, ".")
		part := properties[name]
		require.Contains(t, part.Properties, field)
		delete(part.Properties, field)
		if field == "observedGeneration" {
			part.Default = nil // The default names the field.
		}
		properties[name] = part
	}
	older, err := yaml.Marshal(crd)
	require.NoError(t, err)
	return older
}

// ownFields are the status fields that no other hub's CRD has, and that users read.
var ownFields = []string{
	"status.ledger", "status.updateRevision", "status.currentRevision", "status.collisionCount", "status.abortedTime", "status.abortedBy",
	"status.abortReason", "status.failures", "status.rejections", "status.away", "status.revisions", "status.state",
	"status.observedGeneration",
}

// P7: a CRD of another hub drops the ledger. The hub reports this and continues with the copy, including aborts, and does not write the
// status repeatedly. A hub that starts with the right CRD writes the ledger, and all fields that follow from it.
func TestAbortUnderAnotherCRD(t *testing.T) {
	t.Parallel()
	w := privateWorld(t, "another-crd")
	require.NoError(t, controlplane.InstallCRDs(t.Context(), w.config, olderCRD(t, ownFields...)))
	w.agents = agents.New(w.works)
	go w.agents.Poll(t.Context(), pollInterval)
	stop := w.startManager(context.WithoutCancel(t.Context()), settle)
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", progressive(1, "3s", 0, abortAll)))
	require.Empty(t, f.complete().Status.Revisions)
	f.agentsReport("c2", "v2", hangs)
	f.update("v2")
	mwrs := f.aborted()
	f.everywhere("v1")
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), "the API server drops status.ledger: its CRD of ManifestWorkReplicaSet "+
		"is not the one of this hub; apply the CRD that came with this hub")
	require.Empty(t, mwrs.Status.Ledger)
	require.Empty(t, mwrs.Status.CurrentRevision)
	f.quiet()
	f.warnedOf(workv1alpha1.EventOlderCRD)
	before := f.generations()

	stop()
	stop = w.startManager(context.WithoutCancel(t.Context()), settle)
	f.quiet()
	require.Equal(t, before, f.generations(), "a restart ends no abort")
	stop()
	require.NoError(t, controlplane.InstallCRDs(t.Context(), w.config, crds.ManifestWorkReplicaSet))
	stop = w.startManager(context.WithoutCancel(t.Context()), settle)
	t.Cleanup(func() { stop() })
	f.lists("Aborted 0", "Available 2")
	f.quiet()
	mwrs = f.aborted()
	require.NotContains(t, message(mwrs, workv1alpha1.ConditionProgressing), "drops")
	require.NotEmpty(t, mwrs.Status.Ledger)
	require.Equal(t, f.hash("v1"), mwrs.Status.CurrentRevision)
	require.NotNil(t, mwrs.Status.AbortedTime)
	require.Len(t, mwrs.Status.Failures, 1)
	require.Equal(t, before, f.generations())
}

// withoutTheFields returns a CRD that lacks some fields of the spec and two fields of the status.
func withoutTheFields(t *testing.T) []byte {
	t.Helper()
	return olderCRD(t, "spec.pruneStrategy", "status.ledger", "status.state")
}

// warnedOf waits for an event.
func (f *fleet) warnedOf(reason string) {
	f.t.Helper()
	eventually(f.t, "the event "+reason, func() error {
		events, err := f.w.kube.CoreV1().Events(f.namespace).List(f.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(event corev1.Event) bool { return event.Reason == reason }) {
			return fmt.Errorf("none of %d events", len(events.Items))
		}
		return nil
	})
}
