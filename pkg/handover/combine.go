package handover

import (
	"errors"
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Combined is the spec of a revision together with the objects that it drops.
type Combined struct {
	// Template is the combined spec. It must not be changed.
	Template *workv1.ManifestWorkSpec
	// Digest is the digest of Template.
	Digest revision.Digest
	// Manifests is the number of manifests of the revision. The kept manifests follow them.
	Manifests int
	// Kept names the kept objects, in the order of their manifests.
	Kept []string

	// entries is the number of manifestConfigs that precede those of the revision.
	entries int
}

// Result describes which of the objects that a revision drops are kept.
type Result struct {
	// Combined is nil if no object is kept.
	Combined *Combined
	// NotKept has, for each object that will be deleted at once, a message with the reason why it can't be kept. It omits objects that the
	// agent does not delete.
	NotKept []string
	// Exceeded names the field that exceeds a bound, and the bound; empty if no bound is exceeded. If it is set, no object is kept.
	Exceeded string
}

// Combine returns the content of a work while its cluster passes from one revision to another: the new spec, and the objects of the old
// spec that the new spec drops. The error is the reason why the two specs can't be combined.
func Combine(to, from *workv1.ManifestWorkSpec, limits Limits) (Result, error) {
	c, result, err := combine(to, from, limits)
	if err != nil || len(c.kept) == 0 {
		return result, err
	}
	combined := &Combined{Template: to.DeepCopy(), Manifests: len(to.Workload.Manifests), entries: len(c.entries)}
	for _, o := range c.kept {
		combined.Template.Workload.Manifests = append(combined.Template.Workload.Manifests, *o.manifest.DeepCopy())
		combined.Kept = append(combined.Kept, o.name)
	}
	for i := range c.entries {
		c.entries[i].UpdateStrategy = c.entries[i].UpdateStrategy.DeepCopy()
	}
	combined.Template.ManifestConfigs = append(c.entries, combined.Template.ManifestConfigs...)
	result.Combined = combined
	return result, combined.verify(to)
}

// Exceeded returns the bound that two revisions exceed, in which case no object is kept. It is empty if they exceed no bound, or can't be
// read.
func Exceeded(to, from *workv1.ManifestWorkSpec, limits Limits) string {
	_, result, err := combine(to, from, limits)
	if err != nil {
		return ""
	}
	return result.Exceeded
}

// combine determines the objects to keep, but does not combine the specs yet.
func combine(to, from *workv1.ManifestWorkSpec, limits Limits) (*combiner, Result, error) {
	c, err := newCombiner(to, from, limits)
	if err != nil {
		return c, Result{}, err
	}
	dropped := c.dropped()
	if problem := Prevented(to); problem != "" {
		return c, Result{NotKept: refuse(dropped, problem)}, nil
	}
	var result Result
	for _, o := range dropped {
		var problem string
		if problem, result.Exceeded = c.keep(o); result.Exceeded != "" {
			c.kept, c.entries = nil, nil
			result.NotKept = []string{result.Exceeded}
			break
		}
		if problem != "" {
			result.NotKept = append(result.NotKept, fmt.Sprintf("%s: %s", o.name, problem))
		}
	}
	return c, result, nil
}

// keep adds an object to the kept objects. problem is the reason why the object can't be kept. exceeded is the bound that the combined
// work would exceed.
func (c *combiner) keep(o *object) (problem, exceeded string) {
	resources, problem, exceeded := c.resources(o)
	if problem == "" && exceeded == "" {
		problem = c.freed(o, resources)
	}
	if problem != "" || exceeded != "" {
		return problem, exceeded
	}
	entries := c.entriesOf(o, resources)
	if exceeded = c.add(o, entries); exceeded == "" {
		c.kept, c.entries = append(c.kept, o), append(c.entries, entries...)
	}
	return "", exceeded
}

// verify computes the digest, and checks that the trimmed spec equals that of the revision.
func (c *Combined) verify(to *workv1.ManifestWorkSpec) (err error) {
	if c.Digest, err = revision.DigestOf(c.Template); err != nil {
		return err
	}
	exact, err := revision.DigestOf(to)
	if err != nil {
		return err
	}
	trimmed, err := revision.DigestOf(c.Trim())
	if err != nil {
		return err
	}
	if trimmed != exact {
		return errors.New("the combined spec without the kept objects is not the spec of the new revision")
	}
	return nil
}

// Trim returns the combined spec without the kept objects: the spec of the new revision.
func (c *Combined) Trim() *workv1.ManifestWorkSpec {
	trimmed := c.Template.DeepCopy()
	trimmed.Workload.Manifests = trimmed.Workload.Manifests[:c.Manifests]
	trimmed.ManifestConfigs = trimmed.ManifestConfigs[c.entries:]
	if len(trimmed.ManifestConfigs) == 0 {
		trimmed.ManifestConfigs = nil
	}
	return trimmed
}

// The results of Prevented.
const (
	OrphansPrevent = "deleteOption.propagationPolicy of the new revision is Orphan, and an object that is kept under Orphan would never be " +
		"deleted"
	CompletionPrevents = "the new revision has a condition rule for Complete, and agents do not apply a new spec of a completed work"
)

// Prevented returns why no object can be kept in addition to a spec; empty if objects can be kept.
func Prevented(to *workv1.ManifestWorkSpec) string {
	if option := to.DeleteOption; option != nil && option.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan {
		return OrphansPrevent
	}
	for i := range to.ManifestConfigs {
		for j := range to.ManifestConfigs[i].ConditionRules {
			if to.ManifestConfigs[i].ConditionRules[j].Condition == workv1.WorkComplete {
				return CompletionPrevents
			}
		}
	}
	return ""
}

func refuse(dropped []*object, problem string) []string {
	refused := make([]string, 0, len(dropped))
	for _, o := range dropped {
		refused = append(refused, fmt.Sprintf("%s: %s", o.name, problem))
	}
	return refused
}

// combiner holds the objects of two revisions, and collects the kept objects.
type combiner struct {
	*index
	to, from *workv1.ManifestWorkSpec
	earlier  []object
	kept     []*object
	entries  []workv1.ManifestConfigOption
	size     size
}

func newCombiner(to, from *workv1.ManifestWorkSpec, limits Limits) (*combiner, error) {
	objects, err := objectsOf(to)
	if err != nil {
		return nil, fmt.Errorf("the new revision: %w", err)
	}
	earlier, err := objectsOf(from)
	if err != nil {
		return nil, fmt.Errorf("the old revision: %w", err)
	}
	return &combiner{index: newIndex(to, from, objects, earlier), to: to, from: from, earlier: earlier, size: sizeOf(to, limits)}, nil
}

// dropped returns the objects that agents delete when the new spec replaces the old spec: the objects that only the old spec has, except
// those that no agent owns.
func (c *combiner) dropped() []*object {
	var dropped []*object
	for i := range c.earlier {
		o := &c.earlier[i]
		if o.id.name == "" || c.ids[o.id] || c.unowned(o) {
			continue
		}
		c.ids[o.id] = true // The old revision may contain the same object twice.
		dropped = append(dropped, o)
	}
	return dropped
}
