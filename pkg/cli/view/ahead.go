package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// Ahead describes how a rollout continues if every cluster succeeds, and the failures that would stop it.
type Ahead struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Paused    bool   `json:"paused"`
	// State is the state of the object. Revision is the number of the revision being rolled out. Current is the number of the revision that
	// an abort returns to; empty if there is none.
	State    workv1alpha1.State `json:"state"`
	Revision string             `json:"-"`
	Current  string             `json:"current,omitempty"`
	// Waves are the sets of clusters that get the revision at the same time. Text describes the number of waves, and when the first wave
	// begins.
	Waves []forecast.Wave `json:"waves"`
	Text  string          `json:"text"`
	// Limits are the consequences of failures in each placementRef.
	Limits []Limit `json:"limits"`
	// Waiting groups the clusters without the revision or without an outcome by the event that they wait for.
	Waiting []Waiting `json:"waiting"`
	// Alarms are the reasons why the hub does not act.
	Alarms []Alarm `json:"alarms,omitempty"`
	// Then holds the next actions of the hub and their times, if no cluster reports anything new.
	Then []Fact `json:"then,omitempty"`
	// Unreached is the number of clusters without the revision that are in none of the waves.
	Unreached int      `json:"unreached"`
	Notes     []string `json:"notes"`
}

// Limit is the consequence of failures in a placementRef.
type Limit struct {
	Placement   string `json:"placement"`
	Clusters    int    `json:"clusters"`
	Batch       int    `json:"batch"`
	MaxFailures int    `json:"maxFailures"`
	Failed      int    `json:"failed"`
	AbortAll    bool   `json:"abortAll"`
	// Deadline is progressDeadline; zero for none.
	Deadline metav1.Duration `json:"progressDeadline"`
	Text     string          `json:"text"`
}

// Waiting is a group of clusters that wait for the same event.
type Waiting struct {
	For      rollout.Wait `json:"for"`
	State    State        `json:"state"`
	Clusters []string     `json:"clusters"`
	// Text describes the event.
	Text string `json:"text"`
}

// Change is the effect of a spec on the revisions.
type Change struct {
	// Number is the number that the template's revision gets, and Hash is the revision's hash.
	Number int64  `json:"revision"`
	Hash   string `json:"hash"`
	// Same is true if the template equals that of the update revision, so that no new rollout begins.
	Same bool `json:"same"`
	// Returns is the present number of the revision if the template returns to an earlier revision: an undo. It is zero for a new template.
	Returns int64 `json:"returnsToRevision,omitempty"`
}

// With returns the objects at the start of a rollout of set's spec, and the effect of the spec on the revisions.
func With(o *Objects, set *workv1alpha1.ManifestWorkReplicaSet) (*Objects, *Change, error) {
	digest, err := revision.DigestOf(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.manifestWorkTemplate: %w", err)
	}
	next := *o
	next.known = nil
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
	decided := o.ledger()
	seen := o.observed(decided)
	seen.Object = next.ReplicaSet
	seen.Begin(&decided, ledger.Named{Hash: change.Hash, Digest: digest})
	if decided.Abort != nil {
		return nil, nil, fmt.Errorf("the template is that of revision %d: %s; to roll it out, apply it and then run `%s`",
			found.Object.Revision, decided.Abort.Why(), plugin("retry", set.Name, "-n", o.ReplicaSet.Namespace))
	}
	next.decided = &decided
	status.UpdateRevision, status.AbortedTime = change.Hash, nil
	status.Failures, status.Rejections, status.Conditions = nil, nil, nil
	status.State = workv1alpha1.StateRollingOut
	return &next, change, nil
}

// renumbered returns the object of a revision to which the template returns.
func renumbered(found *revision.Revision, number int64, now time.Time) *appsv1.ControllerRevision {
	object := found.Object.DeepCopy()
	object.Revision = number
	if err := revision.Amend(object, func(r *revision.Record) { r.Abort, r.Began = nil, now }); err != nil {
		return found.Object // Its record was read, so it can be encoded.
	}
	return object
}

