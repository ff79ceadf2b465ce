package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Ahead is how a rollout continues if every cluster succeeds, and what would stop it.
type Ahead struct {
	Namespace, Name string
	Paused          bool
	// Revision is the number of the revision that is rolled out. Current is the number of the revision that an abort returns to; empty if
	// there is none.
	Revision, Current string
	// Waves are the sets of clusters that get the revision at the same time.
	Waves  []forecast.Wave
	Limits []rollout.Limits
	// Waiting groups the clusters that do not have the revision, or have no outcome yet, by what they wait for.
	Waiting []Waiting
	// Alarms are why the hub does not act.
	Alarms []Alarm
	// Then is what the hub does next, and when, if no cluster reports anything new.
	Then []Fact
	// Unreached is the number of clusters without the revision that are in none of the waves.
	Unreached int
	Notes     []string
}

// Waiting is a group of clusters that wait for the same event.
type Waiting struct {
	For      rollout.Wait `json:"for"`
	State    State        `json:"state"`
	Clusters []string     `json:"clusters"`
}

// Change is the effect of a spec on the revisions.
type Change struct {
	// Number is the number that the template's revision gets, and Hash is its hash.
	Number int64
	Hash   string
	// Same is true if the template is that of the update revision: no new rollout begins.
	Same bool
	// Returns is the number that the revision has now if the template returns to an earlier one: an undo. It is zero for a new template.
	Returns int64
}

// With returns the objects as they are when a rollout of the spec of set begins, and what the spec changes.
func With(o *Objects, set *workv1alpha1.ManifestWorkReplicaSet) (*Objects, *Change, error) {
	digest, err := revision.DigestOf(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.manifestWorkTemplate: %w", err)
	}
	next := *o
	next.ReplicaSet = o.ReplicaSet.DeepCopy()
	next.ReplicaSet.Spec = *set.Spec.DeepCopy()
	status := &next.ReplicaSet.Status
	history := o.history()
	if update := history.ByHash(status.UpdateRevision); update != nil && update.Digest == digest && update.Err == nil {
		return &next, &Change{Number: update.Object.Revision, Hash: update.Hash, Same: true}, nil
	}
	change := &Change{Number: history.NextNumber()}
	found := history.ByDigest(digest)
	next.Revisions = slices.Clone(o.Revisions)
	if found == nil {
		object, err := revision.New(next.ReplicaSet, &set.Spec.ManifestWorkTemplate,
			revision.ComputeHash(&set.Spec.ManifestWorkTemplate, status.CollisionCount), change.Number)
		if err != nil {
			return nil, nil, err
		}
		object.CreationTimestamp = metav1.NewTime(o.Now)
		change.Hash = object.Labels[workv1alpha1.LabelControllerHash]
		next.Revisions = append(next.Revisions, object)
	} else {
		change.Hash, change.Returns = found.Hash, found.Object.Revision
		next.Revisions[slices.Index(next.Revisions, found.Object)] = renumbered(found, change.Number, o.Now)
	}
	status.UpdateRevision, status.AbortedTime = change.Hash, nil
	status.Failures, status.Rejections, status.Conditions = nil, nil, nil
	status.State = workv1alpha1.StateRollingOut
	return &next, change, nil
}

// renumbered returns the object of a revision to which the template returns.
func renumbered(found *revision.Revision, number int64, now time.Time) *appsv1.ControllerRevision {
	object := found.Object.DeepCopy()
	object.Revision = number
	if err := revision.Amend(object, func(r *revision.Record) { r.Abort, r.Reused = nil, found.NextBegin(now) }); err != nil {
		return found.Object // Its record was read, so it can be encoded.
	}
	return object
}

func (o *Objects) history() revision.History {
	decoded := make([]revision.Revision, 0, len(o.Revisions))
	for _, object := range o.Revisions {
		decoded = append(decoded, revision.Decode(object))
	}
	return revision.NewHistory(o.ReplicaSet, decoded)
}

// AheadOf returns how a rollout continues. It returns an error if the objects do not show that.
func AheadOf(o *Objects) (*Ahead, error) {
	set := o.ReplicaSet
	a := &Ahead{Namespace: set.Namespace, Name: set.Name, Paused: set.Spec.Paused}
	switch {
	case len(o.Missing) > 0:
		return nil, fmt.Errorf("no permission to %s, which plan requires", o.Missing[0])
	case o.overBroker():
		return nil, fmt.Errorf("the ManifestWorks of %q travel over a broker and are not on this API server: plan can't read them", set.Name)
	case o.aborted():
		return nil, fmt.Errorf("the rollout of %q was aborted, and nothing starts until the template changes or somebody retries: see `%s`",
			set.Name, plugin("get", set.Name, "-n", set.Namespace))
	}
	s := o.snapshot()
	if s == nil {
		return nil, fmt.Errorf("the hub has not processed %q yet: check that the work hub runs", set.Name)
	}
	a.Revision = numberOf(o.numbers(), s.Update.Hash)
	if s.Current != nil && s.Current.Hash != s.Update.Hash {
		a.Current = numberOf(o.numbers(), s.Current.Hash)
	}
	a.Waves, a.Limits = forecast.Waves(s), rollout.LimitsOf(s)
	clusters := o.standing()
	a.wait(clusters)
	a.Then, a.Alarms = o.then(clusters, true), Alarms(o)
	a.note(s)
	return a, nil
}

// wait groups the clusters that wait, the largest group first.
func (a *Ahead) wait(clusters []Cluster) {
	reached := map[string]bool{}
	for i := range a.Waves {
		for _, part := range a.Waves[i].Parts {
			for _, cluster := range part.Clusters {
				reached[cluster] = true
			}
		}
	}
	for i := range clusters {
		c := &clusters[i]
		if c.State == StateWaiting && !reached[c.Name] {
			a.Unreached++
		}
		if c.WaitsFor == rollout.WaitNothing {
			continue
		}
		at := slices.IndexFunc(a.Waiting, func(w Waiting) bool { return w.For == c.WaitsFor && w.State == c.State })
		if at < 0 {
			at = len(a.Waiting)
			a.Waiting = append(a.Waiting, Waiting{For: c.WaitsFor, State: c.State})
		}
		a.Waiting[at].Clusters = append(a.Waiting[at].Clusters, c.Name)
	}
	slices.SortStableFunc(a.Waiting, func(x, y Waiting) int { return cmp.Compare(len(y.Clusters), len(x.Clusters)) })
}

// note names what the waves do not show.
func (a *Ahead) note(s *rollout.Snapshot) {
	for i := range s.Refs {
		switch ref := &s.Refs[i]; {
		case ref.Placement == nil:
			a.Notes = append(a.Notes, fmt.Sprintf("Placement %s does not exist", ref.Name))
		case !ref.Placement.Matches():
			a.Notes = append(a.Notes,
				fmt.Sprintf("the decisions of Placement %s are incomplete: it selects %d clusters", ref.Name, ref.Placement.Selected))
		}
	}
}
