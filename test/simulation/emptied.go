package simulation

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// emptied is a placement whose decisions are being written.
type emptied struct {
	since    time.Time
	clusters sets.Set[string]
}

// noteEmptied records that the decisions of a placement are about to be written.
func (w *World) noteEmptied(placement string) {
	if _, already := w.emptied[placement]; already {
		return
	}
	var decisions []*clusterv1beta1.PlacementDecision
	for _, object := range w.API.List(Decisions, Namespace, nil) {
		decisions = append(decisions, as[clusterv1beta1.PlacementDecision](w.API, object))
	}
	// For the hub, a cluster that it did not see selected in the meantime had already left.
	seen := decidedFor(placement, w.seenDecisions())
	w.emptied[placement] = emptied{since: w.Clock.Now(), clusters: decidedFor(placement, decisions).Intersection(seen)}
}

// checkRemoved checks that no work is deleted while OCM writes the decisions that select its cluster.
func (w *World) checkRemoved(name string) error {
	cluster, work, _ := strings.Cut(name, "/")
	owner := w.seen()
	if owner == nil || !owner.DeletionTimestamp.IsZero() || work != Name || w.adversaries.ever.Has(cluster) {
		return nil
	}
	for _, ref := range owner.Spec.PlacementRefs {
		if known, unwritten := w.emptied[ref.Name]; unwritten && known.clusters.Has(cluster) && w.Clock.Since(known.since) < 3*time.Minute {
			return fmt.Errorf("the work of %s is deleted while the decisions of placement %s are being written", cluster, ref.Name)
		}
	}
	return nil
}