// AheadOf describes how a rollout continues. It returns an error if the objects do not show this.
func AheadOf(o *Objects) (*Ahead, error) {
	o = Prepared(o)
	set := o.ReplicaSet
	a := &Ahead{
		Namespace: set.Namespace, Name: set.Name, State: StateOf(set), Paused: set.Spec.Paused, Waiting: []Waiting{}, Notes: []string{},
	}
	switch {
	case len(o.Missing) > 0:
		return nil, fmt.Errorf("no permission to %s, which plan requires", o.Missing[0])
	case o.overBroker():
		return nil, fmt.Errorf("the ManifestWorks of %q travel over a broker and are not on this API server: plan can't read them", set.Name)
	case !set.DeletionTimestamp.IsZero():
		return nil, fmt.Errorf("%q is being deleted, and nothing starts: see `%s`", set.Name, plugin("get", set.Name, "-n", set.Namespace))
	case o.aborted():
		return nil, fmt.Errorf("the rollout of %q was aborted, and nothing starts until the template changes or a user retries: see `%s`",
			set.Name, plugin("get", set.Name, "-n", set.Namespace))
	}
	s := o.snapshot()
	if s == nil {
		return nil, fmt.Errorf("the hub has not processed %q yet: check that the work hub is running", set.Name)
	}
	a.Revision = o.number(s.Update.Hash)
	if s.Current != nil && s.Current.Hash != s.Update.Hash {
		a.Current = o.number(s.Current.Hash)
		a.Notes = append(a.Notes, Irreversible(s.Current.Template, set)...)
	}
	a.Waves = append([]forecast.Wave{}, forecast.Waves(s)...)
	clusters, _ := o.clusters()
	limits := rollout.LimitsOf(s)
	a.Limits = make([]Limit, len(limits))
	for i := range limits {
		l := &limits[i]
		a.Limits[i] = Limit{
			Placement: l.Placement, Clusters: l.Total, Batch: l.Batch, MaxFailures: l.MaxFailures, Failed: l.Failed, AbortAll: l.AbortAll,
			Deadline: metav1.Duration{Duration: l.Deadline},
			Text:     limitsText(a.Current, l, slices.ContainsFunc(clusters, func(c Cluster) bool { return c.Placement == l.Placement })),
		}
	}
	a.wait(clusters)
	a.Text, a.Then, a.Alarms = a.text(), o.then(), Alarms(o)
	a.note(s)
	plan := rollout.Decide(s)
	for _, text := range status.Groups(set, plan) {
		if o.decided != nil {
			text = "once it is applied, " + text
		}
		a.Notes = append(a.Notes, text)
	}
	a.noteLater(plan)
	a.noteHolds(s)
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
		if c.State == rollout.PhaseWaiting && !reached[c.Name] {
			a.Unreached++
		}
		if c.WaitsFor == rollout.WaitNothing {
			continue
		}
		at := slices.IndexFunc(a.Waiting, func(w Waiting) bool { return w.For == c.WaitsFor && w.State == c.State })
		if at < 0 {
			at = len(a.Waiting)
			a.Waiting = append(a.Waiting, Waiting{For: c.WaitsFor, State: c.State, Text: WaitText(c.WaitsFor)})
		}
		a.Waiting[at].Clusters = append(a.Waiting[at].Clusters, c.Name)
	}
	slices.SortStableFunc(a.Waiting, func(x, y Waiting) int { return cmp.Compare(len(y.Clusters), len(x.Clusters)) })
}

// note adds a note about the Placements whose clusters the waves do not show.
func (a *Ahead) note(s *rollout.Snapshot) {
	for i := range s.Refs {
		switch ref := &s.Refs[i]; {
		case ref.Placement == nil:
			a.Notes = append(a.Notes, fmt.Sprintf("Placement %s does not exist", ref.Name))
		case !ref.Placement.Matches():
			a.Notes = append(a.Notes,
				fmt.Sprintf("the decisions of Placement %s are incomplete: it selects %d clusters", ref.Name, ref.Placement.Selected))
		case ref.Regrouping():
			a.Notes = append(a.Notes, fmt.Sprintf("OCM may still be writing the decision groups of Placement %s", ref.Name))
		}
	}
}

// noteLater adds a note about the approvals and bakeTimes that the listed groups need later.
func (a *Ahead) noteLater(plan *rollout.Plan) {
	for i := range plan.Groups {
		g := &plan.Groups[i]
		var later []string
		if g.State == rollout.GroupWaiting && g.NeedsApproval {
			later = append(later, "waits for an approval before it begins")
		}
		if g.State != rollout.GroupBaking && g.State != rollout.GroupDone && g.BakeTime > 0 {
			later = append(later, fmt.Sprintf("bakes for %s after its last success", g.BakeTime))
		}
		if len(later) > 0 {
			a.Notes = append(a.Notes, fmt.Sprintf("group %s of Placement %s %s", ledger.Quoted(g.Group), g.Placement, strings.Join(later, ", and ")))
		}
	}
}

