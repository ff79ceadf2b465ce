package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// readLedger finds the valid ledger. If the status holds this ledger, readLedger also finds the commands in the status.
func (c *Controller) readLedger(p *pass) {
	places := ledger.Places{
		Owner: p.object.UID, Template: p.facts.Template, Status: p.object.Status.Ledger, History: p.history,
		Remembered: p.memory.Decided,
	}
	p.reading = ledger.Read(&places)
	p.facts.Before = p.reading.Ledger
	if p.reading.InCopy {
		p.memory.Places.Held(memory.Revision, p.facts.Before.Seq)
	}
	if p.reading.InStatus {
		p.memory.Places.Held(memory.Status, p.facts.Before.Seq)
		p.facts.Commands = ledger.CommandsIn(&p.object.Status, &p.reading.Ledger)
	}
	if p.facts.Before.Seq > 0 {
		decided := p.reading.Ledger // A pointer into the pass would keep the pass's works in memory.
		p.memory.Decided = &decided
		p.facts.CopyBehind = c.lacksCopy(p)
	}
	p.facts.BeginSeen = p.memory.BeginSeen(p.facts.Before.Begun.Last(), p.now)
}

// verify reports whether the cache shows the revisions that the API server has. It lists them from the API server
// before the hub first decides or acts on a version of the object, unless that version is the result of the hub's own
// write. So no decision combines two caches of different ages (R15). If the hub has not been allowed to list them for some time, its
// cache counts.
func (c *Controller) verify(ctx context.Context, p *pass) (shown bool, err error) {
	if p.facts.NoHistory || p.memory.Verified == p.object.ResourceVersion || p.memory.Places.Waits(memory.LiveRevisions, p.now) {
		return true, nil
	}
	live, err := c.revisions.List(ctx, p.object.Namespace, p.object.Name)
	switch {
	case apierrors.IsForbidden(err):
		return c.noteFailed(p, memory.LiveRevisions, 0, err), nil
	case err != nil:
		return false, err
	}
	p.memory.Places.Held(memory.LiveRevisions, 0)
	there := map[string]bool{}
	for i := range live {
		there[live[i].Name] = true
		cached, known, err := c.stores.Revisions.GetByKey(live[i].Namespace + "/" + live[i].Name)
		if err != nil || !known || cached.(*appsv1.ControllerRevision).ResourceVersion != live[i].ResourceVersion {
			p.memory.Expectations.Wrote(c.stores.Revisions, &live[i], c.Clock.Now())
		}
	}
	for i := range p.facts.History.Revisions {
		if cached := p.facts.History.Revisions[i].Object; !there[cached.Name] {
			p.memory.Expectations.Deleted(c.stores.Revisions, cached, c.Clock.Now())
		}
	}
	if p.memory.Expectations.Behind() > 0 {
		p.lookAgain(catchUpInterval)
		return false, nil
	}
	p.memory.Verified = p.object.ResourceVersion
	return true, nil
}

// lacksLedger reports whether the ledger must be persisted before the hub acts on it: this pass changed it, or an available place lacks it.
func (c *Controller) lacksLedger(p *pass) bool {
	if p.Ledger.Seq != p.reading.Ledger.Seq {
		return true
	}
	inStatus := p.reading.InStatus || p.memory.Confirmed == p.object.ResourceVersion
	return !inStatus && (!p.memory.Places.Waits(memory.Status, p.now) || p.mayKeepLedger()) || c.lacksCopy(p)
}

// mayKeepLedger reports whether the API server, which dropped the ledger of the status, may keep the ledger now: somebody else has written
// the object since then, and may have installed another CRD before that.
func (p *pass) mayKeepLedger() bool {
	return p.memory.Places.Drops(memory.Status) && !p.facts.NoHistory && p.memory.Verified != p.object.ResourceVersion &&
		!p.memory.Places.Waits(memory.LiveRevisions, p.now) // Without the list, no version is ever verified.
}

// lacksCopy reports whether the valid ledger has no copy, although a revision could hold it.
func (c *Controller) lacksCopy(p *pass) bool {
	return !p.reading.InCopy && !p.memory.Places.Waits(memory.Revision, p.now) && ledger.Holder(&p.history, &p.reading.Ledger) != nil
}

