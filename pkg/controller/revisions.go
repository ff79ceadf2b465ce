package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// revisionReconciler sees to it that today's template has a revision, and that it is the newest (R1, R2, R3).
type revisionReconciler struct{ *Controller }

func (r *revisionReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	if p.object.decodeErr != nil {
		return r.withoutSpec(ctx, p)
	}
	if err := r.observe(p); err != nil {
		return false, err
	}
	if len(p.owner) > workv1alpha1.MaxOwnerLabelLength {
		return false, r.reportInvalid(ctx, p, status.InvalidOwnerLabel(p.owner))
	}
	if problem := r.historyProblem(); problem != "" {
		return r.withoutHistory(ctx, p, problem)
	}
	r.tellIgnored(p)
	r.tellBroken(p)
	if settled, goOn, err := r.settlePast(ctx, p); settled {
		return goOn, err
	}
	return r.findRevision(ctx, p)
}

// settlePast sees to it that the history is whole before today's template is looked for in it. settled says that the step ends with that.
func (r *revisionReconciler) settlePast(ctx context.Context, p *pass) (settled, goOn bool, err error) {
	rebuilt, err := r.rebuild(ctx, p)
	if rebuilt || apierrors.IsConflict(err) {
		return true, false, err
	}
	p.rebuildStatus()
	if err != nil {
		refused := r.refused(p, err)
		if p.history.ByHash(p.revisions.UpdateRevision) == nil {
			p.pending = true
			goOn, err = r.withoutRevision(ctx, p, refused) // Under a new hash it would be another rollout (R1).
			return true, goOn, err
		}
		p.problem(refused)
	}
	// What another hub left has to be recorded before today's template is: that there is none yet tells that this was not done (R6).
	wrote, err := r.lookBack(ctx, p)
	if wrote || apierrors.IsConflict(err) {
		return true, false, err
	}
	if err != nil {
		p.pending = true
		goOn, err = r.withoutRevision(ctx, p, r.refused(p, err)+"; until then nothing new is rolled out")
		return true, goOn, err
	}
	recorded, err := r.settleCurrent(ctx, p)
	if recorded || apierrors.IsConflict(err) {
		return true, false, err
	}
	if err != nil {
		p.problem(r.refused(p, err))
	}
	return false, true, nil
}

// findRevision finds or makes the revision of today's template, the newest of all.
func (r *revisionReconciler) findRevision(ctx context.Context, p *pass) (bool, error) {
	digest, err := r.contents.template(p.object.ManifestWorkReplicaSet)
	if invalid := invalidTemplate(p.object.ManifestWorkReplicaSet, err); invalid != "" {
		return r.withoutRevision(ctx, p, invalid)
	}
	found := p.history.ByDigest(digest)
	switch {
	case found == nil:
		err = r.create(ctx, p, digest)
	case found.Object != p.history.Newest().Object:
		err = r.renumber(ctx, p, found)
	default:
		p.update = rollout.NewRevision(found)
		return r.remember(ctx, p, found)
	}
	if err == nil || apierrors.IsConflict(err) {
		return false, err
	}
	p.pending = true
	return r.withoutRevision(ctx, p, r.refused(p, err)+"; until then nothing new is rolled out")
}

// invalidTemplate says what is wrong with a template that no agent could apply.
func invalidTemplate(object *workv1alpha1.ManifestWorkReplicaSet, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("spec.manifestWorkTemplate.%v: write each manifest as a Kubernetes object", err)
	case len(object.Spec.ManifestWorkTemplate.Workload.Manifests) == 0:
		return "spec.manifestWorkTemplate.workload.manifests is empty: put at least one manifest there, or delete the ManifestWorkReplicaSet to take everything off the clusters"
	}
	return ""
}

// withoutRevision makes a pass where today's template has no revision: no agent could apply it, or the API server refuses to record it. It
// can't be rolled out, and what the status names is not the template any more, so that nothing is started. But an abort that is under
// way is finished (R4), and a rollout that was under way and fails is aborted (R12): no newer one takes its place yet.
func (r *revisionReconciler) withoutRevision(ctx context.Context, p *pass, problem string) (bool, error) {
	aborted := p.revisions.AbortedTime != nil
	if !aborted && (p.noHistory != "" || p.revisions.UpdateRevision == "") {
		return false, r.reportInvalid(ctx, p, status.InvalidSpec(problem))
	}
	p.problem(problem)
	p.update = p.revisionNamed(p.revisions.UpdateRevision)
	p.held = !aborted
	return true, nil
}

