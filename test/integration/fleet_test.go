package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/test/internal/testwork"
)

// fleet is one test's namespace with one ManifestWorkReplicaSet and its clusters.
type fleet struct {
	t         *testing.T
	w         *world
	namespace string
	name      string
	clusters  []string
}

// newFleet creates a namespace and n clusters. Their names begin with the name of the test, because tests run at the same time.
func newFleet(t *testing.T, n int) *fleet {
	t.Helper()
	return newFleetIn(shared(t), t, n)
}

func newFleetIn(w *world, t *testing.T, n int) *fleet {
	t.Helper()
	f := &fleet{t: t, w: w, name: "web", namespace: strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))}
	f.namespace = strings.TrimPrefix(f.namespace, "test")
	if len(f.namespace) > 45 {
		f.namespace = strings.Trim(f.namespace[len(f.namespace)-45:], "-")
	}
	require.NoError(t, w.fleet.Namespace(t.Context(), f.namespace))
	for i := range n {
		f.join(fmt.Sprintf("c%d", i+1))
	}
	return f
}

// rolledOut returns a fleet of n clusters, all selected by the Placement p1, on which v1 is complete.
func rolledOut(t *testing.T, n int, strategy workv1alpha1.RolloutStrategy) *fleet {
	t.Helper()
	f := newFleet(t, n)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", strategy))
	f.complete()
	return f
}

// cluster returns the full name of a cluster of this fleet.
func (f *fleet) cluster(short string) string { return f.namespace + "-" + short }

func (f *fleet) join(short string) {
	f.t.Helper()
	require.NoError(f.t, f.w.fleet.Namespace(f.t.Context(), f.cluster(short)))
	f.clusters = append(f.clusters, short)
}

// place creates or updates a Placement whose decisions are these groups of clusters, as the placement controller would write them.
func (f *fleet) place(name string, groups ...[]string) {
	f.t.Helper()
	ctx := f.t.Context()
	placements := f.w.clusters.ClusterV1beta1().Placements(f.namespace)
	placement, err := placements.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		placement, err = placements.Create(ctx, &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(f.t, err)
	}
	selected := 0
	for i, group := range groups {
		f.decide(name, fmt.Sprintf("%s-decision-%d", name, i+1), i, group...)
		selected += len(group)
	}
	placement.Status.NumberOfSelectedClusters = int32(selected)
	meta.SetStatusCondition(&placement.Status.Conditions, metav1.Condition{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionTrue, Reason: "AllDecisionsScheduled",
	})
	_, err = placements.UpdateStatus(ctx, placement, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

// decide writes one PlacementDecision.
func (f *fleet) decide(placement, name string, group int, clusters ...string) {
	f.t.Helper()
	ctx := f.t.Context()
	decisions := f.w.clusters.ClusterV1beta1().PlacementDecisions(f.namespace)
	decision, err := decisions.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		decision, err = decisions.Create(ctx, &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				clusterv1beta1.PlacementLabel:          placement,
				clusterv1beta1.DecisionGroupIndexLabel: fmt.Sprint(group),
				clusterv1beta1.DecisionGroupNameLabel:  fmt.Sprintf("g%d", group),
			},
		}}, metav1.CreateOptions{})
		require.NoError(f.t, err)
	}
	decision.Status.Decisions = []clusterv1beta1.ClusterDecision{}
	for _, short := range clusters {
		decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: f.cluster(short)})
	}
	_, err = decisions.UpdateStatus(ctx, decision, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

// strategies

// create creates the ManifestWorkReplicaSet.
func (f *fleet) create(version string, refs ...workv1alpha1.LocalPlacementReference) {
	f.t.Helper()
	f.createOf(template(version), refs...)
}

func (f *fleet) createOf(template workv1.ManifestWorkSpec, refs ...workv1alpha1.LocalPlacementReference) {
	f.t.Helper()
	f.createSpec(workv1alpha1.ManifestWorkReplicaSetSpec{ManifestWorkTemplate: template, PlacementRefs: refs})
}

func (f *fleet) createSpec(spec workv1alpha1.ManifestWorkReplicaSetSpec) {
	f.t.Helper()
	mwrs := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace}, Spec: spec}
	_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Create(f.t.Context(), mwrs, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

func (f *fleet) get() *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	mwrs, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Get(f.t.Context(), f.name, metav1.GetOptions{})
	require.NoError(f.t, err)
	return mwrs
}