// noteHolds adds a note that names the first clusters that a hold or a closed window keeps from the revision.
func (a *Ahead) noteHolds(s *rollout.Snapshot) {
	const named = 5
	for i := range a.Waiting {
		w := &a.Waiting[i]
		if w.For != rollout.WaitHold && w.For != rollout.WaitWindow {
			continue
		}
		for _, cluster := range w.Clusters[:min(len(w.Clusters), named)] {
			a.Notes = append(a.Notes, cluster+": "+holdText(s.Holds[cluster]))
		}
	}
}

// text describes the number of waves, and when the first wave begins.
func (a *Ahead) text() string {
	text, more := "the hub starts no further clusters", "; waiting: %s"
	if len(a.Waves) > 0 {
		more = "; in none of these waves: %s"
		first := map[bool]string{true: "the hub writes the first one now", false: "the first one waits"}
		text = fmt.Sprintf("%d, if every cluster recovers and succeeds; %s", len(a.Waves), first[a.Waves[0].Now && !a.Paused])
	}
	if a.Unreached > 0 {
		text += fmt.Sprintf(more, countOf(a.Unreached))
	}
	return text
}

// limitsText describes the consequence of failures in a placementRef. current is the revision that an abort returns to; empty if there
// is none. selects is true if clusters are selected.
func limitsText(current string, l *rollout.Limits, selects bool) string {
	switch {
	case l.Err != nil:
		return l.Err.Error()
	case l.Total == 0 && selects:
		return "no cluster counts while all of them are on hold or skipped: the limits apply to those that get the revision later"
	case l.Total == 0:
		return "no cluster is selected, so none can fail"
	case l.Deadline == 0:
		return "no late or degraded cluster fails, because progressDeadline is None"
	}
	text := consequenceText(current, l) + fmt.Sprintf("; a cluster fails %s after its ManifestWork is written", l.Deadline)
	if l.Halting > 0 {
		text += fmt.Sprintf("; %d failed and %d may fail so far", l.Failed, l.Halting-l.Failed)
	}
	return text
}

// consequenceText describes what happens when too many clusters fail.
func consequenceText(current string, l *rollout.Limits) string {
	stops, aborts := failuresText(l, false), failuresText(l, true)
	stop := "the rollout there stops when " + strings.Join(stops, ", or ")
	switch {
	case len(stops) == 0:
		return "the rollout there continues, however many clusters fail"
	case !l.AbortAll && l.Undo:
		return stop + "; it is not aborted, because AbortAll does not apply to an undo"
	case !l.AbortAll:
		return stop
	case current == "":
		return stop + "; it is not aborted, because no other revision is stable"
	case len(aborts) == 0:
		return stop + "; too few clusters are left to abort it, because the percentage in maxFailures applies to all clusters that counted " +
			"since the rollout began"
	}
	back := fmt.Sprintf("every cluster returns to revision %s when %s", current, strings.Join(aborts, ", or "))
	if slices.Equal(stops, aborts) {
		return back
	}
	return stop + "; " + back // The Placement selected more clusters earlier in the rollout.
}

// failuresText returns the smallest numbers of failures that halt a placementRef or, if fails is true, make it fail; empty if no number
// does.
func failuresText(l *rollout.Limits, fails bool) []string {
	var texts []string
	add := func(allowed, extra, total int, where string) {
		if fails {
			allowed += extra
		}
		if allowed < total {
			verb := "fail"
			if allowed == 0 {
				verb = "fails"
			}
			texts = append(texts, fmt.Sprintf("%d of %d clusters%s %s", allowed+1, total, where, verb))
		}
	}
	others, where := l.Total, ""
	for i := range l.Groups {
		g := &l.Groups[i]
		name := fmt.Sprintf("group %d", g.Index)
		if g.Name != "" {
			name = "group " + g.Name
		}
		switch {
		case g.Mandatory:
			add(0, 0, g.Total, " in mandatory "+name)
		case g.Own:
			others, where = others-g.Total, " in the other groups"
			add(g.MaxFailures, g.Extra, g.Total, " in "+name)
		case l.PerGroup:
			add(g.MaxFailures, g.Extra, g.Total, " in "+name)
		}
	}
	if !l.PerGroup {
		add(l.MaxFailures, l.Extra, others, where)
	}
	return texts
}
