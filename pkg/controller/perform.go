package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
)

// perform does one step, with the event that belongs to it. Nothing else writes ControllerRevisions, but for what prunes them.
func (c *Controller) perform(ctx context.Context, p *pass, step *plan.Step) plan.Answer {
	answer := plan.Answer{Key: step.Key}
	var wrote *appsv1.ControllerRevision
	var err error
	switch revisions := c.kube.AppsV1().ControllerRevisions(p.object.Namespace); step.Action {
	case plan.ReadSpec:
		answer.Spec, err = c.spec(ctx, p, step.Work, step.Digest)
	case plan.ReadLive:
		answer.Object, err = revisions.Get(ctx, step.Name, metav1.GetOptions{})
		err = named(err, step.Verb, p.object.Namespace, step.Name)
	case plan.Create, plan.Rebuild:
		wrote, err = revisions.Create(ctx, step.Revision, metav1.CreateOptions{})
		err = named(err, step.Verb, p.object.Namespace, step.Revision.Name)
	case plan.BumpCollision:
		err = c.collide(ctx, p, step.Collisions)
	case plan.PersistStatus:
		err = c.persist(ctx, p, step)
	case plan.RemoveAbort:
		err = c.removeAbort(ctx, p, step.Event)
	case plan.Await:
		wrote = step.Revision
	default:
		wrote, err = c.patchObject(ctx, step.Revision, &step.Patch)
	}
	if err == nil && wrote != nil {
		c.wroteRevision(p, wrote)
		c.sayOf(p, step, wrote)
	}
	answer.Err, answer.Result = err, resultOf(step.Action, err)
	if err == nil && step.Action == plan.PersistStatus {
		answer.Result = c.persisted(p)
	}
	return answer
}

// sayOf makes the event of a revision that was written.
func (c *Controller) sayOf(p *pass, step *plan.Step, wrote *appsv1.ControllerRevision) {
	if step.Event == nil {
		return
	}
	if step.Action == plan.Renumber {
		wrote = step.Revision
	}
	c.event(p, wrote, typeOf(step.Event), step.Event.Reason, step.Event.Action, step.Event.Note)
}

// named says which request failed.
func named(err error, verb, namespace, name string) error {
	if err == nil {
		return nil
	}
	return revisionRequest(verb, namespace, name, err)
}

func resultOf(action plan.Action, err error) plan.Result {
	created := action == plan.Create || action == plan.Rebuild
	switch {
	case err == nil:
		return plan.Done
	case apierrors.IsConflict(err):
		return plan.Conflicted
	case created && apierrors.IsAlreadyExists(err):
		return plan.Exists
	case action == plan.ReadLive && apierrors.IsNotFound(err):
		return plan.Missing
	case memory.IsLasting(err):
		return plan.Rejected
	}
	return plan.Failed
}

// patchObject writes a revision, as it was seen.
func (c *Controller) patchObject(ctx context.Context, object *appsv1.ControllerRevision, change *plan.Patch) (*appsv1.ControllerRevision, error) {
	metadata := map[string]any{"uid": object.UID, "resourceVersion": object.ResourceVersion}
	if change.Annotations != nil {
		metadata["annotations"] = change.Annotations
	}
	if change.Labels != nil {
		metadata["labels"] = change.Labels
	}
	patch := map[string]any{"metadata": metadata}
	if change.Number != 0 {
		patch["revision"] = change.Number
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	answer, err := c.kube.AppsV1().ControllerRevisions(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, data, metav1.PatchOptions{})
	return answer, named(err, "patching", object.Namespace, object.Name)
}

// persist writes what decides into the status, with the conditions that report it. Where the rollout is aborted, this process remembers why.
func (c *Controller) persist(ctx context.Context, p *pass, step *plan.Step) error {
	p.plan = step.Plan
	stage, reason := step.Stage, step.Outcome.AbortedFor
	if stage == "" {
		stage = stageOf(p)
	}
	if reason == "" {
		return c.patchStatus(ctx, p, stage, abortReason(p))
	}
	c.memory.Owners.AbortedFor(p.key, p.revisions.AbortedTime, reason)
	if err := c.patchStatus(ctx, p, stage, reason); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Aborting the rollout", "revision", p.update.Name, "backTo", p.snapshot.Current.Name, "reason", reason)
	return nil
}

// persisted reports whether the API server kept what was persisted.
func (c *Controller) persisted(p *pass) plan.Result {
	if c.memory.Owners.PrunedLately(p.key, p.now) {
		return plan.Pruned
	}
	return plan.Done
}

// removeAbort removes status.abortedTime, and nothing else. The event says why.
func (c *Controller) removeAbort(ctx context.Context, p *pass, event *plan.Event) error {
	cleared := p.object.Status.DeepCopy()
	cleared.AbortedTime = nil
	written, err := c.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, *cleared, p.object.Status)
	if err == nil && written {
		c.say(p, event)
	}
	return err
}

// collide persists that a hash is taken. The next pass tries the next one.
func (c *Controller) collide(ctx context.Context, p *pass, count int32) error {
	bumped := p.object.Status.DeepCopy()
	bumped.CollisionCount = ptr.To(count)
	written, err := c.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, *bumped, p.object.Status)
	if err == nil && written && p.answer.Status.CollisionCount == nil {
		// An older CRD drops it, and then no event of the object makes the next pass (R16).
		c.memory.Owners.Collided(p.key, count)
		p.urgent = true
		p.lookAgain(time.Millisecond)
	}
	return err
}
