package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Fact is a past or expected event of a cluster.
type Fact struct {
	// At is the time of the event. It is zero if unknown.
	At   time.Time `json:"at,omitzero"`
	Text string    `json:"text"`
	// after is the time that orders the fact if At is zero.
	after time.Time
	// level is the urgency of a future fact; empty if the fact needs no attention.
	level Level
}

// order returns the time that orders the fact. Conditions have times of whole seconds, so facts of the same second are kept in the order of
// cause and effect.
func (f *Fact) order() time.Time {
	if f.At.IsZero() {
		return f.after.Truncate(time.Second)
	}
	return f.At.Truncate(time.Second)
}

// Story is the past and the expected future of one cluster at its revision.
type Story struct {
	Cluster Cluster `json:"cluster"`
	// Past holds the past events, oldest first. Future holds the events expected if nothing changes.
	Past   []Fact `json:"past"`
	Future []Fact `json:"future"`
	// Assumed states the assumption about facts that only the hub process knows.
	Assumed string `json:"assumed,omitempty"`
	// Notes describe the works that were not read.
	Notes []string `json:"notes,omitempty"`
}

// Why returns the story of a cluster. It returns an error if the cluster is not in the view.
func Why(o *Objects, cluster string) (*Story, error) {
	o = Prepared(o)
	clusters := Clusters(o)
	at := slices.IndexFunc(clusters, func(c Cluster) bool { return c.Name == cluster })
	if standing, counts := o.counting()[cluster]; at < 0 && counts { // It may still fail, although nothing selects it.
		at, clusters = len(clusters), append(clusters, o.clusterOf(&standing, o.works()[cluster], o.failures()[cluster]))
	}
	if at < 0 {
		if !o.explained() {
			return nil, fmt.Errorf("cluster %q is not in status.failures, status.rejections or status.away; %s",
				cluster, cmp.Or(strings.Join(o.notes(), "; "), "the hub has not begun a rollout"))
		}
		return nil, fmt.Errorf("no placementRef of %s/%s selects cluster %q", o.ReplicaSet.Namespace, o.ReplicaSet.Name, cluster)
	}
	story := &Story{Cluster: clusters[at], Notes: o.presumption()}
	story.Past = o.judged(cluster)
	for i := range o.Works {
		switch work := &o.Works[i]; {
		case work.Cluster() != cluster:
		case work.Hash() == o.ReplicaSet.Status.UpdateRevision:
			story.Past = append(o.past(work), story.Past...)
		default: // The hub recorded the failure before it wrote the revision that the cluster returned to.
			story.Past = append(story.Past, o.past(work)...)
		}
	}
	slices.SortStableFunc(story.Past, func(a, b Fact) int { return a.order().Compare(b.order()) })
	story.Future = o.future(&story.Cluster)
	if story.Cluster.Then != "" && story.Cluster.State != rollout.PhaseClosed {
		story.Assumed = "the hub has watched this cluster since the write; after a restart of the hub, deadlines may be slightly later"
	}
	return story, nil
}

// judged returns the recorded failures and rejections of a cluster at the update revision.
func (o *Objects) judged(cluster string) []Fact {
	var facts []Fact
	if failure := o.failures()[cluster]; failure != nil {
		text := fmt.Sprintf("the hub recorded a failure: %s: %s", inWords(failure.Reason), failure.Message)
		if o.aborted() {
			text = fmt.Sprintf("the hub recorded a failure of revision %s: %s: %s",
				o.number(o.ReplicaSet.Status.UpdateRevision), inWords(failure.Reason), failure.Message)
		}
		facts = append(facts, Fact{At: failure.Since.Time, Text: text})
	}
	for i := range o.ReplicaSet.Status.Rejections {
		if rejection := &o.ReplicaSet.Status.Rejections[i]; o.aborted() && rejection.Cluster == cluster {
			number := o.number(o.ReplicaSet.Status.UpdateRevision)
			if !rejection.Since.Before(o.ReplicaSet.Status.AbortedTime) { // It is of a write with which the abort restores the cluster.
				number = CurrentNumber(o)
			}
			text := fmt.Sprintf("the API server rejected revision %s: %s", number, rejection.Message)
			facts = append(facts, Fact{At: rejection.Since.Time, Text: text})
		}
	}
	return facts
}

