package lifecycle

import (
	"fmt"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

func (c *chain) invalidTemplate() bool {
	problem := c.templateProblem()
	if problem == "" {
		return true
	}
	return c.withoutRevision(Problem{Text: problem})
}

// templateProblem returns the problem of a template that no agent could apply; empty if there is none.
func (c *chain) templateProblem() string {
	switch {
	case c.TemplateErr != nil:
		return fmt.Sprintf("spec.manifestWorkTemplate.%v: write each manifest as a Kubernetes object", c.TemplateErr)
	case len(c.Object.Spec.ManifestWorkTemplate.Workload.Manifests) == 0:
		return "spec.manifestWorkTemplate.workload.manifests is empty: add at least one manifest, or delete the ManifestWorkReplicaSet to remove everything from the clusters"
	}
	if problem := revision.ConfigProblem(&c.Object.Spec.ManifestWorkTemplate); problem != "" {
		return "spec.manifestWorkTemplate.manifestConfigs: " + problem
	}
	return ""
}

// newTemplate creates the revision of a template that has none, and ends the pass.
func (c *chain) newTemplate() bool {
	if c.History.ByDigest(c.Template) != nil {
		return true
	}
	return c.create(c.hashesOfTemplate())
}

// create creates the revision of the template with the first hash whose name is not taken, and ends the pass.
func (c *chain) create(hashes []string) bool {
	wanted, err := c.wanted(hashes[0])
	if err != nil {
		return c.unrecorded(&Answer{Key: "create", Result: Failed, Err: err})
	}
	create := Request{
		Action: Create, Key: "create " + wanted.Name, Revision: wanted,
		Event: &Event{Reason: workv1alpha1.EventRevisionCreated, Action: "Create", Note: fmt.Sprintf("created revision %s", wanted.Name)},
	}
	return c.write(create, func(failed *Answer) bool {
		if failed.Result == Exists {
			return c.nameTaken(wanted, hashes[1:])
		}
		return c.unrecorded(failed)
	})
}

// wanted returns the revision to create for the template in the spec.
func (c *chain) wanted(hash string) (*appsv1.ControllerRevision, error) {
	template := &c.Object.Spec.ManifestWorkTemplate
	wanted, err := revision.New(c.Object, template, hash, c.History.NextNumber())
	if err != nil {
		return nil, err
	}
	record := revision.Record{CreatedBy: revision.TemplateManager(c.Object.ManagedFields)}
	_, returns := c.Ledger.Formerly(c.Template)
	if cause := revision.ChangeCauseOf(c.Object); cause != "" && (!returns || c.causeChanged(cause)) {
		wanted.Annotations[workv1alpha1.AnnotationChangeCause] = cause
	} else if cause != "" {
		record.CauseSeen = &cause
	}
	return wanted, revision.Amend(wanted, func(r *revision.Record) { *r = record })
}

// hashesOfTemplate returns the hashes that the template in the spec can get, the preferred one first. The template has no revision. If the
// template is already rolled out, it keeps its hash if possible: with another hash, its rollout would start again.
func (v *Observation) hashesOfTemplate() (hashes []string) {
	known := []string{v.hashOnWorks()}
	if update := &v.Before.Update; update.Digest == v.Template {
		known = slices.Insert(known, 0, update.Hash)
	}
	for _, hash := range known {
		if hash != "" && v.revisionOf(hash) == nil {
			hashes = append(hashes, hash)
		}
	}
	return append(hashes, revision.ComputeHash(&v.Object.Spec.ManifestWorkTemplate, v.collisions()))
}

func (v *Observation) collisions() *int32 {
	if v.Before.Collisions == 0 {
		return nil
	}
	return &v.Before.Collisions
}

// causeChanged reports whether a user changed the change cause since the newest revision was created or reused.
func (c *chain) causeChanged(cause string) bool {
	newest := c.History.Newest()
	return newest == nil || cause != newest.LastCause()
}

// nameTaken reads the object that already has the name of the new revision. It is either our own revision from before a restart, which may
// have lost its labels, or another object. In the latter case, the revision gets the first of the other hashes or, if there is none, the
// next hash.
func (c *chain) nameTaken(wanted *appsv1.ControllerRevision, others []string) bool {
	found := c.ask(Request{Action: ReadLive, Key: "read " + wanted.Name, Name: wanted.Name})
	switch {
	case found == nil:
		return false
	case found.Result != Done:
		return c.unrecorded(found)
	}
	live := found.Object
	if !metav1.IsControlledBy(live, c.Object) || revision.Decode(live).Digest != c.Template {
		c.ignore(c.taken(live))
		if len(others) > 0 {
			return c.create(others)
		}
		return c.bumpCollision()
	}
	for key, value := range wanted.Labels {
		if live.Labels[key] != value {
			return c.write(patch(Relabel, "relabel", live, Patch{Labels: wanted.Labels}), c.unrecorded)
		}
	}
	// It is our revision from before a restart: the cache will show it.
	return c.write(Request{Action: Await, Key: "await " + live.Name, Revision: live}, c.unrecorded)
}

// bumpCollision increments the collision count, because the hash is taken. The next pass tries the next hash.
func (c *chain) bumpCollision() bool {
	c.Ledger.Collisions = max(c.Ledger.Collisions, 0)%math.MaxInt32 + 1 // Only a count that no hub wrote is reset.
	return c.end(Decided)
}

// taken returns the reason why the template's revision can't have the first name derived from its hash.
func (c *chain) taken(live *appsv1.ControllerRevision) string {
	why := fmt.Sprintf("ControllerRevision %s/%s holds another template with the same hash", live.Namespace, live.Name)
	if !metav1.IsControlledBy(live, c.Object) {
		why = fmt.Sprintf("ControllerRevision %s/%s does not belong to this object", live.Namespace, live.Name)
	} else if broken := revision.Decode(live).Err; broken != nil {
		why = broken.Error()
	}
	return why + "; the revision of the template in the spec gets another name"
}

// undo makes an older revision the newest one if its template returned, and ends the pass.
func (c *chain) undo() bool {
	found := c.History.ByDigest(c.Template)
	if found.Object == c.History.Newest().Object {
		c.Update = work.NewRevision(found)
		return false
	}
	record := found.Changed(func(r *revision.Record) { r.CauseSeen = nil })
	request := patch(Renumber, "renumber", found.Object, Patch{Record: record})
	request.Patch.Number = c.History.NextNumber()
	// It keeps its own change cause, unless a user set one for the undo.
	if cause := revision.ChangeCauseOf(c.Object); cause != "" && c.causeChanged(cause) {
		request.Patch.ChangeCause = cause
	} else if cause != found.ChangeCause() {
		request.Patch.Record.CauseSeen = &cause
	}
	request.Event = &Event{
		Reason: workv1alpha1.EventRevisionFound, Action: "Undo", Note: fmt.Sprintf("the template is that of revision %s", found.Object.Name),
	}
	return c.write(request, c.unrecorded)
}

// unusable reports objects that look like revisions but do not count, and live revisions that can't be read. An unreadable stable revision
// is an immediate problem, because no rollout can be aborted. If the revision of the template in the spec is unreadable, the template gets
// another revision, as if the name were taken.
func (c *chain) unusable() bool {
	for _, ignored := range c.History.Ignored {
		c.ignore(ignored)
	}
	for i := range c.History.Revisions {
		rev := &c.History.Revisions[i]
		current := rev.Hash == c.Ledger.Current.Hash
		if rev.Err == nil || (!current && work.Having(c.Notes.Works, rev.Hash) == 0) {
			continue
		}
		broken := status.Unreadable(rev.Err.Error())
		c.ignore(broken)
		if current {
			c.Problems = append(c.Problems, Problem{Text: broken})
		}
	}
	return true
}

// ignore adds one event for an object that does not count as a revision.
func (c *chain) ignore(why string) {
	c.Events = append(c.Events, Event{Warning: true, Reason: workv1alpha1.EventRevisionIgnored, Action: "Observe", Note: why, Once: true})
}
