package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// observe reads the caches and this process's memory into the pass. It reads only objects of this owner (P8). If the history can't be read
// now, the pass continues without one, and package lifecycle gets the last history that was read.
func (c *Controller) observe(p *pass) error {
	decoded, err := c.revisionsOf(p.key, p.object, p.memory)
	if err != nil {
		return err
	}
	p.history = revision.NewHistory(p.object, decoded)
	p.facts.History = p.history
	p.facts.HistoryNote, p.facts.ClustersNote = c.HistoryNote(), c.ClustersNote()
	if p.facts.HistoryNote != "" {
		p.facts.NoHistory, p.history = true, revision.History{}
	}
	works, err := c.stores.Works.ByIndex(workcache.ByOwner, p.key)
	if err != nil {
		return fmt.Errorf("reading the ManifestWorks: %w", err)
	}
	p.works = make([]*workv1.ManifestWork, 0, len(works))
	for _, object := range works {
		p.works = append(p.works, object.(*workv1.ManifestWork))
	}
	slices.SortFunc(p.works, compareWorks)
	p.facts.Notes.Works, p.seen = p.memory.Works.Read(p.works)

	counted := min(len(p.object.Spec.PlacementRefs), workv1alpha1.MaxPlacementRefs)
	p.facts.IgnoredRefs = len(p.object.Spec.PlacementRefs) - counted
	var regrouping time.Duration
	if p.facts.Refs, regrouping, err = c.observeRefs(p.object.Namespace, p.object.Spec.PlacementRefs[:counted], p.now); err != nil {
		return err
	}
	p.lookAgain(regrouping)
	p.memory.SetBack(p.now)
	if p.object.DecodeErr == nil {
		p.facts.Template, p.facts.TemplateErr = p.memory.Template(p.object.ManifestWorkReplicaSet)
	}
	c.readLedger(p)
	return nil
}

// revisionsOf returns the revisions of an object, decoded.
func (c *Controller) revisionsOf(key string, object *replicaset.Object, known *memory.Owner) ([]revision.Revision, error) {
	cached, err := c.stores.Revisions.ByIndex(workcache.ByOwner, key)
	if err != nil {
		return nil, fmt.Errorf("reading the ControllerRevisions: %w", err)
	}
	revisions := make([]*appsv1.ControllerRevision, 0, len(cached))
	for _, found := range cached {
		if rev := found.(*appsv1.ControllerRevision); rev.Namespace == object.Namespace {
			revisions = append(revisions, rev)
		}
	}
	return known.Revisions(revisions), nil
}

func compareWorks(a, b *workv1.ManifestWork) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// noteWorks records the state of the works, once in each pass. The state of a work is about the work's own revision, so
// it does not depend on later steps of the pass.
func (c *Controller) noteWorks(p *pass) {
	owners, sliced := placement.Owners(p.facts.Refs), placement.Sliced(p.facts.Refs)
	known, left := placement.SelectionKnown(p.facts.Refs, p.facts.IgnoredRefs), placement.Left(p.facts.Refs, owners)
	revisions, handover := p.facts.ByHash(), c.handoverOf(p)
	works, clusters, remembered := p.facts.Notes.Works, placement.Clusters{}, c.rememberedAway(p)
	for i := range works {
		w := &works[i]
		owner, selected := owners[w.Cluster()]
		c.noteCluster(p, clusters, remembered, w, owner, selected)
		selection := memory.Selection{
			Selected: selected, Unknown: !known, Left: left(w.PlacementName(), w.Cluster()), Sliced: sliced[w.Cluster()],
		}
		p.seen[i].Note(w, selection, c.Broker == nil, p.now)
		w.UnexpectedName = !work.IsName(p.object, w.Object.Name)
		w.Combined = handover.Content(w, revisions)
		p.seen[i].Watch(w, p.now)
	}
	c.noteSkippable(p, clusters, remembered)
	p.facts.Notes.Fleet = rollout.Fleet{
		Works: works, AwayUnheard: c.awayUnheard(p, clusters, remembered, owners), Clusters: clusters, Holds: c.holds(p, owners),
		Heard: c.heard(owners, p.works), Unreached: c.unreached(p.works), Gap: p.gap, Settle: c.SuccessSettle, Handover: handover,
	}
	succeeds := p.facts.Successes()
	for i := range works {
		p.seen[i].Settle(&works[i], succeeds(&works[i], revisions[works[i].Hash()]), p.now)
	}
	p.memory.Retries(p.facts.Commands.RetryClusters)
	p.facts.Notes.Failures, p.facts.Notes.WrittenBack = p.memory.Failures(), p.memory.WrittenBack()
}