// past returns the events that a work shows.
func (o *Objects) past(work *work.Work) []Fact {
	var facts []Fact
	wrote, known := work.AppliedAt()
	if known {
		facts = append(facts, Fact{At: wrote, Text: "the hub wrote revision " + o.number(work.Hash())})
	} else {
		wrote = work.Object.CreationTimestamp.Time
		facts = append(facts, Fact{At: wrote, Text: "the ManifestWork was created"})
	}
	if kept := work.KeptRevision(); kept != "" {
		facts = append(facts, Fact{after: wrote, Text: "the ManifestWork keeps the dropped objects of revision " + o.number(kept) +
			" until this revision is available"})
	}
	var conditions []Fact
	for i := range work.Object.Status.Conditions {
		if condition := &work.Object.Status.Conditions[i]; work.Observed(condition) {
			conditions = append(conditions, factOf(reporter(condition), condition, wrote))
		}
	}
	// Conditions that the write did not change come before conditions that changed in the same second.
	slices.SortStableFunc(conditions, func(a, b Fact) int { return a.At.Compare(b.At) })
	facts = append(facts, conditions...)
	for i := range work.Object.Status.ResourceStatus.Manifests {
		facts = append(facts, unsatisfied(&work.Object.Status.ResourceStatus.Manifests[i], wrote)...)
	}
	if work.Deleting() {
		at := work.Object.DeletionTimestamp.Time
		facts = append(facts, Fact{At: at, Text: "the ManifestWork was deleted; the agent has not finished its cleanup"})
	}
	return facts
}

// reporter returns the words before a condition of a work: the agent reports the condition, or the work just has it.
func reporter(condition *metav1.Condition) string {
	if slices.Contains(workv1alpha1.JudgedByHub, condition.Type) || work.ByRule(condition) {
		return "the agent reported "
	}
	return "the ManifestWork has "
}

// factOf returns a condition as a fact. A condition that did not change after the work was written has no time of its own.
func factOf(prefix string, condition *metav1.Condition, wrote time.Time) Fact {
	text := fmt.Sprintf("%s%s=%s", prefix, condition.Type, condition.Status)
	if condition.Message != "" {
		text += ": " + condition.Message
	}
	if at := condition.LastTransitionTime.Time; !at.Before(wrote.Truncate(time.Second)) {
		return Fact{At: at, Text: text}
	}
	return Fact{after: wrote, Text: text}
}

// unsatisfied returns the conditions of a manifest that prevent success, with the status feedback values from the agent.
func unsatisfied(manifest *workv1.ManifestCondition, wrote time.Time) []Fact {
	var facts []Fact
	for i := range manifest.Conditions {
		condition := &manifest.Conditions[i]
		if wanted, counts := Good[condition.Type]; !counts || condition.Status == wanted {
			continue
		}
		name := strings.TrimPrefix(manifest.ResourceMeta.Namespace+"/"+manifest.ResourceMeta.Name, "/")
		facts = append(facts, factOf(fmt.Sprintf("%s %s: ", manifest.ResourceMeta.Kind, name), condition, wrote))
	}
	if values := feedback(manifest.StatusFeedbacks.Values); len(facts) > 0 && values != "" {
		facts[len(facts)-1].Text += " (" + values + ")"
	}
	return facts
}

func feedback(values []workv1.FeedbackValue) string {
	texts := make([]string, 0, len(values))
	for i := range values {
		v := &values[i].Value
		switch {
		case v.Integer != nil:
			texts = append(texts, fmt.Sprintf("%s=%d", values[i].Name, *v.Integer))
		case v.String != nil:
			texts = append(texts, fmt.Sprintf("%s=%s", values[i].Name, *v.String))
		case v.Boolean != nil:
			texts = append(texts, fmt.Sprintf("%s=%t", values[i].Name, *v.Boolean))
		case v.JsonRaw != nil:
			texts = append(texts, fmt.Sprintf("%s=%s", values[i].Name, *v.JsonRaw))
		}
	}
	return strings.Join(texts, ", ")
}

