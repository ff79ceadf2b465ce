package simulation

import (
	"fmt"
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/util/rand"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Downgrade replaces the hub with one without revisions, whose CRD drops the fields about revisions from the status.
func (w *World) Downgrade() {
	w.Away = true
	if w.Object() != nil {
		w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{
			"collisionCount": nil, "currentRevision": nil, "updateRevision": nil, "abortedTime": nil,
		}}, true)
	}
	w.Tell("admin: downgrades")
}

// Upgrade replaces the hub without revisions with this one.
func (w *World) Upgrade() {
	w.Away = false
	w.Restart()
	w.Tell("admin: upgrades")
}

// Upstream writes a version to clusters as the hub without revisions does: only the spec and its own labels, and no annotations. It
// continues with the existing work of a cluster, regardless of its name.
func (w *World) Upstream(placement, version string, clusters ...string) {
	for _, cluster := range clusters {
		labels := map[string]any{
			workv1alpha1.LabelReplicaSet:     workv1alpha1.OwnerLabelValue(Namespace, Name),
			workv1alpha1.LabelPlacement:      placement,
			workv1alpha1.LabelControllerHash: nil,
		}
		work := &workv1.ManifestWork{Spec: Template(version)}
		work.Namespace, work.Name = cluster, w.upstreamName(cluster)
		_, _ = w.API.Create(Works, from(work))
		w.patch(Works, cluster, work.Name, map[string]any{
			"metadata": map[string]any{"labels": labels, "annotations": nil}, "spec": from(&work.Spec).Object,
		}, false)
	}
	w.Tell("upstream: writes %s to %v", version, slices.Sorted(slices.Values(clusters)))
}

// upstreamName returns the name of the work of a cluster, or the one under which the hub without revisions creates it: the name of the
// ManifestWorkReplicaSet. In OCM 1.3, the API server appends five characters of this alphabet.
func (w *World) upstreamName(cluster string) string {
	for _, work := range w.Works() {
		if work.Namespace == cluster {
			return work.Name
		}
	}
	if !w.GeneratesNames {
		return Name
	}
	hasher := fnv.New32a()
	_, _ = hasher.Write([]byte(cluster))
	return Name + (rand.SafeEncodeString(fmt.Sprint(hasher.Sum32())) + "xxxxx")[:5]
}
