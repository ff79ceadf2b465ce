package rollout_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

var (
	clusters = []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6"}
	groups   = []string{"canary", "west", "east"}
)

// drawer draws the parts of a snapshot. The result may be impossible in practice.
type drawer struct {
	t *rapid.T
	s *rollout.Snapshot
	// calm makes problems rare.
	calm bool
}

// one draws true once in a given number of times, and less often in a calm snapshot.
func (d *drawer) one(label string, in int) bool {
	if d.calm {
		in *= 8
	}
	return rapid.IntRange(1, in).Draw(d.t, label) == in
}

func (d *drawer) since(label string) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 20 * second, minute, 4 * minute, 9 * minute, 10 * minute}).Draw(d.t, label)
}

// drawSnapshot draws a snapshot, ten minutes after Epoch.
func drawSnapshot(t *rapid.T) *rollout.Snapshot {
	d := &drawer{t: t, s: rt.Snapshot(rt.Now(10*minute), rt.Older("ccc"))}
	d.calm = rapid.Bool().Draw(t, "calm")
	d.drawRevisions()
	for i := range rapid.IntRange(1, 3).Draw(t, "refs") {
		ref := drawRef(t, fmt.Sprintf("p%d", i))
		ref.Field = fmt.Sprintf("spec.placementRefs[%d]", i)
		switch {
		case d.one("missing", 10):
			ref.Placement = nil
		case d.one("expecting", 10):
			ref.Placement.Selected++
		}
		d.s.Refs = append(d.s.Refs, ref)
	}
	d.s.Settle = rapid.SampledFrom([]time.Duration{0, 3 * second}).Draw(t, "settle")
	d.s.Gap = rollout.UnknownGap(rapid.SampledFrom([]time.Time{rt.At(-minute), rt.At(9*minute + 30*second)}).Draw(t, "gap"))
	if d.one("short gap", 6) {
		d.s.Gap = rollout.Gap{End: rt.At(9*minute + 50*second), Length: 30 * second}
	}
	if d.one("broker", 4) {
		d.s.Heard = map[string]time.Time{}
	}
	d.s.Paused, d.s.Records.Lost = d.one("paused", 8), d.one("lost", 12)
	for _, cluster := range append([]string{"c7"}, clusters...) {
		d.drawCluster(cluster)
	}
	return d.s
}

func (d *drawer) drawRevisions() {
	s := d.s
	switch rapid.IntRange(0, 7).Draw(d.t, "kind of rollout") {
	case 0:
		s.Current, s.Absent = nil, &rollout.Absence{Cause: rollout.NeverComplete}
	case 1:
		s.Aborted = true
	case 2:
		s.Current = s.Update
	case 3:
		s.Current, s.Update.CountsFrom, s.Update.Underway = s.Update, rt.At(5*minute), true
	case 4:
		s.Undo, s.FastUndo, s.Update.CountsFrom = true, true, rt.At(minute)
	case 5:
		s.Undo = true
	}
	if d.one("handover", 3) {
		s.Handover = &rollout.Handover{Combine: combine}
	}
}

