package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/client/clientset/versioned"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	benchfleet "github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
)

// BenchmarkPlugin measures the time and the memory of a process of the plugin against a real API server, for a stalled rollout of 10,000
// clusters: half of them have the new revision, and 100 of these failed. A work is about 25 KB. No time is a condition of success.
//
//	go test ./test/integration -run '^$' -bench Plugin -benchtime 3x
func BenchmarkPlugin(b *testing.B) {
	large := newLargeHub(b, 10_000)
	for _, command := range []string{"list", "get web", "clusters web", "why web " + benchfleet.Cluster(7)} {
		b.Run(strings.Fields(command)[0], func(b *testing.B) { large.measure(b, command) })
	}
	b.Run("dashboard", large.measureDashboard)
}

// largeHub is an API server with a stalled rollout that no hub touches.
type largeHub struct {
	plane              *controlplane.ControlPlane
	plugin, kubeconfig string
}

// writers is the number of writes at the same time.
const writers = 8

func newLargeHub(b *testing.B, n int) *largeHub {
	b.Helper()
	plane, err := env.StartHub(b.Context(), controlplane.HubOptions{Name: "large"})
	require.NoError(b, err)
	b.Cleanup(func() { _ = plane.Stop() })
	config := unlimited(plane.RESTConfig())
	require.NoError(b, benchfleet.Join(b.Context(), config, n))
	l := &largeRollout{n: n, kube: kubernetes.NewForConfigOrDie(config), works: workclient.NewForConfigOrDie(config),
		sets: versioned.NewForConfigOrDie(config)}
	l.create(b)
	h := &largeHub{plane: plane, plugin: filepath.Join(b.TempDir(), "kubectl-mwrs")}
	out, err := exec.Command("go", "build", "-o", h.plugin, "../../cmd/kubectl-mwrs").CombinedOutput() //nolint:gosec // This project.
	require.NoError(b, err, string(out))
	h.kubeconfig, err = plane.Kubeconfig(filepath.Join(b.TempDir(), "kubeconfig"))
	require.NoError(b, err)
	return h
}

// measure runs a command in processes of its own.
func (h *largeHub) measure(b *testing.B, command string) {
	for b.Loop() {
		args := append(strings.Fields(command), "-n", benchfleet.Namespace, "--kubeconfig", h.kubeconfig)
		process := exec.Command(h.plugin, args...) //nolint:gosec // The plugin of this test.
		out, err := process.CombinedOutput()
		require.NoError(b, err, string(out))
		reportUsage(b, process.ProcessState)
		if testing.Verbose() {
			b.Logf("%s", out[:min(len(out), 4096)])
		}
	}
}

// dashboardAddress is the address that the dashboard prints: the page and its token.
var dashboardAddress = regexp.MustCompile(`(http://127\.0\.0\.1:\d+/)#token=(\S+)`)

// measureDashboard runs the dashboard in processes of its own, and reads the first picture that it sends to a page.
func (h *largeHub) measureDashboard(b *testing.B) {
	for b.Loop() {
		process := exec.Command(h.plugin, "dashboard", "-n", benchfleet.Namespace, "--kubeconfig", h.kubeconfig) //nolint:gosec // The plugin of this test.
		printed, err := process.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, process.Start())
		first, err := bufio.NewReader(printed).ReadString('\n')
		require.NoError(b, err)
		address := dashboardAddress.FindStringSubmatch(first)
		require.NotNil(b, address, first)
		begin := time.Now()
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address[1]+"api/sets/"+benchfleet.Namespace+"/web/stream", http.NoBody)
		require.NoError(b, err)
		request.Header.Set("X-Dashboard-Token", address[2])
		answer, err := http.DefaultClient.Do(request)
		require.NoError(b, err)
		events := bufio.NewReader(answer.Body)
		for line := ""; line != "event: update\n"; {
			line, err = events.ReadString('\n')
			require.NoError(b, err)
		}
		b.ReportMetric(time.Since(begin).Seconds(), "first-s")
		require.NoError(b, answer.Body.Close())
		require.NoError(b, process.Process.Signal(os.Interrupt))
		require.NoError(b, process.Wait())
		reportUsage(b, process.ProcessState)
	}
}

// reportUsage reports the memory and the CPU time of a process.
func reportUsage(b *testing.B, state *os.ProcessState) {
	b.Helper()
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		b.ReportMetric(float64(usage.Maxrss)/1024, "MB")
	}
	b.ReportMetric((state.UserTime() + state.SystemTime()).Seconds(), "cpu-s")
}

// largeRollout creates the objects.
type largeRollout struct {
	n     int
	kube  kubernetes.Interface
	works workclient.Interface
	sets  versioned.Interface
	begin metav1.Time
}

func (l *largeRollout) create(b *testing.B) {
	b.Helper()
	ctx := b.Context()
	l.begin = metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: benchfleet.Namespace}}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref(benchfleet.Placement, progressive(l.n/10, "10m", 50))}
	set.Spec.ManifestWorkTemplate = largeTemplate("v2")
	client := l.sets.WorkV1alpha1().ManifestWorkReplicaSets(benchfleet.Namespace)
	set, err := client.Create(ctx, set, metav1.CreateOptions{})
	require.NoError(b, err)
	var hashes []string
	for i, version := range []string{"v1", "v2"} {
		template := largeTemplate(version)
		hash := revision.ComputeHash(&template, nil)
		stored, err := revision.New(set, &template, hash, int64(i+1))
		require.NoError(b, err)
		_, err = l.kube.AppsV1().ControllerRevisions(benchfleet.Namespace).Create(ctx, stored, metav1.CreateOptions{})
		require.NoError(b, err)
		hashes = append(hashes, hash)
		set.Status.Revisions = append(set.Status.Revisions, workv1alpha1.RevisionStatus{
			Name: stored.Name, Hash: hash, Revision: int64(i + 1), State: workv1alpha1.RevisionNotReady, Clusters: int32(l.n / 2), //nolint:gosec // A count.
		})
	}
	works, ctx := errgroup.WithContext(ctx)
	works.SetLimit(writers)
	for i := range l.n {
		works.Go(func() error {
			return retry.OnError(retry.DefaultBackoff, busy, func() error { return l.createWork(ctx, i, hashes[(i+1)%2]) })
		})
	}
	require.NoError(b, works.Wait())
	l.report(set, hashes)
	_, err = client.UpdateStatus(b.Context(), set, metav1.UpdateOptions{})
	require.NoError(b, err)
}

