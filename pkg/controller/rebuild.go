package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// lost is a revision that should be there and is made anew from the works.
type lost struct {
	hash string
	// template is nil where no work tells what it held.
	template *workv1.ManifestWorkSpec
	// current says that it is the stable one.
	current bool
	// recorded says that another hub rolled it out.
	recorded bool
}

// rebuild makes up for revisions that someone deleted (R7). The pass ends when it wrote any.
func (r *revisionReconciler) rebuild(ctx context.Context, p *pass) (wrote bool, err error) {
	if len(p.history.Revisions) == 0 && p.revisions.UpdateRevision == "" {
		return false, nil // There never was one.
	}
	missing, err := r.deleted(ctx, p)
	if err != nil {
		return false, err
	}
	for i := range missing {
		number := p.history.LowerNumber()
		if missing[i].hash == p.revisions.UpdateRevision {
			// It was the newest: its rollout goes on, and is no undo.
			number = max(p.history.NextNumber(), int64(len(missing)))
		}
		made, err := r.remake(ctx, p, &missing[i], number)
		wrote = wrote || made
		if err != nil {
			return wrote, err
		}
	}
	return wrote, nil
}

// deleted finds the live revisions that are gone, and what the works that bear their hashes tell of them (R7).
func (r *revisionReconciler) deleted(ctx context.Context, p *pass) ([]lost, error) {
	live := sets.New(p.revisions.CurrentRevision, p.revisions.UpdateRevision)
	bearers := map[string][]revision.Candidate{}
	for _, object := range p.works {
		hash := object.Labels[workv1alpha1.LabelControllerHash]
		live.Insert(hash)
		if p.history.ByHash(hash) != nil {
			continue
		}
		var err error
		if bearers[hash], err = r.bearer(ctx, p, object, bearers[hash]); err != nil {
			return nil, err
		}
	}
	var missing []lost
	for _, hash := range sets.List(live) {
		if hash == "" || p.history.ByHash(hash) != nil {
			continue
		}
		// A hash that the status does not name may be anything that someone put into a label.
		named := hash == p.revisions.CurrentRevision || hash == p.revisions.UpdateRevision
		if template := revision.Rebuild(hash, bearers[hash], p.revisions.CollisionCount, named); template != nil || named {
			missing = append(missing, lost{hash: hash, template: template, current: hash == p.revisions.CurrentRevision})
		}
	}
	return missing, nil
}

// bearer adds what a work holds to the others that bear its hash, each once.
func (r *revisionReconciler) bearer(ctx context.Context, p *pass, object *workv1.ManifestWork, known []revision.Candidate) ([]revision.Candidate, error) {
	candidate := revision.Candidate{Digest: r.memory.works.digest(object)}
	if slices.ContainsFunc(known, func(c revision.Candidate) bool { return c.Digest == candidate.Digest }) {
		return known, nil
	}
	if candidate.Digest != "" {
		var err error
		if candidate.Spec, err = r.spec(ctx, p, object, candidate.Digest); err != nil {
			return nil, err
		}
	}
	return append(known, candidate), nil
}

// remake creates a revision with a number under the name that its hash gives it. Where something has that name that is not this
// object's, nothing can be done; the conditions say so when the revision is needed.
func (r *revisionReconciler) remake(ctx context.Context, p *pass, l *lost, number int64) (bool, error) {
	if l.template == nil {
		return r.reclaim(ctx, p, l.hash)
	}
	wanted, err := revision.New(p.object.ManifestWorkReplicaSet, l.template, l.hash, number)
	if err != nil {
		return false, err
	}
	if l.recorded {
		wanted.Annotations[workv1alpha1.AnnotationRecorded] = p.now.UTC().Format(timeFormat)
	}
	if l.current {
		wanted.Annotations[workv1alpha1.AnnotationCurrentSince] = p.history.NextCurrentSince(p.now).UTC().Format(timeFormat)
	}
	created, err := r.kube.AppsV1().ControllerRevisions(p.object.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.reclaim(ctx, p, l.hash)
	case err != nil:
		return false, revisionRequest("creating", wanted.Namespace, wanted.Name, err)
	}
	r.wroteRevision(p, created)
	r.event(p, created, corev1.EventTypeNormal, workv1alpha1.EventRevisionRebuilt, "Rebuild",
		fmt.Sprintf("rebuilt revision %s from the ManifestWorks that bear it", created.Name))
	return true, nil
}

// reclaim finds a revision that is there by its name, and gives it back the labels that someone took away: without them no cache
// shows it, and it does not count (R7). It holds what it held: the data of a ControllerRevision never changes.
func (r *revisionReconciler) reclaim(ctx context.Context, p *pass, hash string) (bool, error) {
	name := revision.Name(p.object.Name, hash)
	live, err := r.kube.AppsV1().ControllerRevisions(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, revisionRequest("looking for", p.object.Namespace, name, err)
	case !metav1.IsControlledBy(live, p.object):
		return false, nil
	}
	return true, r.relabel(ctx, p, live, map[string]string{
		workv1alpha1.LabelControllerHash: hash, workv1alpha1.LabelReplicaSet: p.owner,
	})
}