// waits describes what a cluster waits for.
var waits = map[rollout.Wait]string{
	rollout.WaitTurn:         "its turn",
	rollout.WaitSlot:         "a free slot: maxConcurrency clusters are in progress",
	rollout.WaitGroup:        "earlier decision groups",
	rollout.WaitBake:         "the bakeTime of the previous decision group",
	rollout.WaitApproval:     "the approval of its decision group",
	rollout.WaitAgent:        "a report from the agent on this revision",
	rollout.WaitManifests:    "the manifests that are not ready and the condition rules that are not satisfied",
	rollout.WaitSoak:         "minSuccessTime: the cluster must stay healthy for this time",
	rollout.WaitAcceptance:   "the API server, which rejects the ManifestWork",
	rollout.WaitHandover:     "objects of another revision, which have to be kept or deleted first",
	rollout.WaitDeletion:     "the deletion of its ManifestWork by the agent",
	rollout.WaitPlacement:    "a Placement that is missing, or whose decisions are missing or out of date",
	rollout.WaitStrategy:     "a fix for the invalid rollout strategy of its placementRef",
	rollout.WaitHalt:         "clusters to recover: too many have failed or may fail, so the hub does not start other clusters",
	rollout.WaitRollback:     "the abort, which is about to begin",
	rollout.WaitResume:       "the end of the pause",
	rollout.WaitSuccessGate:  "a success gate: a condition of its ManifestWork is not True",
	rollout.WaitHold:         "the end of the hold on its ManagedCluster",
	rollout.WaitWindow:       "its next window",
	rollout.WaitAvailability: "the cluster to be available for a minute, and then for its turn",
	rollout.WaitSelection: "a Placement to select it again: if no Placement selects it within a minute after it becomes available, " +
		"its ManifestWork is deleted",
}

// WaitText describes what a cluster waits for.
func WaitText(w rollout.Wait) string { return cmp.Or(waits[w], string(w)) }

// waitText is like WaitText, but takes an abort into account.
func (o *Objects) waitText(c *Cluster) string {
	if c.WaitsFor == rollout.WaitSelection && o.aborted() && !o.hasReturned(c) && !lacksCurrent(o.ReplicaSet) {
		return "its agent to confirm revision " + CurrentNumber(o)
	}
	return WaitText(c.WaitsFor)
}

// future returns the expected events of a cluster, and what the hub does next.
func (o *Objects) future(c *Cluster) (facts []Fact) {
	switch {
	case c.WaitsFor != rollout.WaitNothing:
		facts = append(facts, Fact{Text: "waits for " + o.waitText(c)})
		facts = append(facts, o.groupFacts(c)...)
	case c.State == rollout.PhaseFailed:
		facts = append(facts, Fact{Text: "counts against maxFailures"})
	}
	if slices.Contains([]State{StateRestoring, rollout.PhaseCompleted, StateRejected, rollout.PhaseValidating}, c.State) && c.Message != "" {
		facts = append(facts, Fact{Text: c.Message})
	}
	if c.State == StateRestoring && !c.Confirmed && c.Wrote == o.number(o.ReplicaSet.Status.CurrentRevision) {
		facts = append(facts, Fact{Text: "if the agent is offline, bring it back; if the cluster is lost, delete its ManagedCluster"})
	}
	if c.WaitsFor == rollout.WaitAcceptance && len(Alarms(o)) == 0 {
		facts = append(facts, Fact{Text: "the hub tries the write again at least once a minute"})
	}
	if text := holdText(o.holds()[c.Name]); text != "" && c.State == rollout.PhaseHeld {
		facts = append(facts, Fact{Text: text})
	}
	facts = append(facts, o.then()...)
	if c.Then != "" {
		facts = append(facts, Fact{At: c.ChangesAt, Text: "becomes " + string(c.Then)})
	}
	slices.SortStableFunc(facts, func(a, b Fact) int { return a.At.Compare(b.At) })
	return facts
}

// holdText returns the reason for a cluster's hold, or when its next window opens; empty if there is no hold.
func holdText(hold placement.Hold) string {
	switch {
	case !hold.Opens.IsZero():
		return "the next window opens at " + hold.Opens.UTC().Format(time.RFC3339)
	case hold.Reason != "":
		return "on hold: " + hold.Reason
	}
	return ""
}

// groupFacts returns the events that the listed decision groups wait for, if a cluster waits for those groups.
func (o *Objects) groupFacts(c *Cluster) (facts []Fact) {
	if c.WaitsFor != rollout.WaitGroup && c.WaitsFor != rollout.WaitBake && c.WaitsFor != rollout.WaitApproval {
		return nil
	}
	plan := rollout.Decide(o.snapshot())
	for i := range plan.Groups {
		if g := &plan.Groups[i]; g.Placement == c.Placement {
			fact := Fact{Text: status.Group(o.ReplicaSet, g)}
			if g.State == rollout.GroupBaking {
				fact.At = g.Until
			}
			if fact.Text != "" {
				facts = append(facts, fact)
			}
		}
	}
	return facts
}
