package rollout_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// scene is a snapshot with many placementRefs and many works.
type scene struct {
	name string
	make func(refs, works int) *rollout.Snapshot
}

func clusterNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("c%05d", i)
	}
	return names
}

func worksOf(clusters []string, of func(i int) []rt.WorkOption) []work.Work {
	works := make([]work.Work, 0, len(clusters))
	for i, cluster := range clusters {
		works = append(works, rt.Work(cluster, of(i)...))
	}
	return works
}

// manyRefs are the scenes in which a step of a decision could visit every work for each placementRef, or the reverse.
var manyRefs = []scene{
	{"each-selects-some", func(refs, works int) *rollout.Snapshot {
		clusters := clusterNames(works)
		s := rt.Snapshot(rt.Now(time.Hour), rt.Works(worksOf(clusters, func(i int) []rt.WorkOption {
			return []rt.WorkOption{rt.AtRevision("aaa"), rt.OfPlacement(fmt.Sprintf("p%04d", i*refs/works)), rt.Succeeded(time.Second)}
		})...))
		for r := range refs {
			s.Refs = append(s.Refs, rt.Ref(fmt.Sprintf("p%04d", r), rt.Progressive("50%"), rt.Deadline("10m"), rt.AbortAll(),
				rt.Clusters(clusters[r*works/refs:(r+1)*works/refs]...)))
		}
		return s
	}},
	{"the-last-selects-all", func(refs, works int) *rollout.Snapshot {
		clusters := clusterNames(works)
		last := fmt.Sprintf("p%04d", refs-1)
		s := rt.Snapshot(rt.Now(time.Hour), rt.Works(worksOf(clusters, func(int) []rt.WorkOption {
			return []rt.WorkOption{rt.AtRevision("bbb"), rt.OfPlacement(last), rt.WrittenAt(0), rt.InFlight(time.Second)}
		})...))
		for r := range refs - 1 {
			s.Refs = append(s.Refs, rt.Ref(fmt.Sprintf("p%04d", r)))
		}
		s.Refs = append(s.Refs, rt.Ref(last, rt.Progressive("50%"), rt.Deadline("2h"), rt.Clusters(clusters...)))
		return s
	}},
	{"none-selects-any", func(refs, works int) *rollout.Snapshot {
		last := fmt.Sprintf("p%04d", refs-1)
		s := rt.Snapshot(rt.Now(time.Hour), rt.Aborted(), rt.Works(worksOf(clusterNames(works), func(int) []rt.WorkOption {
			return []rt.WorkOption{rt.AtRevision("bbb"), rt.OfPlacement(last), rt.WrittenAt(0), rt.Succeeded(time.Second), rt.Unselected(time.Minute)}
		})...))
		for r := range refs {
			s.Refs = append(s.Refs, rt.Ref(fmt.Sprintf("p%04d", r), rt.Slices(2)))
		}
		return s
	}},
	{"groups-of-one", func(refs, works int) *rollout.Snapshot {
		clusters := clusterNames(works)
		s := rt.Snapshot(rt.Now(time.Hour), rt.Works(worksOf(clusters, func(i int) []rt.WorkOption {
			return []rt.WorkOption{rt.AtRevision("bbb"), rt.OfPlacement("p0000"), rt.InGroup(fmt.Sprintf("%d/g%d", i, i)), rt.WrittenAt(0), rt.Succeeded(time.Second)}
		})...))
		for r := range refs {
			options := []rt.RefOption{rt.PerGroup(), rt.Deadline("2h")}
			for g := range works / 2 {
				if g%refs == r { // The other half is leaving.
					options = append(options, rt.GroupAt(int32(g), fmt.Sprintf("g%d", g), clusters[g]), rt.MandatoryAt(int32(g)))
				}
			}
			s.Refs = append(s.Refs, rt.Ref(fmt.Sprintf("p%04d", r), options...))
		}
		return s
	}},
	{"retries-of-refused-works", func(refs, works int) *rollout.Snapshot {
		clusters := clusterNames(works)
		s := rt.Snapshot(rt.Now(time.Hour), rt.Works(worksOf(clusters, func(int) []rt.WorkOption {
			return []rt.WorkOption{rt.AtRevision("aaa"), rt.OfPlacement("p0000"), rt.Succeeded(time.Second)}
		})...))
		s.Rejected = map[string]rollout.Rejection{}
		for _, cluster := range clusters[:works/2] {
			s.Rejected[cluster] = rollout.Rejection{Since: s.Now.Add(-time.Minute), TriedAt: s.Now.Add(-time.Minute), Message: "no"}
		}
		s.Refs = append(s.Refs, rt.Ref("p0000", rt.Progressive("100%"), rt.Deadline("2h"), rt.MaxFailures("100%"), rt.Clusters(clusters...)))
		for r := range refs - 1 {
			s.Refs = append(s.Refs, rt.Ref(fmt.Sprintf("p%04d", r+1)))
		}
		return s
	}},
}

// allocated returns the number of bytes that a decision allocates.
func allocated(s *rollout.Snapshot) (bytes float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rollout.Decide(s)
	placement.Sliced(s.Refs)
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// TestRefsAndWorksAddUp: the memory that a decision allocates grows with the sum of the placementRefs and works, and not with their
// product.
func TestRefsAndWorksAddUp(t *testing.T) {
	for _, scene := range manyRefs {
		t.Run(scene.name, func(t *testing.T) {
			few, many := scene.make(8, 400), scene.make(64, 3200)
			rollout.Decide(few) // Some memory is allocated only once.
			require.Less(t, allocated(many)/allocated(few), 12.0, "8 times the placementRefs and works")
		})
	}
}
