package rollout_test

import (
	"slices"
	"testing"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// TestSkip: a skipped cluster takes no slot, does not keep a group waiting, and is not part of any total.
func TestSkip(t *testing.T) {
	skip := func(ref *placement.Ref) { ref.Strategy.UnavailableClusters = workv1alpha1.SkipUnavailable }
	for name, tc := range map[string]struct {
		ref      placement.Ref
		works    rt.SnapshotOption
		lost     []string
		written  []string
		complete bool
	}{
		"the others complete":         {ref: rt.Ref("p1", rt.Progressive(1), skip, rt.Clusters("c1", "c2")), works: rt.Works(old("c1"), done("c2")), lost: []string{"c1"}, complete: true},
		"nothing is left":             {ref: rt.Ref("p1", rt.Progressive(1), skip, rt.Clusters("c1")), works: rt.Works(old("c1")), lost: []string{"c1"}},
		"the slot goes to the next":   {ref: rt.Ref("p1", rt.Progressive(1), skip, rt.Clusters("c1", "c2")), works: rt.Works(old("c1"), old("c2")), lost: []string{"c1"}, written: []string{"c2"}},
		"it counts without the field": {ref: rt.Ref("p1", rt.Progressive(1), rt.Clusters("c1", "c2")), works: rt.Works(old("c1"), old("c2")), lost: []string{"c1"}, written: []string{"c1"}},
		"its group keeps no turn": {
			ref:   rt.Ref("p1", rt.PerGroup(), skip, rt.Group("a", "c1"), rt.Group("b", "c2")),
			works: rt.Works(old("c1"), old("c2")), lost: []string{"c1"}, written: []string{"c2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(rt.Now(10*minute), rt.Refs(tc.ref), tc.works, rt.Unavailable(0, tc.lost...))
			var written []string
			for i := range p.Writes {
				written = append(written, p.Writes[i].Cluster)
			}
			if !slices.Equal(written, tc.written) || p.Complete != tc.complete || p.Stalled {
				t.Errorf("writes %v, complete %v, stalled %v: %+v", written, p.Complete, p.Stalled, p.Refs)
			}
		})
	}
}
