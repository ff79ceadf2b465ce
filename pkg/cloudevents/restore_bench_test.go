package cloudevents

import (
	"fmt"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
)

// reportedBy is what the agent of a cluster reports of a work that succeeded.
func (w *wire) reportedBy(b *testing.B, cluster string, template *workv1.ManifestWorkSpec) cloudevents.Event {
	b.Helper()
	work := owned(cluster, "v1")
	work.Spec, work.UID, work.Generation = *template, workUID(cluster, "web"), 1
	conditions := []metav1.Condition{condition(workv1.WorkApplied, 1), condition(workv1.WorkAvailable, 1)}
	work.Status.Conditions = conditions
	for i := range template.Workload.Manifests {
		work.Status.ResourceStatus.Manifests = append(work.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
			ResourceMeta: workv1.ManifestResourceMeta{Ordinal: int32(i), Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Name: fmt.Sprint(i)}, //nolint:gosec // a few manifests
			Conditions:   conditions,
		})
	}
	return w.report(b, work)
}

// BenchmarkRestore is what a hub that was restarted does with the reports of 10,000 agents: after that it knows its works again.
func BenchmarkRestore(b *testing.B) {
	const n = 10_000
	template := fleet.Template(1)
	for b.Loop() {
		b.StopTimer()
		r := newRig(b, fakeOwners{"ns/web": nil, "ns/web/v1": &template})
		r.wire.unrecorded()
		events := make([]cloudevents.Event, n)
		for i := range events {
			events[i] = r.wire.reportedBy(b, fleet.Cluster(i), &template)
		}
		b.StartTimer()
		for i := range events {
			r.wire.sends(events[i], fleet.Cluster(i))
		}
		r.eventually("all works are known", func() bool { return len(r.missing(map[string]int{"ns.web": n})) == 0 })
	}
}
