// Package ledger holds all decisions about one ManifestWorkReplicaSet as one value, the Ledger: which revision is rolled out, which
// revision is stable, whether the rollout was aborted, and which clusters failed.
//
// The ledger is stored in two places: status.ledger, and a copy in an annotation of a ControllerRevision. Its number, Seq, increases by
// one with each decision. Read returns the ledger that counts (R40). The status fields for users are its projection, which the hub writes
// in the same request. A field that differs from the projection of the ledger in the same status is a command: see CommandsIn (R41).
//
// The package is pure. It makes no decisions about clusters.
package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Format is the format of the ledgers that this build writes. This build does not touch an object whose ledger has a higher format.
const Format = 1

// Ledger holds the decisions about one ManifestWorkReplicaSet. Its maps and slices are shared: replace them, do not modify them in place.
type Ledger struct {
	// Format, Owner and Seq keep their names in every format. Owner is the UID of the object: a ledger that came with a copied manifest, or
	// with a backup of another object, does not count. Seq increases by one with each decision; 0 if nothing was decided.
	Format int       `json:"format"`
	Owner  types.UID `json:"owner"`
	Seq    int64     `json:"seq"`

	// Update is the revision that is rolled out. Current is the stable revision, which an abort restores; its hash is empty if there is none.
	Update  Named `json:"update,omitzero"`
	Current Named `json:"current,omitzero"`
	// OnlyOn is the only cluster that had the stable revision when this hub found it; empty otherwise. No other cluster returns to it.
	OnlyOn string `json:"onlyOn,omitempty"`
	// Surpassed is the hash of the last stable revision if another hub rolled out after it; empty otherwise.
	Surpassed string `json:"surpassed,omitempty"`
	// Former are the previous stable revisions that are older than the stable one, the latest first. They may have been deleted.
	Former []Named `json:"former,omitempty"`

	// Begun describes when and how the rollout of Update began. Ended is the time at which it was completed; zero until
	// then.
	Begun Beginning `json:"begun,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// Abort is the abort of the rollout; nil if it was not aborted.
	Abort *revision.Abort `json:"abort,omitempty"`
	// Reached is how many clusters had Update when the rollout was aborted; nil if it was not aborted, or if an earlier release aborted it.
	// The abort takes the revision from them, perhaps before the revision can be written to record this number.
	Reached *int32 `json:"reached,omitempty"`
	// WouldAbort is the abort that failureStrategy ReportAbort did not carry out; nil for none.
	WouldAbort *revision.WouldAbort `json:"wouldAbort,omitempty"`

	// Troubles are the clusters that have failed, that are rejected or degraded, or that a user retries, sorted by cluster.
	Troubles []Trouble `json:"troubles,omitempty"`
	// Halted maps the Placement of each halted placementRef to when the halt began.
	Halted map[string]time.Time `json:"halted,omitempty"`
	// Approvals are the decision groups that users approved for Update, sorted by group.
	Approvals []revision.Approval `json:"approvals,omitempty"`
	// Baking maps each listed decision group, as "<Placement>/<group>", to when its bakeTime began.
	Baking map[string]time.Time `json:"baking,omitempty"`
	// Counted maps each Placement to the largest number of clusters that counted toward it since the rollout began: the base of a percentage.
	Counted map[string]int `json:"counted,omitempty"`
	// Served is a digest of the clusters that had the stable revision when the hub last knew the works of all selected clusters during a
	// pause over a broker. It is kept after the pause; empty before the first one.
	Served string `json:"served,omitempty"`
	// Lost is true if the hub found the rollout already in progress, and does not know which clusters have failed.
	Lost bool `json:"lost,omitempty"`
	// Preserve is true if the object is being deleted and its workloads stay on the clusters.
	Preserve bool `json:"preserve,omitempty"`
	// Collisions is the number of times that the name of a new revision was already taken.
	Collisions int32 `json:"collisions,omitempty"`
}

// Named identifies a revision by its hash. Digest identifies the content of its template, even after the revision is deleted.
type Named struct {
	Hash   string          `json:"hash,omitempty"`
	Digest revision.Digest `json:"digest,omitempty"`
}

// How describes how a rollout began.
type How string

// The ways in which a rollout begins.
const (
	// New means that the template got a new revision.
	New How = "New"
	// Found means that the template returned to a revision that was never the stable one.
	Found How = "Found"
	// Returned means that the template returned to a previous stable revision: an undo.
	Returned How = "Returned"
)

// Beginning describes when and how a rollout began.
type Beginning struct {
	At  time.Time `json:"at,omitzero"`
	How How       `json:"how,omitempty"`
	// AtOnce is true if the undo is within spec.rollbackWindow: it reaches every cluster at once.
	AtOnce bool `json:"atOnce,omitempty"`
	// Retried is the time at which the whole rollout was last retried after an abort; zero if it was not.
	Retried time.Time `json:"retried,omitzero"`
}

// Last returns the time at which the rollout last began: the time of its last retry, or of its start if it was not
// retried.
func (b *Beginning) Last() time.Time {
	if b.Retried.After(b.At) {
		return b.Retried
	}
	return b.At
}

// Again reports whether works may already have had the revision when the rollout began.
func (b *Beginning) Again() bool { return b.How != New || !b.Retried.IsZero() }

// State is the kind of a Trouble.
type State string

// The states of a Trouble.
const (
	// Failed means that the cluster failed at the update revision. It stays failed until it has succeeded for long enough.
	Failed State = "Failed"
	// Rejected means that the API server rejects the cluster's work. The cluster is in flight.
	Rejected State = "Rejected"
	// Unrestored means that the API server rejects the write with which an abort restores the cluster's work.
	Unrestored State = "Unrestored"
	// Degraded means that the cluster was degraded when its placementRef was halted. It stays degraded until it is healthy.
	Degraded State = "Degraded"
	// TriedAgain means that a user removed the cluster's failure at Since. Its deadline runs from that time.
	TriedAgain State = "TriedAgain"
	// Passed means that the cluster became unavailable after its success, with its success gates, had settled.
	Passed State = "Passed"
)

// Trouble is a problem, a retry or an outcome of one cluster.
type Trouble struct {
	Cluster   string                     `json:"cluster"`
	State     State                      `json:"state"`
	Placement string                     `json:"placement,omitempty"`
	Since     time.Time                  `json:"since"`
	Reason    workv1alpha1.FailureReason `json:"reason,omitempty"`
	Message   string                     `json:"message,omitempty"`
}

// Approved reports whether a user approved a decision group for the update revision.
func (l *Ledger) Approved(group string) bool {
	return slices.ContainsFunc(l.Approvals, func(a revision.Approval) bool { return a.Group == group })
}

// Complete reports whether the rollout of Update is complete.
func (l *Ledger) Complete() bool { return l.Update.Hash != "" && !l.Ended.IsZero() }

// Formerly returns the position of a template: 0 for the stable revision, or its position in Former, starting at 1.
func (l *Ledger) Formerly(digest revision.Digest) (place int, known bool) {
	if digest == "" {
		return 0, false
	}
	if digest == l.Current.Digest {
		return 0, true
	}
	at := slices.IndexFunc(l.Former, func(f Named) bool { return f.Digest == digest })
	return at + 1, at >= 0
}

// WasCurrent reports whether a revision is the stable one, or was stable and no older revision has become stable since.
func (l *Ledger) WasCurrent(hash string) bool {
	return hash != "" && (hash == l.Current.Hash || slices.ContainsFunc(l.Former, func(f Named) bool { return f.Hash == hash }))
}

// Undoes reports whether the rollout returns to a revision that is older than the stable one.
func (l *Ledger) Undoes() bool {
	place, former := l.Formerly(l.Update.Digest)
	return former && place > 0 && l.Update.Hash != l.Current.Hash
}

// TroublesIn returns the troubles that have a state, by cluster.
func (l *Ledger) TroublesIn(state State) map[string]Trouble {
	found := map[string]Trouble{}
	for i := range l.Troubles {
		if l.Troubles[i].State == state {
			found[l.Troubles[i].Cluster] = l.Troubles[i]
		}
	}
	return found
}

func (l *Ledger) clear() {
	l.Ended, l.Abort, l.Troubles, l.Halted, l.Counted, l.Lost = time.Time{}, nil, nil, nil, nil, false
	l.Approvals, l.Baking, l.WouldAbort, l.Reached = nil, nil, nil, nil
}

// Begin starts the rollout of a revision.
func (l *Ledger) Begin(update Named, how How, at time.Time, atOnce bool) {
	l.clear()
	l.Update, l.Begun = update, Beginning{At: at, How: how, AtOnce: atOnce}
}

// Retry restarts an aborted rollout. The earlier results of the clusters do not count.
func (l *Ledger) Retry(at time.Time) {
	l.clear()
	l.Begun.Retried, l.Begun.AtOnce = at, false
}

// AbortWith aborts the rollout, which has reached a number of clusters.
func (l *Ledger) AbortWith(abort *revision.Abort, reached int) {
	l.Abort, l.Reached, l.Begun.AtOnce = abort, ptr.To(int32(reached)), false //nolint:gosec // No hub has two billion clusters.
}

// MostReached returns the largest number of clusters that had Update when one of its rollouts ended, given the recorded number and how many
// clusters have Update now. It is nil if the number is unknown.
func (l *Ledger) MostReached(recorded *int32, now int) *int32 {
	if l.Abort != nil && l.Reached == nil {
		return recorded
	}
	return ptr.To(max(ptr.Deref(recorded, 0), ptr.Deref(l.Reached, 0), int32(now))) //nolint:gosec // No hub has two billion clusters.
}

// SetUnrestored replaces the troubles of clusters that the API server does not let an abort restore.
func (l *Ledger) SetUnrestored(unrestored []Trouble) {
	others := slices.DeleteFunc(slices.Clone(l.Troubles), func(t Trouble) bool { return t.State == Unrestored })
	l.SetTroubles(append(others, unrestored...))
}

// End completes the rollout: its revision becomes the stable one.
func (l *Ledger) End(at time.Time) {
	if last := l.Begun.Last(); at.Before(last) {
		at = last // The clock was set back.
	}
	l.MakeCurrent(l.Update, "")
	l.Ended, l.Lost = at, false
}

// maxFormer is the number of former stable revisions that the ledger names.
const maxFormer = 20

// MakeCurrent makes a revision the stable one. It drops former revisions that are not older than this one.
func (l *Ledger) MakeCurrent(current Named, onlyOn string) {
	former := l.Former
	if l.Current.Hash != "" && l.Current.Digest != current.Digest {
		former = append([]Named{l.Current}, former...)
	}
	if at := slices.IndexFunc(former, func(f Named) bool { return f.Digest == current.Digest }); at >= 0 {
		former = former[at+1:]
	}
	l.Former = slices.Clone(former[:min(len(former), maxFormer)])
	l.Current, l.OnlyOn, l.Surpassed = current, onlyOn, ""
}

// ForgetCurrent notes that another hub rolled out a revision newer than the stable one: no revision is stable. If the stable revision is
// also the update revision, its rollout is in progress again: a revision becomes stable only at the end of a rollout.
func (l *Ledger) ForgetCurrent() {
	if l.Update.Hash == l.Current.Hash {
		l.clear()
		l.Begun.AtOnce = false
	}
	l.Surpassed = l.Current.Hash
	l.Current, l.OnlyOn, l.Former = Named{}, "", nil
}

// SetTroubles replaces the troubles.
func (l *Ledger) SetTroubles(troubles []Trouble) {
	slices.SortFunc(troubles, func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.State, b.State))
	})
	l.Troubles = troubles
}

// Preserves reports whether the workloads of a terminating object stay, given spec.preserveResourcesOnDeletion. Only the value false
// reverses an earlier decision to preserve: if the field is missing, an older CRD may have dropped it.
func (l *Ledger) Preserves(asked *bool) bool { return ptr.Deref(asked, l.Preserve) }

// Follow makes the ledger the successor of another ledger of the object. It gets the next number if its decisions differ.
func (l *Ledger) Follow(before *Ledger, owner types.UID) {
	l.Format, l.Owner, l.Seq = Format, owner, before.Seq
	if before.Seq == 0 || !l.Equal(before) {
		l.Seq++
	}
}

// Equal reports whether two ledgers hold the same decisions.
func (l *Ledger) Equal(other *Ledger) bool {
	a, errA := l.Encode()
	b, errB := other.Encode()
	return errA == nil && errB == nil && a == b
}

// Clone returns a copy that shares nothing that a transition modifies in place.
func (l *Ledger) Clone() Ledger {
	out := *l
	out.Former, out.Troubles = slices.Clone(l.Former), slices.Clone(l.Troubles)
	out.Approvals = slices.Clone(l.Approvals)
	out.Halted, out.Counted, out.Baking = maps.Clone(l.Halted), maps.Clone(l.Counted), maps.Clone(l.Baking)
	if l.Abort != nil {
		abort := *l.Abort
		out.Abort = &abort
	}
	if l.WouldAbort != nil {
		would := *l.WouldAbort
		out.WouldAbort = &would
	}
	return out
}

// Gated reports whether success gates apply. They apply while the rollout is in progress, unless it is aborted or returns every cluster at
// once.
func (l *Ledger) Gated() bool {
	return l.Ended.IsZero() && l.Abort == nil && l.Current.Hash != l.Update.Hash && !l.Begun.AtOnce
}
