package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/worklist"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// perDecision is the number of clusters in a PlacementDecision, as the placement controller writes them.
const perDecision = 100

// largeFleet is an API server with one ManifestWorkReplicaSet that is complete on n clusters. It generates each page of works while sending
// it.
type largeFleet struct {
	n int
	// limits are the limits of the requests for works. The request for metadata has no limit.
	limits []string
	noting sync.Mutex
	// work is a work as JSON, and metadata is its metadata. mark is the placeholder for its namespace.
	work, metadata, mark []byte
	set                  *workv1alpha1.ManifestWorkReplicaSet
	answers              map[string]any
}

func newLargeFleet(tb testing.TB, n, size int) *largeFleet {
	tb.Helper()
	f := &largeFleet{n: n, mark: []byte("CLUSTER-NAME"), answers: map[string]any{}}
	const content = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"x":%q}}`
	manifest := workv1.Manifest{RawExtension: runtime.RawExtension{Raw: fmt.Appendf(nil, content, strings.Repeat("x", size))}}
	template := workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{manifest}}}
	begin := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	set := &workv1alpha1.ManifestWorkReplicaSet{
		TypeMeta:   kindOfSets,
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "uid", CreationTimestamp: begin},
		Spec: workv1alpha1.ManifestWorkReplicaSetSpec{
			ManifestWorkTemplate: template, PlacementRefs: []workv1alpha1.LocalPlacementReference{{Name: "p"}},
		},
	}
	hash := revision.ComputeHash(&template, nil)
	set.Status.CurrentRevision, set.Status.UpdateRevision, set.Status.Summary.Total = hash, hash, n
	set.Status.Summary.Updated = n
	stored, err := revision.New(set, &template, hash, 1)
	require.NoError(tb, err)
	revisions := &appsv1.ControllerRevisionList{Items: []appsv1.ControllerRevision{*stored}}
	decisions := &clusterv1beta1.PlacementDecisionList{}
	for i := range n {
		if i%perDecision == 0 {
			decisions.Items = append(decisions.Items, clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("p-%d", i/perDecision), Namespace: "default", Labels: map[string]string{clusterv1beta1.PlacementLabel: "p"},
			}})
		}
		last := &decisions.Items[len(decisions.Items)-1].Status
		last.Decisions = append(last.Decisions, clusterv1beta1.ClusterDecision{ClusterName: f.cluster(i)})
	}
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}}
	placement.Status.NumberOfSelectedClusters = int32(n)
	const clusterGroup = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/"
	f.set = set
	f.answers["/apis/work.open-cluster-management.io/v1alpha1/namespaces/default/manifestworkreplicasets/web"] = set
	f.answers["/apis/apps/v1/namespaces/default/controllerrevisions"] = revisions
	f.answers[clusterGroup+"placements/p"], f.answers[clusterGroup+"placementdecisions"] = placement, decisions
	work := f.workOf(set, hash, begin)
	f.work, err = json.Marshal(work)
	require.NoError(tb, err)
	f.metadata, err = json.Marshal(&metav1.PartialObjectMetadata{ObjectMeta: work.ObjectMeta})
	require.NoError(tb, err)
	return f
}

func (f *largeFleet) cluster(i int) string { return fmt.Sprintf("cluster-%05d", i) }

func (f *largeFleet) workOf(set *workv1alpha1.ManifestWorkReplicaSet, hash string, begin metav1.Time) *workv1.ManifestWork {
	work := &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-" + set.Name, Namespace: string(f.mark), Generation: 1, CreationTimestamp: begin,
			Labels: map[string]string{
				workv1alpha1.LabelReplicaSet: workv1alpha1.OwnerLabelValue("default", "web"), workv1alpha1.LabelControllerHash: hash,
				workv1alpha1.LabelPlacement: "p",
			},
			Annotations: map[string]string{workv1alpha1.AnnotationAppliedAt: begin.Format(time.RFC3339Nano)},
		},
		Spec: set.Spec.ManifestWorkTemplate,
	}
	for condition, status := range map[string]metav1.ConditionStatus{
		workv1.WorkApplied: metav1.ConditionTrue, workv1.WorkAvailable: metav1.ConditionTrue, workv1.WorkProgressing: metav1.ConditionFalse,
	} {
		work.Status.Conditions = append(work.Status.Conditions, metav1.Condition{
			Type: condition, Status: status, ObservedGeneration: 1, LastTransitionTime: begin, Reason: "AsExpected", Message: "as expected",
		})
	}
	manifest := workv1.ManifestCondition{Conditions: work.Status.Conditions}
	for range 5 {
		work.Status.ResourceStatus.Manifests = append(work.Status.ResourceStatus.Manifests, manifest)
	}
	return work
}

func (f *largeFleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if answer := f.answers[r.URL.Path]; answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	if r.URL.Path != "/apis/work.open-cluster-management.io/v1/manifestworks" {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		return
	}
	work := f.work
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		work = f.metadata
	}
	begin, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	f.noting.Lock()
	f.limits = append(f.limits, r.URL.Query().Get("limit"))
	f.noting.Unlock()
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		limit = f.n
	}
	end, next := min(f.n, begin+limit), ""
	if end < f.n {
		next = strconv.Itoa(end)
	}
	_, _ = fmt.Fprintf(w, `{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWorkList",`+
		`"metadata":{"resourceVersion":"1","continue":%q},"items":[`, next)
	for i := begin; i < end; i++ {
		if i > begin {
			_, _ = w.Write([]byte(","))
		}
		_, _ = w.Write(bytes.Replace(work, f.mark, []byte(f.cluster(i)), 1))
	}
	_, _ = w.Write([]byte("]}"))
}

