package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// lost is a revision that should be there and is made anew from the works.
type lost struct {
	hash     string
	template *workv1.ManifestWorkSpec
	// current says that it is the stable one.
	current bool
}

// rebuild makes up for revisions that are not there: at first sight of what an older hub rolled out (R6), and after someone
// deleted one (R7). The pass ends when it wrote any.
func (r *revisionReconciler) rebuild(ctx context.Context, p *pass) (bool, error) {
	var missing []lost
	if len(p.history.Revisions) == 0 && p.revisions.UpdateRevision == "" {
		missing = r.firstSight(p)
	} else {
		missing = r.deleted(p)
	}
	wrote := false
	for i := range missing {
		made, err := r.remake(ctx, p, &missing[i])
		wrote = wrote || made
		if err != nil {
			return wrote, err
		}
	}
	return wrote, nil
}

// firstSight finds the specs that an older hub's works have beside the template's: the upgrade came in the middle of a
// rollout. Where there is exactly one, and a cluster succeeded with it, it is the stable one (R6).
func (r *revisionReconciler) firstSight(p *pass) []lost {
	template, err := r.contents.template(p.object.ManifestWorkReplicaSet)
	if err != nil {
		return nil
	}
	type older struct {
		spec      *workv1.ManifestWorkSpec
		succeeded bool
	}
	found := map[revision.Digest]*older{}
	var order []revision.Digest
	for _, object := range p.works {
		w := rollout.Work{Object: object, Digest: r.memory.digest(object)}
		if w.Hash() != "" || w.Digest == "" || w.Digest == template || w.Deleting() {
			continue
		}
		if found[w.Digest] == nil {
			found[w.Digest] = &older{spec: &object.Spec}
			order = append(order, w.Digest)
		}
		rev := &rollout.Revision{Digest: w.Digest, Template: &object.Spec}
		if rollout.Assess(&w, rev, p.now).State == rollout.Succeeded {
			found[w.Digest].succeeded = true
		}
	}
	missing := make([]lost, 0, len(order))
	for _, digest := range order {
		missing = append(missing, lost{
			hash:     revision.ComputeHash(found[digest].spec, p.revisions.CollisionCount),
			template: found[digest].spec,
			current:  len(order) == 1 && found[digest].succeeded,
		})
	}
	return missing
}

// deleted finds the live revisions that are gone, and what the works that bear their hashes tell of them (R7).
func (r *revisionReconciler) deleted(p *pass) []lost {
	live := sets.New(p.revisions.CurrentRevision, p.revisions.UpdateRevision)
	bearers := map[string][]revision.Candidate{}
	for _, object := range p.works {
		hash := object.Labels[workv1alpha1.LabelControllerHash]
		live.Insert(hash)
		if p.history.ByHash(hash) == nil {
			bearers[hash] = append(bearers[hash], revision.Candidate{Spec: &object.Spec, Digest: r.memory.digest(object)})
		}
	}
	var missing []lost
	for _, hash := range sets.List(live) {
		if hash == "" || p.history.ByHash(hash) != nil {
			continue
		}
		// A hash that the status does not name may be anything that someone put into a label.
		named := hash == p.revisions.CurrentRevision || hash == p.revisions.UpdateRevision
		if template := revision.Rebuild(hash, bearers[hash], p.revisions.CollisionCount, named); template != nil {
			missing = append(missing, lost{hash: hash, template: template, current: hash == p.revisions.CurrentRevision})
		}
	}
	return missing
}

// remake creates a revision under the name that its hash gives it. Where something else has that name, nothing can be
// done; the conditions say so when the revision is needed.
func (r *revisionReconciler) remake(ctx context.Context, p *pass, l *lost) (bool, error) {
	number := p.history.LowerNumber()
	if l.hash == p.revisions.UpdateRevision {
		number = p.history.NextNumber() // It was the newest: its rollout goes on, and is no undo.
	}
	wanted, err := revision.New(p.object.ManifestWorkReplicaSet, l.template, l.hash, number)
	if err != nil {
		return false, err
	}
	if l.current {
		wanted.Annotations[workv1alpha1.AnnotationCurrentSince] = p.now.UTC().Format(time.RFC3339Nano)
	}
	created, err := r.kube.AppsV1().ControllerRevisions(p.object.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("creating ControllerRevision %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	r.wroteRevision(p, created)
	r.event(p, created, corev1.EventTypeNormal, workv1alpha1.EventRevisionRebuilt, "Rebuild",
		fmt.Sprintf("rebuilt revision %s from the ManifestWorks that bear it", created.Name))
	return true, nil
}
