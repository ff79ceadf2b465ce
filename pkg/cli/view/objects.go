package view

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Objects holds the API objects from which a view is built.
type Objects struct {
	// ReplicaSet must not be changed.
	ReplicaSet *workv1alpha1.ManifestWorkReplicaSet
	// Revisions are the ControllerRevisions with the owner label of ReplicaSet.
	Revisions []*appsv1.ControllerRevision
	// Works are the ManifestWorks with the owner label of ReplicaSet. Their manifests may be omitted if Digest is set.
	Works []work.Work
	// Placements are the Placements of the placementRefs, by name. Decisions are their PlacementDecisions, by Placement name.
	Placements map[string]*clusterv1beta1.Placement
	Decisions  map[string][]*clusterv1beta1.PlacementDecision
	// Presumed are the clusters whose works were read only as metadata. They count as succeeded because the hub counts them as succeeded.
	Presumed sets.Set[string]
	// Lease is the Lease of the hub's leader; nil if it was not read, or does not exist.
	Lease *coordinationv1.Lease
	// Holds are the holds of managed clusters. If ManagedClusters were not read, Holds is nil and the holds in the status are used.
	// Unavailable are the managed clusters that are unavailable, in addition to those in the status.
	Holds       map[string]placement.Hold
	Unavailable placement.Clusters
	// Missing names the missing permissions, as "verb resource.group in …". The objects that require these permissions could not be read.
	Missing []string
	// Now is the current time of the client.
	Now time.Time
	// decided holds the decisions of the hub if they differ from those in the objects; nil otherwise.
	decided *ledger.Ledger
	// known holds the results of Prepared; nil before Prepared is called.
	known *known
}

// known holds the results that several parts of a view share. Each result is derived once.
type known struct {
	history   revision.History
	revisions []Revision
	numbers   map[string]string
	alarms    []Alarm
	snapshot  func() *rollout.Snapshot
	clusters  func() ([]Cluster, bool)
	outlook   func() *outlook
}

// Prepared returns the objects with the results that several views share. Views of prepared objects do not derive them again.
func Prepared(o *Objects) *Objects {
	if o.known != nil {
		return o
	}
	prepared, k := *o, &known{numbers: map[string]string{}}
	prepared.known = k
	prepared.Works = slices.Clone(o.Works) // Other views of the objects may be drawn at the same time.
	for i := range prepared.Works {
		w := &prepared.Works[i]
		w.DeletionCounts, w.UnexpectedName = true, !work.IsName(o.ReplicaSet, w.Object.Name)
	}
	decoded := make([]revision.Revision, 0, len(o.Revisions))
	for _, object := range o.Revisions {
		decoded = append(decoded, revision.Decode(object))
	}
	k.history = revision.NewHistory(o.ReplicaSet, decoded)
	k.revisions = prepared.listed()
	for i := range k.revisions {
		if r := &k.revisions[i]; r.Number != 0 {
			k.numbers[r.Hash] = strconv.FormatInt(r.Number, 10)
		}
	}
	k.alarms = AlarmsOf([]*workv1alpha1.ManifestWorkReplicaSet{o.ReplicaSet}, o.Lease, o.Now)
	k.snapshot, k.clusters, k.outlook = sync.OnceValue(prepared.observe), sync.OnceValues(prepared.locate), sync.OnceValue(prepared.outlook)
	return &prepared
}

func (o *Objects) snapshot() *rollout.Snapshot { return Prepared(o).known.snapshot() }

func (o *Objects) history() revision.History { return Prepared(o).known.history }

// aborted reports whether the clusters are returning or have returned to the current revision.
func (o *Objects) aborted() bool {
	return o.ReplicaSet.Status.AbortedTime != nil && o.ReplicaSet.Status.CurrentRevision != ""
}

// observe returns the snapshot that the hub would use for its decisions, as far as the API objects show it. It is nil if the status has no
// update revision yet. After an abort, the current revision is the target, so the clusters show their progress toward it.
func (o *Objects) observe() *rollout.Snapshot {
	l := o.ledger()
	if l.Update.Hash == "" {
		return nil
	}
	if o.aborted() {
		l = ledger.Ledger{Update: l.Current, Current: l.Current, Former: l.Former, Ended: o.Now}
	}
	v := o.observed(l)
	update := v.Named(l.Update.Hash)
	v.Notes.Clusters, v.Notes.Holds, v.Notes.Handover = o.availability(), o.holds(), o.handover()
	byHash := v.ByHash()
	for i := range v.Notes.Works {
		w := &v.Notes.Works[i]
		w.Combined = v.Notes.Handover.Content(w, byHash)
		w.AcceptedAs, _ = w.Noted()
	}
	s := v.SnapshotOf(&l, update, l.Abort != nil).AssumeSettled()
	if o.Lease != nil && o.Lease.Spec.AcquireTime != nil { // A new leader first gives the agents time to report to it.
		s.Gap = rollout.UnknownGap(o.Lease.Spec.AcquireTime.Time)
	}
	if o.aborted() {
		s.Records = rollout.Records{} // The records belong to the aborted revision.
	}
	return s
}

