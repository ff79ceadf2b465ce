package rollout_test

import (
	"fmt"
	"testing"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestPercent: a percentage is rounded up, but only once: in floating point, 7% of 100 would be 8.
func TestPercent(t *testing.T) {
	clusters := make([]string, 100)
	for i := range clusters {
		clusters[i] = fmt.Sprintf("c%03d", i)
	}
	for percent := range 100 {
		size := fmt.Sprintf("%d%%", percent+1)
		p := decide(rt.Now(10*minute), rt.Refs(rt.Ref("p1", rt.Progressive(size), rt.Clusters(clusters...))))
		if len(p.Writes) != percent+1 {
			t.Errorf("%s of 100 clusters are %d", size, len(p.Writes))
		}
		works := make([]work.Work, percent+1)
		for i := range works {
			works[i] = failed(clusters[i])
		}
		allowed := rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.MaxFailures(fmt.Sprintf("%d%%", percent)), rt.Clusters(clusters...)))
		if p := decide(rt.Now(10*minute), allowed, rt.Works(works...)); !p.Refs[0].Failed {
			t.Errorf("%d failures of 100 are tolerated by maxFailures %d%%", percent+1, percent)
		}
	}
}