// persistent repeats an edit up to 15 times, until no write by the hub interferes. On a busy machine, the four attempts of client-go within
// a third of a second can all conflict.
var persistent = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.1, Steps: 15}

// edit changes the spec, as a user would.
func (f *fleet) edit(change func(*workv1alpha1.ManifestWorkReplicaSet)) {
	f.t.Helper()
	require.NoError(f.t, retry.RetryOnConflict(persistent, func() error {
		mwrs := f.get()
		change(mwrs)
		_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Update(f.t.Context(), mwrs, metav1.UpdateOptions{})
		return err
	}))
}

// update sets the template to a version.
func (f *fleet) update(version string) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.ManifestWorkTemplate = template(version) })
}

// pause sets spec.paused.
func (f *fleet) pause(paused bool) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.Paused = paused })
}

// editStatus changes the status behind the hub's back.
func (f *fleet) editStatus(change func(*workv1alpha1.ManifestWorkReplicaSetStatus)) {
	f.t.Helper()
	require.NoError(f.t, retry.RetryOnConflict(persistent, func() error {
		mwrs := f.get()
		change(&mwrs.Status)
		_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).UpdateStatus(f.t.Context(), mwrs, metav1.UpdateOptions{})
		return err
	}))
}

func (f *fleet) works() []workv1.ManifestWork {
	f.t.Helper()
	works, err := f.listWorks()
	require.NoError(f.t, err)
	return works
}

func (f *fleet) listWorks() ([]workv1.ManifestWork, error) {
	list, err := f.w.works.WorkV1().ManifestWorks("").List(f.t.Context(), metav1.ListOptions{
		LabelSelector: workv1alpha1.WorkSelector(f.namespace, f.name),
	})
	return list.Items, err
}

// versions returns the version in each cluster's work.
func (f *fleet) versions() map[string]string {
	f.t.Helper()
	versions := map[string]string{}
	works := f.works()
	for i := range works {
		versions[strings.TrimPrefix(works[i].Namespace, f.namespace+"-")] = versionOf(&works[i])
	}
	return versions
}

// revisions returns the ControllerRevisions, the lowest number first.
func (f *fleet) revisions() []appsv1.ControllerRevision {
	f.t.Helper()
	list, err := f.w.kube.AppsV1().ControllerRevisions(f.namespace).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return list.Items
}

// checks

// everywhere waits until each of the clusters, and no other cluster, has a version.
func (f *fleet) everywhere(version string, clusters ...string) {
	f.t.Helper()
	if len(clusters) == 0 {
		clusters = f.clusters
	}
	eventually(f.t, "version "+version+" on "+strings.Join(clusters, ","), func() error {
		versions := f.versions()
		if len(versions) != len(clusters) {
			return fmt.Errorf("works: %v", versions)
		}
		for _, cluster := range clusters {
			if versions[cluster] != version {
				return fmt.Errorf("works: %v", versions)
			}
		}
		return nil
	})
}

// the states of the table

// agentsReport sets the reports from the agent of a cluster of this fleet. An empty cluster stands for all clusters.
func (f *fleet) agentsReport(short, version string, what outcome) {
	if short == "" {
		for _, cluster := range f.clusters {
			f.w.agents.Set(f.cluster(cluster), version, what)
		}
		return
	}
	f.w.agents.Set(f.cluster(short), version, what)
}

// work returns the only work of a cluster.
func (f *fleet) work(short string) *workv1.ManifestWork {
	f.t.Helper()
	var found []*workv1.ManifestWork
	works := f.works()
	for i := range works {
		if works[i].Namespace == f.cluster(short) {
			found = append(found, &works[i])
		}
	}
	require.Len(f.t, found, 1, "works of %s", short)
	return found[0]
}

