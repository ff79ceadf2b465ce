package integration

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/internal/goldentest"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

// TestWalk: the engineer on call is woken up while half of 20 clusters are sick. The screens show what is wrong and why, what happens next
// and when, and which commands to type. Read a changed file as that engineer would.
func TestWalk(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "walk")
	require.NoError(t, w.fleet.Namespace(t.Context(), sandbox.HubNamespace))
	stop := w.startVersion(t, "v9.0.0")
	w.recorded(t, "v9.0.0", "")
	slow := walking(w, t, "slow", "25%", "10m")
	fast := walking(w, t, "fast", "50%", "40s")
	nextSecond(t)
	slow.fallsSick("c04", "c05")
	fast.fallsSick("c04", "c05", "c06", "c07", "c08", "c09", "c10")
	slow.quiet()
	fast.quiet()
	stop() // The screens show the time before that: no deadline passes while they are read.
	slow.shows("walk-10m", slow.began().Add(30*time.Second), true)
	began := fast.began()
	fast.shows("walk-40s", began.Add(30*time.Second), true)
	fast.shows("walk-hub-stopped", began.Add(time.Hour), false)

	maps, record := w.kube.CoreV1().ConfigMaps(sandbox.HubNamespace), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: plan.ConfigMap}}
	record.Data = map[string]string{plan.KeyVersion: "v9.9.0", plan.KeySnapshots: "v9.8.0"}
	_, err := maps.Update(t.Context(), record, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.startVersion(t, "v9.0.0")
	eventually(t, "the hub refuses", func() error {
		if view.RefusalOf(fast.get()) == "" {
			return errors.New(describe(fast.get()))
		}
		return nil
	})
	refused := meta.FindStatusCondition(fast.get().Status.Conditions, workv1alpha1.ConditionStalled).LastTransitionTime
	fast.shows("walk-hub-refuses", refused.Add(25*time.Second), true)

	require.NoError(t, maps.Delete(t.Context(), plan.ConfigMap, metav1.DeleteOptions{}))
	fast.aborted()
	fast.has("c10", "v1")
	fast.quiet()
	fast.shows("walk-aborted", fast.get().Status.AbortedTime.Add(30*time.Second), true)
}

// walking returns a fleet of 20 clusters that run v1.
func walking(w *world, t *testing.T, name, concurrency, deadline string) *fleet {
	t.Helper()
	f := &fleet{t: t, w: w, name: "web", namespace: name}
	require.NoError(t, w.fleet.Namespace(t.Context(), name))
	for i := range 20 {
		f.join(fmt.Sprintf("c%02d", i+1))
	}
	f.place("production", f.clusters)
	strategy := progressive(20, deadline, 6, abortAll)
	f.create("v1", ref("production", strategy))
	f.complete()
	f.edit(func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.PlacementRefs[0].RolloutStrategy.Progressive.MaxConcurrency = intstr.FromString(concurrency)
	})
	return f
}

// fallsSick rolls out v2: c01 and c11 are offline, a policy on the hub rejects the ManifestWork of c02, and c03 rejects the manifests. Some
// clusters are degraded once all have v2.
func (f *fleet) fallsSick(degraded ...string) {
	f.t.Helper()
	for _, short := range f.clusters[:11] {
		f.agentsReport(short, "v2", silent)
	}
	f.agentsReport("c01", "v1", silent) // It does not respond after an abort either.
	f.agentsReport("c11", "v1", silent)
	f.forbid("c02")
	f.because("image v2")
	f.update("v2")
	for _, short := range degraded {
		f.has(short, "v2")
	}
	f.agentsReport("c03", "v2", overQuota)
	for _, short := range degraded {
		f.agentsReport(short, "v2", notPulled)
	}
	eventually(f.t, "the rejection is recorded", func() error {
		if set := f.get(); len(set.Status.Rejections) == 0 {
			return errors.New(describe(set))
		}
		return nil
	})
}

// began returns the time at which the rollout of v2 began. The hub writes v2 after that: on a slow machine, some
// seconds later.
func (f *fleet) began() time.Time {
	f.t.Helper()
	set := f.get()
	for i := range set.Status.Revisions {
		if listed := &set.Status.Revisions[i]; listed.Hash == set.Status.UpdateRevision {
			return listed.LastRolledOutTime.Time
		}
	}
	require.Fail(f.t, describe(set))
	return time.Time{}
}

// shows compares the screens at a time with a golden file. If leads is true, the hub holds the Lease at that time.
func (f *fleet) shows(name string, at time.Time, leads bool) {
	f.t.Helper()
	if leads {
		f.renews(at.Add(-5 * time.Second))
	}
	kubeconfig, err := f.w.plane.Kubeconfig(f.t.TempDir() + "/kubeconfig")
	require.NoError(f.t, err)
	var shown strings.Builder
	for _, command := range []string{
		"get web", "why web " + f.cluster("c04"), "why web " + f.cluster("c02"), "why web " + f.cluster("c01"), "list", "status web --timeout 3s", "plan web",
	} {
		var out bytes.Buffer
		code := plugin.Run(f.t.Context(), append(strings.Fields(command), "--kubeconfig", kubeconfig, "-n", f.namespace),
			genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out},
			plugin.WithClock(func() time.Time { return at }), plugin.WithAges(walkAge))
		fmt.Fprintf(&shown, "$ kubectl mwrs %s\n%s", command, stable(out.String()))
		if code != 0 {
			fmt.Fprintf(&shown, "(exit code %d)\n", code)
		}
		shown.WriteByte('\n')
	}
	goldentest.Equal(f.t, "screens/"+name+".txt", shown.String(), unordered)
}

// walkAge rounds an age, or a remaining time, so that it is the same on a machine of any speed.
func walkAge(d time.Duration) string {
	for _, step := range []struct {
		below time.Duration
		text  string
	}{{20 * time.Second, "10s"}, {31 * time.Second, "30s"}, {9 * time.Minute, "1m"}, {30 * time.Minute, "9m30s"}} {
		if d < step.below {
			return step.text
		}
	}
	return "1h"
}

// renews writes the Lease of the leader. The hubs of these tests do not need a Lease.
func (f *fleet) renews(at time.Time) {
	f.t.Helper()
	leases := f.w.kube.CoordinationV1().Leases(sandbox.HubNamespace)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "work-manager-lock"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("work-controller-1"), RenewTime: ptr.To(metav1.NewMicroTime(at)), LeaseDurationSeconds: ptr.To[int32](60),
	}}
	_ = leases.Delete(f.t.Context(), lease.Name, metav1.DeleteOptions{})
	_, err := leases.Create(f.t.Context(), lease, metav1.CreateOptions{})
	require.NoError(f.t, err)
}
