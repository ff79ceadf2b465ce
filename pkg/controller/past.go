package controller

import (
	"context"
	"slices"

	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// lookBack takes over what another hub rolled out: before this one knew the object, or while that ran in its place (R6). Every spec of
// its works becomes a revision before the template does, so that a process that is killed between two of them leaves behind that it
// was not done. Which revision is the current one is settled before the first work bears a hash, as then nothing tells any more
// who wrote it.
func (r *revisionReconciler) lookBack(ctx context.Context, p *pass) (wrote bool, err error) {
	template, invalid := r.contents.template(p.object.ManifestWorkReplicaSet)
	if invalid != nil || !slices.ContainsFunc(p.works, isUnlabelled) {
		return false, nil
	}
	update := p.history.ByDigest(template)
	in := r.pastInput(p, template, update)
	past := rollout.ReadPast(in)
	if update != nil && !past.Surpassed {
		return false, nil
	}
	recorded := past.Specs[:min(len(past.Specs), rollout.MaxPastSpecs)]
	if err := r.readSpecs(ctx, p, recorded); err != nil {
		return false, err
	}
	var stable revision.Digest
	if past.Surpassed || (p.revisions.CurrentRevision == "" && (in.FirstSight || past.Replaced)) {
		stable = past.Stable(p.now)
	}
	if wrote, err = r.record(ctx, p, recorded, stable, in.FirstSight); wrote || err != nil {
		return wrote, err
	}
	switch {
	case stable != "":
		return r.stableIs(ctx, p, p.history.ByDigest(stable))
	case past.Surpassed:
		return r.forgetCurrent(ctx, p)
	}
	return false, nil
}

// readSpecs fills in what the specs hold, each from the first work that has it.
func (r *revisionReconciler) readSpecs(ctx context.Context, p *pass, specs []rollout.PastSpec) (err error) {
	for i := range specs {
		if specs[i].Template, err = r.spec(ctx, p, specs[i].Bearer().Object, specs[i].Digest); err != nil {
			return err
		}
	}
	return nil
}

// firstSight reports whether this hub never rolled the object out: nothing in the status, and no revision that was made from a template.
// A process that was killed while it recorded what another hub left has recorded a part of it (R6).
func (p *pass) firstSight() bool {
	return p.object.Status.UpdateRevision == "" && !slices.ContainsFunc(p.history.Revisions, func(rev revision.Revision) bool {
		_, reused := rev.ReusedAt()
		return !rev.Recorded() || reused
	})
}

func isUnlabelled(work *workv1.ManifestWork) bool {
	return work.Labels[workv1alpha1.LabelControllerHash] == ""
}

func (r *revisionReconciler) pastInput(p *pass, template revision.Digest, update *revision.Revision) *rollout.PastInput {
	in := &rollout.PastInput{Owner: p.object, Refs: p.refs, IgnoredRefs: p.ignoredRefs, Template: template, FirstSight: p.firstSight()}
	for _, object := range p.works {
		in.Works = append(in.Works, rollout.Work{Object: object, Digest: r.memory.works.digest(object)})
	}
	// An abort of the template's revision is carried out, whoever wrote what meanwhile (R12).
	resumes := p.revisions.AbortedTime != nil && update != nil && update.Hash == p.revisions.UpdateRevision
	if p.revisions.CurrentRevision != "" && !resumes {
		in.Current = p.revisionNamed(p.revisions.CurrentRevision)
	}
	return in
}

// record makes revisions of specs that have none (R6). Their numbers are lower than that of any revision that was made from a template, so
// that they are pruned before those (R5).
func (r *revisionReconciler) record(ctx context.Context, p *pass, specs []rollout.PastSpec, stable revision.Digest, firstSight bool) (wrote bool, err error) {
	number, next := p.history.LowerNumber(), int64(-1)
	if firstSight {
		// The template's comes after them, and what was on the most clusters comes last among them.
		number, next = p.history.NextNumber(), 1
		slices.Reverse(specs)
	}
	for i := range specs {
		if p.history.ByDigest(specs[i].Digest) != nil {
			continue
		}
		missing := &lost{
			hash:     revision.ComputeHash(specs[i].Template, p.revisions.CollisionCount),
			template: specs[i].Template,
			current:  specs[i].Digest == stable,
			recorded: true,
		}
		if missing.current {
			missing.onlyOn = specs[i].OnlyOn()
		}
		made, err := r.remake(ctx, p, missing, number)
		wrote = wrote || made
		if err != nil {
			return wrote, err
		}
		number = max(0, number+next)
	}
	return wrote, nil
}

// stableIs makes a revision the current one that the works tell of: on the revision first (R16).
func (r *revisionReconciler) stableIs(ctx context.Context, p *pass, found *revision.Revision) (wrote bool, err error) {
	if found == nil {
		return false, nil // Something else has its name.
	}
	if latest := p.history.LatestCurrent(); latest == nil || latest.Hash != found.Hash {
		return true, r.patchRevision(ctx, p, found, map[string]any{
			workv1alpha1.AnnotationCurrentSince: p.history.NextCurrentSince(p.now).UTC().Format(timeFormat),
		}, nil)
	}
	p.revisions.CurrentRevision = found.Hash
	return false, nil
}

// forgetCurrent makes no revision the current one. The one that is goes last, so that until then a successor finds all as it was; and
// none that was it before may take its place (R16).
func (r *revisionReconciler) forgetCurrent(ctx context.Context, p *pass) (wrote bool, err error) {
	for _, former := range p.history.FormerCurrents() {
		annotations := map[string]any{workv1alpha1.AnnotationCurrentSince: nil}
		if former.Hash == p.revisions.CurrentRevision {
			annotations[workv1alpha1.AnnotationSurpassed] = p.now.UTC().Format(timeFormat)
		}
		if err := r.patchRevision(ctx, p, former, annotations, nil); err != nil {
			return wrote, err
		}
		wrote = true
	}
	if !wrote {
		klog.FromContext(ctx).Info("Another hub rolled out since, no revision is known to be stable", "was", p.revisions.CurrentRevision)
		p.revisions.CurrentRevision = ""
	}
	return wrote, nil
}