func (d *drawer) drawCluster(cluster string) {
	s, t := d.s, d.t
	if s.Heard != nil && !d.one("silent agent", 3) {
		s.Heard[cluster] = rt.At(d.since("heard"))
	}
	placement := rapid.SampledFrom([]string{"p0", "p0", "p1", "p2"}).Draw(t, "of placement")
	if d.one("rejected", 5) {
		at := d.since("rejected since")
		if s.Rejected == nil {
			s.Rejected = map[string]rollout.Rejection{}
		}
		s.Rejected[cluster] = rollout.Rejection{Since: rt.At(at), Message: "no quota"}
		if !d.one("never tried", 3) {
			s.Rejected[cluster] = rollout.Rejection{Since: rt.At(at), TriedAt: rt.At(max(at, d.since("tried at"))), Message: "no quota"}
		}
	}
	record := rollout.Failure{Placement: placement, Since: rt.At(d.since("recorded")), Reason: rapid.SampledFrom([]workv1alpha1.FailureReason{
		workv1alpha1.FailureDeadlineExceeded, workv1alpha1.FailureDegraded, workv1alpha1.FailureFlapping, workv1alpha1.FailureRejected,
		workv1alpha1.FailureTerminationTimedOut,
	}).Draw(t, "reason")}
	switch {
	case d.one("failure", 8):
		put(&s.Records.Failures, cluster, record)
	case d.one("rejection", 16):
		put(&s.Records.Rejections, cluster, record)
	case d.one("halt", 16):
		put(&s.Records.Halted, placement, record.Since)
	case d.one("retried", 16):
		put(&s.Retried, cluster, record.Since)
	}
	if !d.one("no work", 5) {
		s.Works = append(s.Works, rt.Work(cluster, d.drawWork(placement)...))
	}
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

func (d *drawer) drawWork(placement string) []rt.WorkOption {
	t := d.t
	hash := rapid.SampledFrom([]string{"aaa", "bbb", "bbb", "bbb"}).Draw(t, "revision")
	if d.one("older", 6) {
		hash = "ccc"
	}
	at := d.since("written")
	options := []rt.WorkOption{
		rt.AtRevision(hash), rt.WrittenAt(at), rt.OfPlacement(placement),
		rt.InGroup(rapid.SampledFrom([]string{"0/canary", "1/west", "2/east", "5/gone"}).Draw(t, "group")),
	}
	switch {
	case d.one("edited", 10):
		options = append(options, rt.Edited())
	case d.one("another hub's", 10):
		options = append(options, rt.NeverWritten(), func(w *work.Work) { delete(w.Object.Labels, workv1alpha1.LabelControllerHash) })
	case d.one("ran to completion", 10):
		options = append(options, rt.IsComplete(at))
	}
	from := max(at, d.since("reported"))
	switch rapid.IntRange(0, 9).Draw(t, "reports") {
	case 3:
		options = append(options, rt.Degraded(from))
	case 4, 5:
		options = append(options, rt.InFlight(from))
	case 6:
	default:
		options = append(options, rt.Succeeded(from), rt.SeenSucceeding(from))
		if d.one("settled", 2) {
			options = append(options, rt.SettledAt(from+4*second))
		}
	}
	if d.one("deleted", 6) {
		options = append(options, rt.DeletedAt(d.since("deleted at")))
	}
	if d.one("turned", 8) {
		options = append(options, rt.StateChangedAt(from), rt.WatchedSince(at))
	}
	if d.one("unselected", 2) {
		options = append(options, rt.Unselected(d.since("unselected since")))
	}
	if d.s.Handover != nil && d.one("keeps objects", 2) {
		options = append(options, rt.Annotated(workv1alpha1.AnnotationKeptRevision, "aaa"), func(w *work.Work) {
			w.Combined = &handover.Combined{Digest: w.Digest, Manifests: 1, Template: d.s.Update.Template}
			w.Object.Status.Conditions = nil
		})
		options = append(options, beside(rapid.SampledFrom([]report{succeeding, succeeding, succeeding, degraded, silent}).Draw(t, "own manifests"), from)...)
	}
	return options
}

// drawRef draws a placementRef whose Placement selects some clusters.
func drawRef(t *rapid.T, name string) placement.Ref {
	size := func(label string) any {
		return rapid.SampledFrom([]any{0, 1, 2, 3, 20, "0%", "25%", "50%", "100%"}).Draw(t, name+" "+label)
	}
	members := make([][]string, len(groups))
	for _, cluster := range clusters {
		if group := rapid.IntRange(-2, len(groups)-1).Draw(t, name+" selects "+cluster); group >= 0 {
			members[group] = append(members[group], cluster)
		}
	}
	var options []rt.RefOption
	for i, group := range groups {
		options = append(options, rt.GroupAt(int32(i), group, members[i]...))
	}
	switch rapid.SampledFrom([]string{"All", "Progressive", "PerGroup"}).Draw(t, name+" strategy") {
	case "Progressive":
		options = append(options, rt.Progressive(size("maxConcurrency")))
	case "PerGroup":
		options = append(options, rt.PerGroup())
	default:
		options = append(options, rt.All())
	}
	ref := rt.Ref(name, append(options,
		rt.MaxFailures(size("maxFailures")),
		rt.Deadline(rapid.SampledFrom([]string{"None", "30s", "5m"}).Draw(t, name+" progressDeadline")),
		rt.Soak(rapid.SampledFrom([]time.Duration{0, 10 * second}).Draw(t, name+" minSuccessTime")))...)
	if ref.Strategy.All == nil {
		if i := rapid.IntRange(-2, len(groups)-1).Draw(t, name+" mandatory"); i >= 0 {
			if rapid.Bool().Draw(t, name+" mandatory by name") {
				rt.Mandatory(groups[i])(&ref)
			} else {
				rt.MandatoryAt(int32(i))(&ref)
			}
		}
	}
	if rapid.Bool().Draw(t, name+" AbortAll") {
		rt.AbortAll()(&ref)
	}
	return ref
}
