package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// lost is a revision that should be there, and is created again.
type lost struct {
	hash string
	// template is nil where no work tells what it held.
	template *workv1.ManifestWorkSpec
	// current says that it is the stable one.
	current bool
	// recorded says that another hub rolled it out.
	recorded bool
	// onlyOn is the one cluster that another hub's revision was found on; empty where there were more.
	onlyOn string
	// entry is what is remembered of one that was deleted.
	entry revision.Entry
}

// verb says what creating it is.
func (l *lost) verb() string {
	if l.recorded {
		return "recorded what another hub rolled out as"
	}
	return "rebuilt"
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

// deleted finds the live revisions that are gone, and what they held (R7). Only those count that the status names, or that this hub
// remembers: any other hash may be one that somebody put into a label.
func (r *revisionReconciler) deleted(ctx context.Context, p *pass) ([]lost, error) {
	named := sets.New(p.revisions.CurrentRevision, p.revisions.UpdateRevision)
	var missing []lost
	for _, hash := range sets.List(p.liveHashes()) {
		if p.history.ByHash(hash) != nil {
			continue
		}
		entry, remembered := p.history.Entry(hash)
		if !remembered {
			entry.Digest = r.memory.owners.rolledOutAs(p.key, hash)
		}
		template, err := r.contentOf(ctx, p, hash, entry.Digest)
		if err != nil {
			return nil, err
		}
		if template != nil || named.Has(hash) {
			missing = append(missing, lost{hash: hash, template: template, current: hash == p.revisions.CurrentRevision, entry: entry})
		}
	}
	return missing, nil
}

// liveHashes are those that are never pruned: the current and the update revision's, and those that works bear (R5).
func (p *pass) liveHashes() sets.Set[string] {
	live := sets.New(p.revisions.CurrentRevision, p.revisions.UpdateRevision)
	for _, work := range p.works {
		live.Insert(work.Labels[workv1alpha1.LabelControllerHash])
	}
	return live.Delete("")
}

// contentOf is what a lost revision held; nil where nothing shows it. It is the content of the spec, or of a work of a selected cluster that
// bears the hash, that has the digest which this hub recorded. Without a record only the spec itself can be what the update revision held:
// works prove nothing, also where they agree (R7).
func (r *revisionReconciler) contentOf(ctx context.Context, p *pass, hash string, recorded revision.Digest) (*workv1.ManifestWorkSpec, error) {
	template := &p.object.Spec.ManifestWorkTemplate
	digest, err := r.contents.template(p.object.ManifestWorkReplicaSet)
	bearers := p.selectedBearers(hash)
	switch {
	case err != nil:
	case recorded != "" && digest == recorded:
		return template, nil
	case recorded == "" && hash == p.revisions.UpdateRevision:
		has := func(work *workv1.ManifestWork) bool { return r.memory.works.digest(work) == digest }
		if slices.ContainsFunc(bearers, has) || revision.Names(hash, template, p.revisions.CollisionCount) {
			return template, nil
		}
	}
	if recorded == "" {
		return nil, nil
	}
	for _, work := range bearers {
		if r.memory.works.digest(work) != recorded {
			continue
		}
		spec, err := r.spec(ctx, p, work, recorded)
		if err != nil {
			return nil, err
		}
		if revision.Holds(spec, recorded) {
			return spec, nil
		}
	}
	return nil, nil
}

// selectedBearers are the works of selected clusters that bear a hash.
func (p *pass) selectedBearers(hash string) []*workv1.ManifestWork {
	owners := rollout.Owners(p.refs)
	var bearers []*workv1.ManifestWork
	for _, work := range p.works {
		if _, selected := owners[work.Namespace]; selected && work.Labels[workv1alpha1.LabelControllerHash] == hash {
			bearers = append(bearers, work)
		}
	}
	return bearers
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
	if err := p.annotateRemade(wanted, l); err != nil {
		return false, err
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
		fmt.Sprintf("%s revision %s", l.verb(), created.Name))
	return true, nil
}

// annotateRemade says on a revision that is made from works what is known of it: where it comes from, when it was created first (R12), since
// when it was the current one (R16), and what it remembers of the others (R7).
func (p *pass) annotateRemade(wanted *appsv1.ControllerRevision, l *lost) error {
	set := func(key string, at time.Time) { wanted.Annotations[key] = at.UTC().Format(timeFormat) }
	if l.recorded {
		set(workv1alpha1.AnnotationRecorded, p.now)
		if l.onlyOn != "" {
			wanted.Annotations[workv1alpha1.AnnotationRecordedOn] = l.onlyOn
		}
	} else {
		set(workv1alpha1.AnnotationFirstCreated, p.now)
		if !l.entry.Created.IsZero() {
			set(workv1alpha1.AnnotationFirstCreated, l.entry.Created)
		}
	}
	since := l.entry.CurrentSince
	if l.current && !since.After(p.latestCurrentSince()) {
		since = p.history.NextCurrentSince(p.now)
	}
	if !since.IsZero() {
		set(workv1alpha1.AnnotationCurrentSince, since)
	}
	if l.hash != p.revisions.UpdateRevision {
		return nil
	}
	ledger, err := p.ledgerOf(l.hash, p.remembered()).Encode()
	wanted.Annotations[workv1alpha1.AnnotationDigests] = ledger
	return err
}

// latestCurrentSince is when a revision that is there became the current one last; zero when none did.
func (p *pass) latestCurrentSince() (since time.Time) {
	if latest := p.history.LatestCurrent(); latest != nil {
		since, _ = latest.CurrentSince()
	}
	return since
}

// remembered are the hashes of the revisions that today's template's remembers: the live ones, and what another hub left.
func (p *pass) remembered() sets.Set[string] {
	hashes := p.liveHashes()
	for i := range p.history.Revisions {
		if p.history.Revisions[i].Recorded() {
			hashes.Insert(p.history.Revisions[i].Hash)
		}
	}
	return hashes
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
