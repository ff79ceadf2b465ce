package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Fact is a past or expected event of a cluster.
type Fact struct {
	// At is the time of the event. It is zero if unknown.
	At   time.Time
	Text string
}

// Story is the past and the expected future of one cluster at its revision.
type Story struct {
	Cluster Cluster
	// Past holds the past events, oldest first. Future holds the events expected if nothing changes.
	Past, Future []Fact
	// Assumed states the assumption about facts that only the hub process knows.
	Assumed string
}

// Why returns the story of a cluster. It returns an error if the cluster is not in the view.
func Why(o *Objects, cluster string) (*Story, error) {
	clusters := Clusters(o)
	at := slices.IndexFunc(clusters, func(c Cluster) bool { return c.Name == cluster })
	if at < 0 {
		if len(o.Missing) > 0 {
			return nil, fmt.Errorf("cluster %q is not in status.failures or status.rejections, and there is no permission to %s",
				cluster, o.Missing[0])
		}
		return nil, fmt.Errorf("no placementRef of %s/%s selects cluster %q", o.ReplicaSet.Namespace, o.ReplicaSet.Name, cluster)
	}
	story := &Story{Cluster: clusters[at]}
	for i := range o.Works {
		if o.Works[i].Cluster() == cluster {
			story.Past = append(story.Past, o.past(&o.Works[i])...)
		}
	}
	if failure := o.failures()[cluster]; failure != nil {
		text := fmt.Sprintf("the hub recorded a failure: %s: %s", failure.Reason, failure.Message)
		story.Past = append(story.Past, Fact{failure.Since.Time, text})
	}
	slices.SortStableFunc(story.Past, func(a, b Fact) int { return a.At.Compare(b.At) })
	story.Future = o.future(&story.Cluster, clusters)
	if !story.Cluster.done() {
		story.Assumed = "the hub has watched this cluster since the write; after a restart of the hub, deadlines may be slightly later"
	}
	return story, nil
}

// past returns the events that a work shows.
func (o *Objects) past(work *rollout.Work) []Fact {
	var facts []Fact
	revision := numberOf(o.numbers(), work.Hash())
	if at, known := work.AppliedAt(); known {
		facts = append(facts, Fact{at, fmt.Sprintf("the hub wrote revision %s", revision)})
	} else {
		facts = append(facts, Fact{work.Object.CreationTimestamp.Time, "the ManifestWork was created"})
	}
	if work.Deleting() {
		facts = append(facts, Fact{work.Object.DeletionTimestamp.Time, "the ManifestWork was deleted; the agent has not finished its cleanup"})
	}
	for i := range work.Object.Status.Conditions {
		if condition := &work.Object.Status.Conditions[i]; work.Observed(condition) {
			facts = append(facts, factOf("the agent reports ", condition))
		}
	}
	for i := range work.Object.Status.ResourceStatus.Manifests {
		facts = append(facts, unsatisfied(&work.Object.Status.ResourceStatus.Manifests[i])...)
	}
	return facts
}

func factOf(prefix string, condition *metav1.Condition) Fact {
	text := fmt.Sprintf("%s%s=%s", prefix, condition.Type, condition.Status)
	if condition.Message != "" {
		text += ": " + condition.Message
	}
	return Fact{condition.LastTransitionTime.Time, text}
}

// unsatisfied returns the conditions of a manifest that prevent success, with the status feedback values from the agent.
func unsatisfied(manifest *workv1.ManifestCondition) []Fact {
	var facts []Fact
	for i := range manifest.Conditions {
		condition := &manifest.Conditions[i]
		good := metav1.ConditionTrue
		if condition.Type == workv1.WorkDegraded || condition.Type == workv1.WorkProgressing {
			good = metav1.ConditionFalse
		}
		wanted := []string{workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded}
		if condition.Status == good || !slices.Contains(wanted, condition.Type) {
			continue
		}
		name := manifest.ResourceMeta.Name
		if manifest.ResourceMeta.Namespace != "" {
			name = manifest.ResourceMeta.Namespace + "/" + name
		}
		facts = append(facts, factOf(fmt.Sprintf("%s %s: ", manifest.ResourceMeta.Kind, name), condition))
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

// future returns the expected events of a cluster, and the consequence of a failure.
func (o *Objects) future(c *Cluster, all []Cluster) []Fact {
	var facts []Fact
	if c.WaitsFor != rollout.WaitNothing {
		facts = append(facts, Fact{Text: "waits for: " + string(c.WaitsFor)})
	}
	if c.Then == "" {
		return facts
	}
	text := "becomes " + string(c.Then)
	if c.Then == StateFailed || c.Then == StateDegraded {
		text += o.consequence(c, all)
	}
	return append(facts, Fact{c.ChangesAt, text})
}

// consequence describes the effect of one more failure.
func (o *Objects) consequence(c *Cluster, all []Cluster) string {
	failed := 1
	for i := range all {
		if all[i].Placement == c.Placement && all[i].State == StateFailed && all[i].Name != c.Name {
			failed++
		}
	}
	for i := range o.ReplicaSet.Spec.PlacementRefs {
		ref := &o.ReplicaSet.Spec.PlacementRefs[i]
		if ref.Name != c.Placement {
			continue
		}
		text := fmt.Sprintf(": this would be failure %d of placement %s, and maxFailures is %s", failed, ref.Name, maxFailures(ref))
		if ref.RolloutStrategy.FailureStrategy != workv1alpha1.AbortAll {
			return text + "; above maxFailures, the rollout stops in this placement"
		}
		return text + "; above maxFailures, AbortAll returns every cluster to revision " +
			numberOf(o.numbers(), o.ReplicaSet.Status.CurrentRevision)
	}
	return ""
}

// maxFailures returns maxFailures as written in the spec, or 0 if it is not set.
func maxFailures(ref *workv1alpha1.LocalPlacementReference) string {
	text := ""
	switch s := &ref.RolloutStrategy; {
	case s.Progressive != nil:
		text = s.Progressive.MaxFailures.String()
	case s.ProgressivePerGroup != nil:
		text = s.ProgressivePerGroup.MaxFailures.String()
	}
	if text == "" {
		return "0"
	}
	return text
}