// editWork changes a cluster's work behind the hub's back.
func (f *fleet) editWork(short string, change func(*workv1.ManifestWork)) {
	f.t.Helper()
	require.NoError(f.t, retry.RetryOnConflict(persistent, func() error {
		work := f.work(short)
		change(work)
		_, err := f.w.works.WorkV1().ManifestWorks(work.Namespace).Update(f.t.Context(), work, metav1.UpdateOptions{})
		return err
	}))
}

// generations returns the generation of each cluster's work: how often its agent got a new spec.
func (f *fleet) generations() map[string]int64 {
	f.t.Helper()
	generations := map[string]int64{}
	works := f.works()
	for i := range works {
		generations[f.short(works[i].Namespace)] = works[i].Generation
	}
	return generations
}

// versionOfRevision returns the version in a ControllerRevision; empty if it can't be read.
func versionOfRevision(rev *appsv1.ControllerRevision) string {
	decoded := revision.Decode(rev)
	if decoded.Err != nil {
		return ""
	}
	return testwork.Version(decoded.Template)
}

// recorded returns the versions in the ControllerRevisions, the lowest number first.
func (f *fleet) recorded() []string {
	f.t.Helper()
	versions := []string{}
	revisions := f.revisions()
	for i := range revisions {
		versions = append(versions, versionOfRevision(&revisions[i]))
	}
	return versions
}

// ledger returns the ledger in the status.
func (f *fleet) ledger() *ledger.Ledger {
	f.t.Helper()
	mwrs := f.get()
	found, err := ledger.Decode(mwrs.Status.Ledger, mwrs.UID)
	require.NoError(f.t, err)
	return found
}

// revisionOf returns the ControllerRevision of a version.
func (f *fleet) revisionOf(version string) *appsv1.ControllerRevision {
	f.t.Helper()
	revisions := f.revisions()
	for i := range revisions {
		if versionOfRevision(&revisions[i]) == version {
			return &revisions[i]
		}
	}
	f.t.Fatalf("there is no revision of %s, but of %v", version, f.recorded())
	return nil
}

// hash returns the short name of a version's revision.
func (f *fleet) hash(version string) string {
	f.t.Helper()
	return f.revisionOf(version).Labels[workv1alpha1.LabelControllerHash]
}

// has waits until a cluster has a version.
func (f *fleet) has(short, version string) {
	f.t.Helper()
	eventually(f.t, short+" has "+version, func() error {
		if versions := f.versions(); versions[short] != version {
			return fmt.Errorf("works: %v", versions)
		}
		return nil
	})
}

// confirmedBy waits until Progressing reports this number of clusters that confirmed the restored revision.
func (f *fleet) confirmedBy(clusters string) {
	f.t.Helper()
	eventually(f.t, "confirmed by "+clusters, func() error {
		if text := message(f.get(), workv1alpha1.ConditionProgressing); !strings.Contains(text, "confirmed by "+clusters) {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
}

// never fails if a cluster gets a version within a duration.
func (f *fleet) never(short, version string, during time.Duration) {
	f.t.Helper()
	always(f.t, short+" doesn't get "+version, during, func() error {
		if slices.Contains(f.reached(version), short) {
			return fmt.Errorf("it has: %v", f.versions())
		}
		return nil
	})
}

func (f *fleet) delete() {
	f.t.Helper()
	require.NoError(f.t, f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Delete(f.t.Context(), f.name, metav1.DeleteOptions{}))
}

// gone waits until only works of these clusters are left.
func (f *fleet) gone(except ...string) {
	f.t.Helper()
	eventually(f.t, "all is gone", func() error {
		_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Get(f.t.Context(), f.name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the ManifestWorkReplicaSet: %v", err)
		}
		works := f.works()
		for i := range works {
			if short := f.short(works[i].Namespace); works[i].DeletionTimestamp == nil || !slices.Contains(except, short) {
				return fmt.Errorf("the work of %s (being deleted: %v)", short, works[i].DeletionTimestamp)
			}
		}
		if revisions := f.recorded(); len(revisions) > 0 {
			return fmt.Errorf("revisions %v", revisions)
		}
		return nil
	})
}
