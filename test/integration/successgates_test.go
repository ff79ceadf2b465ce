package integration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/docs"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// smokeTested returns the template of a version with the smoke test of docs/success-gates.md.
func smokeTested(t *testing.T, version string) workv1.ManifestWorkSpec {
	t.Helper()
	blocks, err := docs.Fenced("../..")
	require.NoError(t, err)
	spec := realTemplate(version, true)
	for _, block := range blocks {
		if block.Page != "docs/success-gates.md" || !strings.Contains(block.Text, "smoke-test") {
			continue
		}
		text := strings.NewReplacer("namespace: shop", "namespace: default", "smoke-test-v2", "smoke-test-"+version).Replace(block.Text)
		recipe := workv1.ManifestWorkSpec{}
		require.NoError(t, yaml.UnmarshalStrict([]byte(text), &recipe))
		spec.Workload.Manifests = append(spec.Workload.Manifests, recipe.Workload.Manifests...)
		spec.ManifestConfigs = append(spec.ManifestConfigs, recipe.ManifestConfigs...)
	}
	require.Len(t, spec.Workload.Manifests, 2)
	return spec
}

// finishes finishes the smoke test of a version on a cluster, as the Job controller does.
func (f *realFleet) finishes(short, version string, result batchv1.JobConditionType, message string) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("the smoke test of %s is %s on %s", version, result, short), func() error {
		job, err := f.kube[short].BatchV1().Jobs("default").Get(f.t.Context(), "smoke-test-"+version, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now, before := metav1.Now(), batchv1.JobSuccessCriteriaMet
		job.Status.StartTime = &now
		if result == batchv1.JobFailed {
			before = batchv1.JobFailureTarget
		} else {
			job.Status.CompletionTime = &now
		}
		for _, condition := range []batchv1.JobConditionType{before, result} {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
				Type: condition, Status: corev1.ConditionTrue, Reason: "Test", Message: message, LastTransitionTime: now, LastProbeTime: now,
			})
		}
		_, err = f.kube[short].BatchV1().Jobs("default").UpdateStatus(f.t.Context(), job, metav1.UpdateOptions{})
		return err
	})
}

// A smoke test decides: each cluster succeeds when its Job is complete, and a failed Job aborts the rollout long before any deadline.
func TestSuccessGateSmokeTest(t *testing.T) {
	t.Parallel()
	f := newRealFleet(t, "smoke")
	first := ref("p1", progressive(1, "10m", 0, abortAll))
	first.RolloutStrategy.SuccessGates = []workv1alpha1.SuccessGate{{ConditionType: "SmokePassed"}}
	f.createOf(smokeTested(t, "v1"), first)
	f.deploys(map[string]string{"c1": "v1"})
	f.finishes("c1", "v1", batchv1.JobComplete, "")
	f.finishes("c2", "v1", batchv1.JobComplete, "")
	f.complete()

	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.ManifestWorkTemplate = smokeTested(t, "v2") })
	f.deploys(map[string]string{"c1": "v2"})
	f.finishes("c1", "v2", batchv1.JobFailed, "no checkout")
	aborted := f.aborted()
	require.Len(t, aborted.Status.Failures, 1)
	require.Equal(t, workv1alpha1.FailureGate, aborted.Status.Failures[0].Reason)
	require.Equal(t, "Job default/smoke-test-v2: SmokePassed=False: no checkout", aborted.Status.Failures[0].Message)
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"}) // The restore does not wait for the smoke test.
	require.Len(t, f.reached("v2"), 1)

	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.ManifestWorkTemplate = smokeTested(t, "v3") })
	f.finishes("c1", "v3", batchv1.JobComplete, "")
	f.finishes("c2", "v3", batchv1.JobComplete, "")
	f.complete()
}

// fakePrometheus responds to each query with the values of clusters.
type fakePrometheus struct {
	mu     sync.Mutex
	values map[string]float64
}

func (p *fakePrometheus) set(cluster string, value float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values[cluster] = value
}

func (p *fakePrometheus) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var samples []string
	for cluster, value := range p.values {
		samples = append(samples, fmt.Sprintf(`{"metric":{"cluster":%q},"value":[1,"%g"]}`, cluster, value))
	}
	_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, strings.Join(samples, ","))
}

// The program of docs/examples sets the condition from Prometheus: a cluster without a sample waits, and an error rate aborts the rollout.
func TestSuccessGatePrometheus(t *testing.T) {
	t.Parallel()
	f := newRealFleet(t, "prometheus")
	f.creates(ref("p1", progressive(1, "10m", 0, abortAll)))
	prometheus := &fakePrometheus{values: map[string]float64{}}
	server := httptest.NewServer(prometheus)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	program, kubeconfig := filepath.Join(dir, "prometheus-gate"), filepath.Join(dir, "kubeconfig")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../docs/examples/prometheus-gate").CombinedOutput()
	require.NoError(t, err, string(built))
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, "hub", f.w.config))
	command := exec.CommandContext(t.Context(), program, "-kubeconfig", kubeconfig, "-owner", f.namespace+"."+f.name,
		"-prometheus", server.URL, "-every", "300ms")
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Wait() })

	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs[0].RolloutStrategy.SuccessGates = []workv1alpha1.SuccessGate{{ConditionType: "example.com/ErrorRate"}}
		mwrs.Spec.ManifestWorkTemplate = realTemplate("v2", true)
	})
	f.deploys(map[string]string{"c1": "v2"})
	eventually(t, "c1 is validating", func() error {
		if text := message(f.get(), workv1alpha1.ConditionManifestworkApplied); !strings.Contains(text, "1 validating") {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	prometheus.set(f.cluster("c1"), 0.001)
	f.deploys(map[string]string{"c2": "v2"})
	prometheus.set(f.cluster("c2"), 0.5)
	aborted := f.aborted()
	require.Equal(t, "example.com/ErrorRate=False: 0.5, at most 0.01 is good", aborted.Status.Failures[0].Message)
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
}