// revisionNamed finds a revision by its hash. One that is gone or unreadable is still named; no work is at it.
func (p *pass) revisionNamed(hash string) *rollout.Revision {
	if found := p.history.ByHash(hash); found != nil && found.Err == nil {
		return rollout.NewRevision(found)
	}
	return &rollout.Revision{Name: revision.Name(p.object.Name, hash), Hash: hash, Digest: "gone"}
}

// tellIgnored says once which objects pretend to be revisions.
func (r *revisionReconciler) tellIgnored(p *pass) {
	for _, ignored := range p.history.Ignored {
		r.ignore(p, ignored)
	}
}

// tellBroken names the live revisions that can't be read. The stable one is a problem before it is needed: nothing can be aborted (R12).
// Today's template gets another revision, like one whose name is taken (R2).
func (r *revisionReconciler) tellBroken(p *pass) {
	for i := range p.history.Revisions {
		rev := &p.history.Revisions[i]
		if rev.Err == nil {
			continue
		}
		current := rev.Hash == p.revisions.CurrentRevision
		if !current && p.bearers(rev.Hash) == 0 {
			continue
		}
		broken := p.broken(rev)
		r.ignore(p, broken)
		if current {
			p.problem(broken)
		}
	}
}

// broken returns what is wrong with a revision that can't be read, and the remedy. Only the works that have its hash still hold its content (R7).
func (p *pass) broken(rev *revision.Revision) string {
	switch n := p.bearers(rev.Hash); n {
	case 0:
		return rev.Err.Error() + "; no ManifestWork has its hash, so nothing can be rolled back to it: put a good template into the spec"
	case 1:
		return rev.Err.Error() + "; 1 ManifestWork has its hash: delete the ControllerRevision, and the hub rebuilds it from that work"
	default:
		return fmt.Sprintf("%v; %d ManifestWorks have its hash: delete the ControllerRevision, and the hub rebuilds it from one of them", rev.Err, n)
	}
}

// bearers returns how many works have the hash.
func (p *pass) bearers(hash string) int {
	n := 0
	for _, work := range p.works {
		if work.Labels[workv1alpha1.LabelControllerHash] == hash {
			n++
		}
	}
	return n
}

// ignore says once that an object does not count as a revision.
func (r *revisionReconciler) ignore(p *pass, why string) {
	if r.memory.told.announce(p.key, why) {
		r.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventRevisionIgnored, "Observe", why)
	}
}

// rebuildStatus makes up for a status that was lost, from what the revisions tell: an older CRD prunes it, a restore
// drops it. A lost status is never a retry, and never a first rollout (R16).
func (p *pass) rebuildStatus() {
	newest := p.history.Newest()
	if p.revisions.UpdateRevision != "" || newest == nil {
		return
	}
	p.revisions.UpdateRevision = newest.Hash
	if latest := p.history.LatestCurrent(); latest != nil && p.revisions.CurrentRevision == "" {
		p.revisions.CurrentRevision = latest.Hash
	}
	if at, aborted := newest.AbortedAt(); aborted && p.revisions.AbortedTime == nil {
		p.revisions.AbortedTime = ptr.To(metav1.NewTime(at))
	}
}

// create makes the revision of a template that has none (R2). The pass ends with it.
func (r *revisionReconciler) create(ctx context.Context, p *pass, digest revision.Digest) error {
	template := &p.object.Spec.ManifestWorkTemplate
	hash := revision.ComputeHash(template, p.revisions.CollisionCount)
	wanted, err := revision.New(p.object.ManifestWorkReplicaSet, template, hash, p.history.NextNumber())
	if err != nil {
		return err
	}
	if wanted.Annotations[workv1alpha1.AnnotationDigests], err = p.ledgerOf(hash, p.remembered()).Encode(); err != nil {
		return err
	}
	p.annotateReturn(wanted, hash, digest)
	client := r.kube.AppsV1().ControllerRevisions(p.object.Namespace)
	created, err := client.Create(ctx, wanted, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.wroteRevision(p, created)
		r.event(p, created, corev1.EventTypeNormal, workv1alpha1.EventRevisionCreated, "Create", fmt.Sprintf("created revision %s", created.Name))
		return nil
	case !apierrors.IsAlreadyExists(err):
		return revisionRequest("creating", wanted.Namespace, wanted.Name, err)
	}
	live, err := client.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return revisionRequest("reading", wanted.Namespace, wanted.Name, err)
	}
	if !metav1.IsControlledBy(live, p.object) || revision.Decode(live).Digest != digest {
		r.ignore(p, taken(live, p.object))
		return r.collide(ctx, p)
	}
	for key, value := range wanted.Labels {
		if live.Labels[key] != value {
			return r.relabel(ctx, p, live, wanted.Labels)
		}
	}
	r.wroteRevision(p, live) // Ours, from before a restart: the cache will show it.
	return nil
}

