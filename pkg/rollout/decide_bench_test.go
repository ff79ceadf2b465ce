package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// fleetOf returns a snapshot of n clusters under one placementRef, each with a work of one kind.
func fleetOf(n int, ref []rt.RefOption, w func(i int) []rt.WorkOption, options ...rt.SnapshotOption) *rollout.Snapshot {
	clusters := make([]string, 0, n)
	works := make([]work.Work, 0, n)
	for i := range n {
		cluster := fmt.Sprintf("c%05d", i)
		clusters = append(clusters, cluster)
		works = append(works, rt.Work(cluster, w(i)...))
		works[i].Read() // As in the controller.
	}
	ref = append(append([]rt.RefOption{}, ref...), rt.Clusters(clusters...))
	return rt.Snapshot(append(options, rt.Now(time.Hour), rt.Refs(rt.Ref("p1", ref...)), rt.Works(works...))...)
}

// BenchmarkDecide measures the decision of one pass.
func BenchmarkDecide(b *testing.B) {
	updated := func(options ...rt.WorkOption) func(int) []rt.WorkOption {
		return func(int) []rt.WorkOption {
			return append([]rt.WorkOption{rt.AtRevision("bbb"), rt.WrittenAt(0)}, options...)
		}
	}
	// One cluster is stuck; the others have succeeded.
	oneHangs := func(i int) []rt.WorkOption {
		if i == 0 {
			return updated(rt.InFlight(time.Second))(i)
		}
		return updated(rt.Succeeded(time.Second))(i)
	}
	abortAll := []rt.RefOption{rt.All(), rt.Deadline("10m"), rt.AbortAll()}
	for _, scene := range []struct {
		name    string
		ref     []rt.RefOption
		work    func(int) []rt.WorkOption
		options []rt.SnapshotOption
		check   func(require.TestingT, *rollout.Plan, int)
	}{
		{
			"quiet", []rt.RefOption{rt.All()}, updated(rt.Succeeded(time.Second)), []rt.SnapshotOption{rt.Rolling("bbb", "bbb")},
			func(t require.TestingT, p *rollout.Plan, _ int) { require.True(t, p.Complete) },
		},
		{
			"update-all-begins", []rt.RefOption{rt.All()}, func(int) []rt.WorkOption { return []rt.WorkOption{rt.AtRevision("aaa"), rt.Succeeded(time.Second)} }, nil,
			func(t require.TestingT, p *rollout.Plan, n int) { require.Len(t, p.Writes, n) },
		},
		{
			"update-all-in-flight", []rt.RefOption{rt.All()}, updated(rt.InFlight(time.Second)), nil,
			func(t require.TestingT, p *rollout.Plan, n int) { require.Equal(t, n, p.Counts[rollout.PhaseInFlight]) },
		},
		{
			"progressive-half-way", []rt.RefOption{rt.Progressive("10%")}, func(i int) []rt.WorkOption {
				if i%2 == 0 {
					return updated(rt.Succeeded(time.Second))(i)
				}
				return []rt.WorkOption{rt.AtRevision("aaa"), rt.Succeeded(time.Second)}
			}, nil,
			func(t require.TestingT, p *rollout.Plan, n int) { require.Len(t, p.Writes, n/10) },
		},
		{
			"abort", abortAll, oneHangs, nil,
			func(t require.TestingT, p *rollout.Plan, _ int) { require.NotNil(t, p.Abort) },
		},
		{
			"abort-goes-back", abortAll, oneHangs, []rt.SnapshotOption{rt.Aborted()},
			func(t require.TestingT, p *rollout.Plan, n int) { require.Len(t, p.Writes, n) },
		},
	} {
		for _, n := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", scene.name, n), func(b *testing.B) {
				s := fleetOf(n, scene.ref, scene.work, scene.options...)
				scene.check(b, rollout.Decide(s), n)
				b.ReportAllocs()
				for b.Loop() {
					rollout.Decide(s)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/work")
			})
		}
	}
}