// serve starts an API server, and returns a kubeconfig for it and its address.
func serve(tb testing.TB, handler http.Handler) (kubeconfig, host string) {
	tb.Helper()
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	return kubeconfigFor(tb, server.URL), server.URL
}

// kubeconfigFor writes a kubeconfig for a server, and returns its path.
func kubeconfigFor(tb testing.TB, host string) string {
	tb.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["large"] = &clientcmdapi.Cluster{Server: host}
	config.Contexts["large"] = &clientcmdapi.Context{Cluster: "large", Namespace: "default"}
	config.CurrentContext = "large"
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	require.NoError(tb, clientcmd.WriteToFile(*config, path))
	return path
}

// TestLargeFleet: `clusters` prints a row for each of 10,000 clusters, and reads the works page by page. `get` counts all works, but reads
// only their metadata.
func TestLargeFleet(t *testing.T) {
	const n = 10_000
	fleet := newLargeFleet(t, n, 100)
	kubeconfig, _ := serve(t, fleet)
	run := func(args ...string) string {
		fleet.limits = nil
		code, out, errs := mwrs(t, "", append(args, "--kubeconfig", kubeconfig)...)
		require.Zero(t, code, errs)
		return out
	}
	paged := slices.Repeat([]string{strconv.Itoa(worklist.PageSize)}, n/worklist.PageSize)
	rows := strings.Split(strings.TrimSpace(run("clusters", "web")), "\n")
	require.Equal(t, paged, fleet.limits)
	require.Len(t, rows, n+1)
	require.Regexp(t, `^cluster-09999 +Succeeded .* 1 +yes`, rows[n])
	require.Len(t, strings.Fields(run("clusters", "web", "-o", "name")), n)
	screen := run("get", "web")
	require.Equal(t, []string{""}, fleet.limits)
	require.Contains(t, screen, fmt.Sprintf("%d of %d clusters confirmed revision 1", n, n))
	require.Contains(t, screen, fmt.Sprintf("the ManifestWorks of %d clusters were not read", n))

	fleet.answers["/apis/work.open-cluster-management.io/v1/namespaces/cluster-00007/manifestworks/web-web"] =
		json.RawMessage(bytes.Replace(fleet.work, fleet.mark, []byte(fleet.cluster(7)), 1))
	screen = run("why", "web", fleet.cluster(7))
	require.Equal(t, []string{""}, fleet.limits)
	require.Contains(t, screen, "the agent reported Applied=True: as expected")
	require.Contains(t, screen, fmt.Sprintf("note: the ManifestWorks of %d clusters were not read", n-1))
}

// sampled returns the screen of a fleet if the plugin reads a sample of it.
func (f *largeFleet) sampled(t *testing.T, handler http.Handler) string {
	t.Helper()
	kubeconfig, _ := serve(t, handler)
	var out bytes.Buffer
	code := Run(t.Context(), []string{"get", "web", "--kubeconfig", kubeconfig}, genericiooptions.IOStreams{Out: &out, ErrOut: &out}, WithSamples(0, 1))
	require.Zero(t, code, out.String())
	require.Equal(t, []string{"", strconv.Itoa(worklist.PageSize), strconv.Itoa(worklist.PageSize)}, f.limits)
	return out.String()
}

// TestSampleWithoutPermission: a user who may list works, but not get them, sees the same screen of all works.
func TestSampleWithoutPermission(t *testing.T) {
	fleet := newLargeFleet(t, 300, 100)
	fleet.set.Status.Failures = []workv1alpha1.ClusterFailure{{Cluster: fleet.cluster(7), Placement: "p"}}
	screen := fleet.sampled(t, fleet)
	require.NotContains(t, screen, "note")
	require.Contains(t, screen, "300 of 300 clusters confirmed revision 1")
}

// edited is a fleet whose spec changes when its metadata is read.
type edited struct{ *largeFleet }

func (f edited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.largeFleet.ServeHTTP(w, r)
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		f.set.Generation++
	}
}

// TestSampleOfAChange: the hub's counts do not apply to the metadata of the works if the object has changed in between.
func TestSampleOfAChange(t *testing.T) {
	fleet := newLargeFleet(t, 300, 100)
	require.NotContains(t, fleet.sampled(t, edited{fleet}), "were not read")
}