// annotateReturn marks a template that comes back to the current revision, which somebody deleted and nothing could rebuild. It is an undo like
// any other (R3): the revision was the current one, and its rollout begins now. Without the marks it would count as complete at once (P3).
func (p *pass) annotateReturn(wanted *appsv1.ControllerRevision, hash string, digest revision.Digest) {
	if hash != p.revisions.CurrentRevision || hash == p.revisions.UpdateRevision {
		return
	}
	entry, known := p.history.Entry(hash)
	if known && entry.Digest != digest {
		return
	}
	since := entry.CurrentSince
	if since.IsZero() {
		since = p.now
	}
	wanted.Annotations[workv1alpha1.AnnotationCurrentSince] = since.UTC().Format(timeFormat)
	wanted.Annotations[workv1alpha1.AnnotationReused] = p.now.Add(time.Nanosecond).UTC().Format(timeFormat)
}

// relabel gives a revision back the labels by which it is found, and without which it does not count.
func (r *revisionReconciler) relabel(ctx context.Context, p *pass, live *appsv1.ControllerRevision, wanted map[string]string) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.UID, "resourceVersion": live.ResourceVersion, "labels": wanted,
	}})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	answer, err := r.kube.AppsV1().ControllerRevisions(live.Namespace).Patch(ctx, live.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return revisionRequest("patching", live.Namespace, live.Name, err)
	}
	r.wroteRevision(p, answer)
	return nil
}

// taken says why the template's revision gets another name than the one that its hash gives it first.
func taken(live *appsv1.ControllerRevision, owner metav1.Object) string {
	why := fmt.Sprintf("ControllerRevision %s/%s holds another template with the same hash", live.Namespace, live.Name)
	if !metav1.IsControlledBy(live, owner) {
		why = fmt.Sprintf("ControllerRevision %s/%s is not this object's", live.Namespace, live.Name)
	} else if broken := revision.Decode(live).Err; broken != nil {
		why = broken.Error()
	}
	return why + "; the revision of today's template gets another name"
}

// collide persists that the hash is taken. The next pass tries the next one.
func (r *revisionReconciler) collide(ctx context.Context, p *pass) error {
	bumped := p.object.Status.DeepCopy()
	bumped.CollisionCount = ptr.To(ptr.Deref(p.revisions.CollisionCount, 0) + 1)
	written, err := r.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, *bumped, p.object.Status)
	if err == nil && written && p.answer.Status.CollisionCount == nil {
		// An older CRD drops it, and then no event of the object makes the next pass (R16).
		r.memory.owners.collided(p.key, *bumped.CollisionCount)
		p.urgent = true
		p.lookAgain(time.Millisecond)
	}
	return err
}

// renumber makes an older revision the newest: its template came back (R3). The pass ends with it.
func (r *revisionReconciler) renumber(ctx context.Context, p *pass, found *revision.Revision) error {
	ledger, err := p.ledgerOf(found.Hash, p.remembered()).Encode()
	if err != nil {
		return err
	}
	err = r.patchRevision(ctx, p, found, map[string]any{
		workv1alpha1.AnnotationDigests: ledger,
		workv1alpha1.AnnotationReused:  p.now.UTC().Format(timeFormat),
		// If it was aborted, that was another rollout.
		workv1alpha1.AnnotationAborted: nil, workv1alpha1.AnnotationAbortReason: nil, workv1alpha1.AnnotationRestored: nil,
	}, map[string]any{"revision": p.history.NextNumber()})
	if err == nil {
		r.event(p, found.Object, corev1.EventTypeNormal, workv1alpha1.EventRevisionFound, "Undo", fmt.Sprintf("the template is that of revision %s", found.Object.Name))
	}
	return err
}

// patchRevision writes annotations, and other fields, of a revision, as it was seen.
func (c *Controller) patchRevision(ctx context.Context, p *pass, rev *revision.Revision, annotations, fields map[string]any) error {
	patch := map[string]any{"metadata": map[string]any{
		"uid": rev.Object.UID, "resourceVersion": rev.Object.ResourceVersion, "annotations": annotations,
	}}
	for key, value := range fields {
		patch[key] = value
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	answer, err := c.kube.AppsV1().ControllerRevisions(rev.Object.Namespace).
		Patch(ctx, rev.Object.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return revisionRequest("patching", rev.Object.Namespace, rev.Object.Name, err)
	}
	c.wroteRevision(p, answer)
	return nil
}