// persist writes the ledger to both places, first to the status, and ends the pass. It skips an unavailable place.
func (c *Controller) persist(ctx context.Context, p *pass, report func() error) error {
	if shown, err := c.verify(ctx, p); !shown {
		return err
	}
	p.urgent, p.deciding = true, true
	foreign := c.foreignFields(p)
	if err := c.persistIn(p, memory.Status, report); err != nil {
		return err
	}
	if len(foreign) > 0 && p.answer != nil && p.answer.Status.Ledger != "" {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventStatusRestored, "Observe", fmt.Sprintf(
			"the status did not have the latest ledger, and the hub restored %s: changes there were ignored; if you gave a command, repeat it",
			strings.Join(foreign, ", ")))
	}
	if err := c.persistIn(p, memory.Revision, func() error { return c.copyLedger(ctx, p) }); err != nil {
		return err
	}
	decided := p.Ledger.Clone()
	p.memory.Decided = &decided
	if p.memory.Places.Lost(memory.Status, p.now) {
		p.lookAgain(time.Millisecond) // There may be no event that leads to the next pass.
	}
	if p.reading.Ledger.Abort == nil && p.Ledger.Abort != nil {
		klog.FromContext(ctx).Info("Aborting the rollout", "revision", revision.Name(p.object.Name, p.Ledger.Update.Hash),
			"backTo", revision.Name(p.object.Name, p.Ledger.Current.Hash), "reason", p.Ledger.Abort.Why())
	}
	return nil
}

// foreignFields returns the fields that this pass restores in a status whose ledger is not valid. If this hub previously could not write
// the status or its ledger, the other differences may come from the hub itself. In that case, foreignFields returns at most the field of an
// abort.
func (c *Controller) foreignFields(p *pass) []string {
	_, lost := p.memory.Places[memory.Status]
	switch {
	case p.reading.InStatus || p.reading.Ledger.Seq == 0 || p.memory.Confirmed == p.object.ResourceVersion:
		return nil
	case !lost:
		return p.reading.Ledger.Differing(&p.object.Status)
	case p.object.Status.Ledger == "" && p.object.Status.AbortedTime != nil && p.reading.Ledger.Abort == nil:
		return []string{"status.abortedTime"}
	}
	return nil
}

// persistIn writes the ledger to a place. It returns no error if the place is unavailable.
func (c *Controller) persistIn(p *pass, place memory.Place, write func() error) error {
	if p.memory.Places.Waits(place, p.now) && !p.memory.Places.Drops(place) {
		return nil
	}
	err := write()
	if err == nil || apierrors.IsConflict(err) {
		return err
	}
	if place == memory.Status {
		told := p.told() // Later decisions are announced when the status can be written again.
		p.memory.Told = &told
	}
	if !c.noteFailed(p, place, p.Ledger.Seq, err) {
		return err
	}
	return nil
}

// noteFailed records that a request to a place failed. lost is true if the place has been unavailable for so long that the hub does without
// it.
func (c *Controller) noteFailed(p *pass, place memory.Place, seq int64, err error) (lost bool) {
	note := c.refused(p, err) + " at least every 5 minutes" // As Places.Waits.
	p.memory.Places.Failed(place, seq, p.now, p.failing[len(p.failing)-1], err, note)
	return p.memory.Places.Lost(place, p.now)
}

// nameLostPlaces reports the unavailable places, and schedules the next attempts.
func (c *Controller) nameLostPlaces(p *pass) {
	for place, lost := range p.memory.Places {
		if place == memory.LiveRevisions && !p.now.Before(lost.TryAt()) {
			delete(p.memory.Places, place) // The next decision lists the revisions again. A pass without a decision does not.
			continue
		}
		if lost.Note != "" {
			p.problem(lost.Note)
			p.failing = append(p.failing, lost.Request)
		}
		if p.memory.Places.Waits(place, p.now) {
			p.lookAgain(lost.TryAt().Sub(p.now))
		}
	}
}

// copyLedger writes the copy of the ledger and the record of the rollout.
func (c *Controller) copyLedger(ctx context.Context, p *pass) error {
	holder := ledger.Holder(&p.history, &p.Ledger)
	if holder == nil {
		return nil
	}
	text, err := p.Ledger.Encode()
	if err != nil {
		return err
	}
	request := lifecycle.Request{
		Action: lifecycle.CopyLedger, Key: "copy ledger", Revision: holder.Object,
		Patch: lifecycle.Patch{Ledger: text, Record: p.facts.RecordOf(&p.Ledger, holder)},
	}
	if err := c.perform(ctx, p, &request).Err; err != nil {
		return err
	}
	p.memory.Places.Held(memory.Revision, p.Ledger.Seq)
	return nil
}

// patchLedger writes a status in which only the ledger and its projection change.
func (c *Controller) patchLedger(ctx context.Context, p *pass) error {
	wanted := p.object.Status.DeepCopy()
	if err := p.Ledger.Project(wanted); err != nil {
		return err
	}
	_, err := c.store(ctx, p, wanted, false)
	return err
}
