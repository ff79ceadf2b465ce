package forecast

import (
	"maps"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Wave is a set of clusters that get the update revision at the same time if every cluster before them succeeds.
type Wave struct {
	// Now is true for a wave that the hub writes now. Any other wave waits for clusters before it.
	Now bool `json:"now"`
	// Parts groups the clusters of the wave by placementRef and decision group, in the order of the writes.
	Parts []WavePart `json:"parts"`
}

// WavePart is the part of a wave that belongs to one decision group of a Placement.
type WavePart struct {
	Placement string `json:"placement"`
	// Group is "<index>/<name>".
	Group    string   `json:"group"`
	Clusters []string `json:"clusters"`
}

// maxWaves bounds the number of waves: each wave requires a decision about the whole fleet.
const maxWaves = 200

// Waves returns the waves in which a rollout continues, from a snapshot that is not aborted. The first wave may be written now, or as soon
// as a pause ends. Before each later wave, every cluster that has the revision succeeds at once, except the failed clusters: degraded
// clusters recover, the API server accepts every write, and users approve every group. If nothing succeeds, the next window opens. The
// waves end when the hub has nothing more to write, or at the 200th wave.
func Waves(s *rollout.Snapshot) []Wave {
	w := newWaves(s)
	now := w.s // The unchanged snapshot, without the assumption that rejected writes succeed.
	now.Rejected, now.Records, now.Approved, now.Gated, now.Gap = s.Rejected, s.Records, s.Approved, s.Gated, s.Gap
	begins := rollout.Decide(&now).RollsOut()
	var found []Wave
	for step := range maxWaves {
		plan := rollout.Decide(&w.s)
		if plan.Abort != nil {
			return found
		}
		wave := w.write(plan)
		if len(wave.Parts) > 0 {
			wave.Now = step == 0 && begins
			found = append(found, wave)
		}
		if !w.succeed(plan) && !w.open(plan) {
			return found
		}
	}
	return found
}

// waves is a fleet in which every cluster succeeds.
type waves struct {
	s rollout.Snapshot
	// step is how far the clock moves between two waves. It is long enough for successes to soak.
	step  time.Duration
	rules Rules
	// reached are the clusters that a wave has reached.
	reached map[string]bool
}

func newWaves(s *rollout.Snapshot) *waves {
	w := &waves{s: *s.AssumeSettled(), step: time.Second, reached: map[string]bool{}}
	w.s.Gated = false // Gates open with the success.
	w.s.Paused, w.s.Handover, w.s.Rejected, w.s.Records.Rejections = false, nil, nil, nil
	w.rules = Rules{Degraded: s.Update.ReportsDegraded}
	if s.Update.Template != nil {
		w.rules.Progressing = HasRule(s.Update.Template, workv1.ManifestProgressing)
	}
	w.s.Approved = approvals(s.Refs)
	for i := range s.Refs {
		for g := range s.Refs[i].Strategy.Groups {
			w.step = max(w.step, s.Refs[i].Strategy.Groups[g].Bake())
		}
	}
	for _, limits := range rollout.LimitsOf(s) {
		w.step = max(w.step, limits.Soak+time.Second)
	}
	return w
}

// approvals returns an approval for every group that the placementRefs list.
func approvals(refs []placement.Ref) map[string]bool {
	all := map[string]bool{}
	for i := range refs {
		for g := range refs[i].Strategy.Groups {
			all[refs[i].Strategy.Groups[g].Label()] = true
		}
	}
	return all
}

// write executes a plan, and returns the clusters that get the revision for the first time.
func (w *waves) write(plan *rollout.Plan) Wave {
	var wave Wave
	at := make(map[string]int, len(w.s.Works))
	for i := range w.s.Works {
		at[w.s.Works[i].Cluster()] = i
	}
	for i := range plan.Writes {
		write := &plan.Writes[i]
		c := cluster{site: site{name: write.Cluster}}
		if write.Work == nil {
			c.empty(w.s.Now)
			w.s.Works = append(w.s.Works, work.Work{DeletionCounts: true, Object: &c.object})
			at[c.name] = len(w.s.Works) - 1
		}
		c.work = &w.s.Works[at[c.name]]
		c.work.Object = c.work.Object.DeepCopy()
		if c.work.Object.Annotations == nil {
			c.work.Object.Annotations = map[string]string{}
		}
		c.work.Combined, c.work.AcceptedAs = nil, ""
		c.apply(write, w.s.Now)
		if write.Revision != nil && write.Action != rollout.Adopt && !write.Trim && !write.StandIn && !w.reached[c.name] {
			w.reached[c.name] = true
			wave.add(write)
		}
	}
	return wave
}

func (w *Wave) add(write *rollout.Write) {
	for i := range w.Parts {
		if part := &w.Parts[i]; part.Placement == write.Placement && part.Group == write.Group {
			part.Clusters = append(part.Clusters, write.Cluster)
			return
		}
	}
	w.Parts = append(w.Parts, WavePart{Placement: write.Placement, Group: write.Group, Clusters: []string{write.Cluster}})
}

// succeed lets every cluster with the update revision succeed, and reports whether any cluster did.
func (w *waves) succeed(plan *rollout.Plan) bool {
	w.s.Records = rollout.Records{Failures: maps.Clone(plan.Records.Failures)}
	changed := false
	for i := range w.s.Works {
		mw := &w.s.Works[i]
		_, failed := w.s.Records.Failures[mw.Cluster()]
		if failed || mw.Deleting() || !mw.At(w.s.Update) || !mw.SettledAt.IsZero() {
			continue
		}
		changed = true
		if work.Assess(mw, w.s.Update, w.s.Now).State != work.Succeeded {
			mw.Object = mw.Object.DeepCopy()
			mw.Object.Status.Conditions = conditions(nil, mw.Object.Generation, success, w.rules, w.s.Now)
			mw.Object.Status.ResourceStatus.Manifests = nil
			if mw.InHandover() { // Reports about the manifests decide in a handover, so the work loses the kept objects at once.
				mw.Combined, mw.Digest = nil, w.s.Update.Digest
			}
		}
		mw.SucceededSince, mw.SettledAt = w.s.Now, w.s.Now.Add(w.step)
	}
	w.s.Now = w.s.Now.Add(w.step)
	return changed
}

// open moves the clock to the next opening of the windows that keep clusters from the revision, and reports whether there is such an
// opening.
func (w *waves) open(plan *rollout.Plan) bool {
	var next time.Time
	for i := range plan.OnHold {
		if opens := plan.OnHold[i].Opens; !opens.IsZero() && (next.IsZero() || opens.Before(next)) {
			next = opens
		}
	}
	w.s.Now = work.Later(w.s.Now, next)
	return !next.IsZero()
}