// busy reports whether the API server asks for another try.
func busy(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		strings.Contains(err.Error(), "etcdserver: request timed out")
}

// failed reports whether a cluster failed with the new revision.
func failed(i int) bool { return i%100 == 0 }

// report fills the status as the hub does.
func (l *largeRollout) report(set *workv1alpha1.ManifestWorkReplicaSet, hashes []string) {
	set.Status.CurrentRevision, set.Status.UpdateRevision = hashes[0], hashes[1]
	set.Status.State, set.Status.ObservedGeneration = workv1alpha1.StateStalled, set.Generation
	for i := range l.n {
		if failed(i) {
			set.Status.Failures = append(set.Status.Failures, workv1alpha1.ClusterFailure{
				Cluster: benchfleet.Cluster(i), Placement: benchfleet.Placement, Reason: workv1alpha1.FailureDegraded, Message: "Deployment shop/web-0: ProgressDeadlineExceeded",
				Since: l.begin,
			})
		}
	}
	counts, bad := &set.Status.Summary, len(set.Status.Failures)
	counts.Total, counts.DesiredTotal, counts.Applied, counts.Available = l.n, l.n, l.n, l.n
	counts.Updated, counts.Failed, counts.Waiting, counts.Progressing, counts.Degraded = l.n/2-bad, bad, l.n/2, bad, bad
}

func (l *largeRollout) createWork(ctx context.Context, i int, hash string) error {
	version := "v1"
	if i%2 == 0 {
		version = "v2"
	}
	client := l.works.WorkV1().ManifestWorks(benchfleet.Cluster(i))
	work, err := client.Create(ctx, &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Finalizers: []string{"cluster.open-cluster-management.io/manifest-work-cleanup"},
			Labels: map[string]string{
				workv1alpha1.LabelReplicaSet:     workv1alpha1.OwnerLabelValue(benchfleet.Namespace, "web"),
				workv1alpha1.LabelControllerHash: hash, workv1alpha1.LabelPlacement: benchfleet.Placement,
			},
			Annotations: map[string]string{workv1alpha1.AnnotationAppliedAt: l.begin.Format(time.RFC3339Nano)},
		},
		Spec: largeTemplate(version),
	}, metav1.CreateOptions{FieldManager: "work-controller"})
	if apierrors.IsAlreadyExists(err) { // By a try whose answer was lost.
		work, err = client.Get(ctx, "web", metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	work.Status = l.statusOf(work, version == "v2" && failed(i))
	_, err = client.UpdateStatus(ctx, work, metav1.UpdateOptions{FieldManager: "work-agent"})
	return err
}

// statusOf returns what an agent reports of a work.
func (l *largeRollout) statusOf(work *workv1.ManifestWork, degraded bool) (status workv1.ManifestWorkStatus) {
	is := map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}
	conditions := func(generation int64) (all []metav1.Condition) {
		for condition, value := range map[string]bool{
			workv1.WorkApplied: true, workv1.WorkAvailable: true, workv1.WorkProgressing: degraded, workv1.WorkDegraded: degraded,
		} {
			all = append(all, metav1.Condition{
				Type: condition, Status: is[value], ObservedGeneration: generation, LastTransitionTime: l.begin,
				Reason: "ConditionRulesAggregated", Message: "all manifests have this condition, according to their condition rules",
			})
		}
		return all
	}
	status.Conditions = conditions(work.Generation)
	for i := range work.Spec.Workload.Manifests {
		replicas := int64(3)
		values := []workv1.FeedbackValue{}
		for _, name := range []string{"ReadyReplicas", "Replicas", "AvailableReplicas"} {
			values = append(values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.Integer, Integer: &replicas}})
		}
		status.ResourceStatus.Manifests = append(status.ResourceStatus.Manifests, workv1.ManifestCondition{
			ResourceMeta: workv1.ManifestResourceMeta{
				Ordinal: int32(i), Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "shop", //nolint:gosec // A few.
				Name: fmt.Sprintf("web-%d", i),
			},
			StatusFeedbacks: workv1.StatusFeedbackResult{Values: values}, Conditions: conditions(0),
		})
	}
	return status
}

// largeTemplate has five Deployments of about 3 KB each.
func largeTemplate(version string) workv1.ManifestWorkSpec {
	spec := workv1.ManifestWorkSpec{}
	for i := range 5 {
		var environment []map[string]string
		for j := range 40 {
			environment = append(environment, map[string]string{"name": fmt.Sprintf("VARIABLE_%d", j), "value": strings.Repeat(fmt.Sprint(j), 15)})
		}
		labels := map[string]string{"app": fmt.Sprintf("web-%d", i)}
		raw, _ := json.Marshal(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": fmt.Sprintf("web-%d", i), "namespace": "shop"},
			"spec": map[string]any{
				"replicas": 3, "selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []map[string]any{{
					"name": "web", "image": "registry.example.com/web:" + version, "env": environment,
				}}}},
			},
		})
		spec.Workload.Manifests = append(spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	}
	return spec
}