// holds returns the holds of clusters, as far as they are known.
func (o *Objects) holds() map[string]placement.Hold {
	if o.Holds != nil {
		return o.Holds
	}
	return status.HoldsOf(&o.ReplicaSet.Status)
}

// availability returns the clusters that are unavailable, as far as they are known.
func (o *Objects) availability() placement.Clusters {
	clusters := placement.Clusters{}
	maps.Copy(clusters, o.Unavailable)
	maps.Copy(clusters, status.AwayOf(&o.ReplicaSet.Status))
	return clusters
}

// ledger returns the decisions of the hub, as far as the objects show them.
func (o *Objects) ledger() ledger.Ledger {
	if o.decided != nil {
		return *o.decided
	}
	history := o.history()
	found := ledger.Read(&ledger.Places{Owner: o.ReplicaSet.UID, Status: o.ReplicaSet.Status.Ledger, History: history})
	if found.Ledger.Seq > 0 {
		return found.Ledger
	}
	l := ledger.FromStatus(&o.ReplicaSet.Status)
	for _, named := range []*ledger.Named{&l.Update, &l.Current} {
		if rev := history.ByHash(named.Hash); rev != nil {
			named.Digest = rev.Digest
		}
	}
	for _, rev := range slices.Backward(history.Revisions) {
		if !rev.Ended.IsZero() && rev.Hash != l.Current.Hash {
			l.Former = append(l.Former, ledger.Named{Hash: rev.Hash, Digest: rev.Digest})
		}
	}
	return l
}

// FromCopy fills in the decisions of the hub from the copy of the ledger on a revision, if the status has no ledger because the CRD is not
// the one of this hub.
func (o *Objects) FromCopy() {
	if o.ReplicaSet.Status.Ledger != "" {
		return
	}
	found := ledger.Read(&ledger.Places{Owner: o.ReplicaSet.UID, History: o.history()})
	if found.Ledger.Seq == 0 {
		return
	}
	set := o.ReplicaSet.DeepCopy()
	if err := found.Ledger.Project(&set.Status); err == nil {
		set.Status.Ledger = ""
		o.ReplicaSet = set
	}
}

func (o *Objects) observed(l ledger.Ledger) *lifecycle.Observation {
	template, err := revision.DigestOf(&o.ReplicaSet.Spec.ManifestWorkTemplate)
	refs, ignored := o.refs()
	return &lifecycle.Observation{
		Now: o.acted(), Object: o.ReplicaSet, PlacementsKnown: true,
		Owner:     workv1alpha1.OwnerLabelValue(o.ReplicaSet.Namespace, o.ReplicaSet.Name),
		OwnerHash: o.hasLongName(),
		Template:  template, TemplateErr: err, Before: l, History: o.history(),
		Refs: refs, IgnoredRefs: ignored, Notes: lifecycle.Notes{Fleet: rollout.Fleet{Works: o.Works}},
	}
}

// hasLongName reports whether a hub with --owner-key-hash rolled out the object, although its owner label is too long.
func (o *Objects) hasLongName() bool {
	set := o.ReplicaSet
	return len(workv1alpha1.OwnerLabelValue(set.Namespace, set.Name)) > workv1alpha1.MaxOwnerLabelLength && set.Status.UpdateRevision != ""
}

// refs returns the placementRefs that the hub uses, and the number of placementRefs that it ignores.
func (o *Objects) refs() (refs []placement.Ref, ignored int) {
	specs := o.ReplicaSet.Spec.PlacementRefs
	counted := min(len(specs), workv1alpha1.MaxPlacementRefs)
	for i := range specs[:counted] {
		ref := placement.Ref{Name: specs[i].Name, Field: fmt.Sprintf("spec.placementRefs[%d]", i), Strategy: specs[i].RolloutStrategy}
		if object := o.Placements[ref.Name]; object != nil {
			ref.Placement = placement.FromDecisions(object, o.Decisions[ref.Name])
		}
		refs = append(refs, ref)
	}
	return refs, len(specs) - counted
}

// handover returns the handover between revisions, computed as the hub does with its default limits. It is nil if dropped objects are
// deleted at once.
func (o *Objects) handover() *rollout.Handover {
	if o.ReplicaSet.Spec.PruneStrategy != workv1alpha1.PruneWhenAvailable {
		return nil
	}
	type pair struct{ to, from revision.Digest }
	known := map[pair]handover.Result{}
	return &rollout.Handover{Combine: func(to, from *work.Revision) handover.Result {
		key := pair{to: to.Digest, from: from.Digest}
		if result, found := known[key]; found {
			return result
		}
		result, err := handover.Combine(to.Template, from.Template, handover.DefaultLimits())
		if err != nil {
			result = handover.Result{NotKept: []string{err.Error()}}
		}
		known[key] = result
		return result
	}}
}