// heard returns the time when the hub first heard from each agent that matters to a pass; nil if works don't travel over a broker.
func (c *Controller) heard(owners map[string]int, works []*workv1.ManifestWork) map[string]time.Time {
	if c.Broker == nil {
		return nil
	}
	heard := make(map[string]time.Time, len(owners))
	note := func(cluster string) {
		if since, ok := c.Broker.HeardSince(cluster); ok {
			heard[cluster] = since
		}
	}
	for cluster := range owners {
		note(cluster)
	}
	for _, work := range works {
		note(work.Namespace)
	}
	return heard
}

// unreached returns the clusters whose agents are available but do not receive what the hub sends, sorted.
func (c *Controller) unreached(works []*workv1.ManifestWork) []string {
	if c.Broker == nil {
		return nil
	}
	var clusters []string
	for _, work := range works {
		if c.Broker.Unreached(work.UID) {
			clusters = append(clusters, work.Namespace)
		}
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// observeRefs returns the placementRefs with their Placements and decisions, and the time for which decision groups may still be out of
// date; zero if they are not.
func (c *Controller) observeRefs(namespace string, specs []workv1alpha1.LocalPlacementReference, now time.Time,
) (refs []placement.Ref, regrouping time.Duration, err error) {
	refs = make([]placement.Ref, 0, len(specs))
	for i := range specs {
		spec := &specs[i]
		ref := placement.Ref{Name: spec.Name, Field: fmt.Sprintf("spec.placementRefs[%d]", i), Strategy: spec.RolloutStrategy}
		cached, exists, err := c.stores.Placements.GetByKey(namespace + "/" + spec.Name)
		if err != nil {
			return nil, 0, fmt.Errorf("reading Placement %s/%s: %w", namespace, spec.Name, err)
		}
		if exists {
			wait, err := c.observePlacement(&ref, cached.(*clusterv1beta1.Placement), now)
			if err != nil {
				return nil, 0, err
			}
			regrouping = max(regrouping, wait)
		}
		refs = append(refs, ref)
	}
	return refs, regrouping, nil
}

// observePlacement sets the Placement of a placementRef, and returns the time for which its groups may still be out of date.
func (c *Controller) observePlacement(ref *placement.Ref, placement *clusterv1beta1.Placement, now time.Time) (time.Duration, error) {
	objects, err := c.stores.Decisions.ByIndex(replicaset.ByPlacement, placement.Namespace+"/"+placement.Name)
	if err != nil {
		return 0, fmt.Errorf("reading the decisions of Placement %s/%s: %w", placement.Namespace, placement.Name, err)
	}
	decisions := make([]*clusterv1beta1.PlacementDecision, 0, len(objects))
	for _, object := range objects {
		decisions = append(decisions, object.(*clusterv1beta1.PlacementDecision))
	}
	selected, regrouping := c.selections.PlacementOf(placement, decisions, now)
	ref.Placement = selected
	if regrouping == 0 {
		return 0, nil
	}
	changing := *selected
	changing.Regrouping, ref.Placement = true, &changing
	if !ref.Regrouping() {
		return 0, nil
	}
	return regrouping, nil
}

// handoverOf returns how clusters change from one revision to another; nil if the spec does not ask to keep dropped objects.
func (c *Controller) handoverOf(p *pass) *rollout.Handover {
	switch {
	case p.object.Spec.PruneStrategy != workv1alpha1.PruneWhenAvailable:
		return nil
	case c.Broker != nil:
		return &rollout.Handover{Problem: brokerKeepsNothing}
	}
	return &rollout.Handover{Combine: c.combinations.CombinationOf, Unknown: p.facts.NoHistory}
}

// brokerKeepsNothing is why no objects are kept if works travel over a broker. A restarted hub rebuilds its works from the agents'
// reports, which contain the revision but not the kept objects.
const brokerKeepsNothing = "works that travel over a broker can hold only one revision: use the API server (--work-driver=kube), " +
	"or set spec.pruneStrategy to Immediate"
