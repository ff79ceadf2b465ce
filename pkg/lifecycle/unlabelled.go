package lifecycle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// unlabelled looks for the current and the update revision if the history lacks them: a user may have removed the labels by which the
// cache finds them. A deleted revision stays deleted, except the revision of the template in the spec, which is recreated.
func (c *chain) unlabelled() bool {
	for _, hash := range sets.List(sets.New(c.Ledger.Current.Hash, c.Ledger.Update.Hash).Delete("")) {
		if c.History.ByHash(hash) != nil {
			continue
		}
		switch found := c.reclaim(hash); {
		case found.over:
			return false
		case found.failed != nil:
			c.Problems = append(c.Problems, Problem{Failed: found.failed})
		case found.wrote:
			return c.end(Written)
		}
	}
	return true
}

// reclaim finds a revision by its name, and restores its labels. Without them, no cache shows the revision, and it does not count. Its
// content is intact: the data of a ControllerRevision never changes.
func (c *chain) reclaim(hash string) batch {
	name := revision.Name(c.Object.Name, hash)
	found := c.ask(Request{Action: ReadLive, Key: "look for " + name, Name: name})
	switch {
	case found == nil:
		return batch{over: true}
	case found.Result == Missing:
		return batch{}
	case found.Result != Done:
		return batch{failed: found}
	case !metav1.IsControlledBy(found.Object, c.Object):
		return batch{}
	}
	labels := map[string]string{
		workv1alpha1.LabelControllerHash: hash,
		workv1alpha1.LabelReplicaSet:     workv1alpha1.RevisionLabelValue(c.Object.Namespace, c.Object.Name),
	}
	answer := c.ask(patch(Relabel, "relabel", found.Object, Patch{Labels: labels}))
	switch {
	case answer == nil:
		return batch{over: true}
	case answer.Result != Done:
		c.fail(answer)
		return batch{over: true}
	}
	return batch{wrote: true}
}

// LiveHashes returns the hashes of the revisions that are never pruned: the current and the update revision, the revisions that works have,
// and the revisions whose objects works keep.
func (v *Observation) LiveHashes(l *ledger.Ledger) sets.Set[string] {
	live := sets.New(l.Current.Hash, l.Update.Hash)
	for i := range v.Notes.Works {
		if hash := v.Notes.Works[i].Hash(); i == 0 || hash != v.Notes.Works[i-1].Hash() { // Most works have the same hash as the previous work.
			live.Insert(hash)
		}
		if v.Object.Spec.PruneStrategy == workv1alpha1.PruneWhenAvailable {
			live.Insert(v.Notes.Works[i].KeptRevision()) // A restarted hub needs it to recognize the content of the work.
		}
	}
	return live.Delete("")
}
