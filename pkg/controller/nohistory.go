package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// historyInterval is how often a pass without a history looks whether there is one now.
const historyInterval = 15 * time.Second

// optionalInformer is one that counts as synced also where its objects may not be read.
type optionalInformer struct {
	cache.SharedIndexInformer
	without func() string
}

// HasSynced says that a controller need not wait for it.
func (i optionalInformer) HasSynced() bool {
	return i.SharedIndexInformer.HasSynced() || i.without() != ""
}

// withoutHistory makes a pass roll out as a hub without revisions would: the template has a revision that exists in memory and
// on the works only, under the name that it will have. There is nothing to go back to, so that a rollout which fails stops.
func (r *revisionReconciler) withoutHistory(ctx context.Context, p *pass, problem string) (bool, error) {
	p.noHistory = problem
	known := p.history // What could be read last.
	p.history = revision.History{}
	p.lookAgain(historyInterval)
	if p.revisions.UpdateRevision == "" {
		p.revisions = r.memory.owners.keptRevisions(p.key)
	}
	digest, err := r.contents.template(p.object.ManifestWorkReplicaSet)
	if invalid := invalidTemplate(p.object.ManifestWorkReplicaSet, err); invalid != "" {
		return r.withoutRevision(ctx, p, invalid)
	}
	template := &p.object.Spec.ManifestWorkTemplate
	hash := r.hashOnWorks(p, digest)
	if hash == "" && p.revisions.AbortedTime != nil {
		aborted, told := p.isAborted(known.ByHash(p.revisions.UpdateRevision), digest)
		if !told {
			return r.withoutRevision(ctx, p, fmt.Sprintf("ControllerRevision %s can't be read, the hub cannot compare the template with the one whose rollout was aborted, and does not roll it out: "+
				"let the hub read ControllerRevisions again, or remove status.abortedTime to roll the template out", revision.Name(p.object.Name, p.revisions.UpdateRevision)))
		}
		if aborted {
			hash = p.revisions.UpdateRevision
		}
	}
	if hash == "" {
		hash = revision.ComputeHash(template, p.revisions.CollisionCount)
	}
	// No revision can tell that a rollout back to the current one is under way: until every cluster is there again there is none.
	if before := p.revisions.UpdateRevision; before != "" && before != hash && p.revisions.CurrentRevision == hash {
		p.revisions.CurrentRevision = ""
	}
	r.memory.owners.rolledOut(p.key, hash, digest)
	p.update = &rollout.Revision{Name: revision.Name(p.object.Name, hash), Hash: hash, Digest: digest, Template: template}
	return true, nil
}

// isAborted says whether the template is the one whose rollout was aborted, and whether that is known. After an abort no work tells which hash
// it had, and the hash that this binary computes today may be another one: of another release, or after collisions (R1, R2).
func (p *pass) isAborted(update *revision.Revision, digest revision.Digest) (aborted, told bool) {
	if update != nil && update.Err == nil {
		return update.Digest == digest, true
	}
	aborted = revision.Names(p.revisions.UpdateRevision, &p.object.Spec.ManifestWorkTemplate, p.revisions.CollisionCount)
	return aborted, aborted
}

// hashOnWorks is the hash that works with a content bear, the update revision's before any other: it stays what it is, whatever
// this binary would compute (R1).
func (r *revisionReconciler) hashOnWorks(p *pass, digest revision.Digest) string {
	found := ""
	for _, work := range p.works {
		hash := work.Labels[workv1alpha1.LabelControllerHash]
		if hash == "" || r.memory.works.digest(work) != digest {
			continue
		}
		if hash == p.revisions.UpdateRevision {
			return hash
		}
		if found == "" || hash < found {
			found = hash
		}
	}
	return found
}
