package lifecycle

import (
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// remembered are the hashes of the revisions that today's template's remembers: the live ones, and what another hub left.
func (c *chain) remembered() sets.Set[string] {
	hashes := c.LiveHashes(&c.Revisions)
	for i := range c.History.Revisions {
		if c.History.Revisions[i].Recorded() {
			hashes.Insert(c.History.Revisions[i].Hash)
		}
	}
	return hashes
}

// ledgerOf is what a revision shall remember of others. That the current one was there is remembered also where nothing shows what it held.
func (c *chain) ledgerOf(hash string, others sets.Set[string]) revision.Ledger {
	ledger := c.History.LedgerOf(hash, others)
	if current := c.Revisions.CurrentRevision; current != "" && current != hash {
		if _, known := ledger[current]; !known {
			ledger[current] = revision.Entry{}
		}
	}
	return ledger
}

// encodedLedger is what a revision remembers of others when it is created or becomes the newest one: the live ones, and the former current ones,
// which the history limit may delete (R7).
func (c *chain) encodedLedger(hash string) (string, error) {
	ledger := c.ledgerOf(hash, c.remembered())
	c.History.AddFormer(ledger, hash)
	return ledger.Encode()
}

// remember makes sure that the update revision remembers what the other live ones are, should somebody delete them (R7). The pass ends
// where that is written: once after an upgrade, as a revision that is created remembers it from the start.
func (c *chain) remember() *Step {
	update := c.History.ByDigest(c.Template)
	c.Update = work.NewRevision(update)
	if !update.Lacks(c.ledgerOf(update.Hash, c.LiveHashes(&c.Revisions))) {
		return nil
	}
	ledger, err := c.encodedLedger(update.Hash)
	if err != nil {
		return c.failed(&Answer{Key: "remember", Result: Failed, Err: err})
	}
	change := Patch{Annotations: map[string]any{workv1alpha1.AnnotationDigests: ledger}}
	return c.write(patch(Remember, "remember", update.Object, change, "the newest revision does not remember every live one"), c.despite)
}
