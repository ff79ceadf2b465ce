package handover

import (
	"errors"
	"fmt"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Combined is the spec of a revision with the objects that it drops.
type Combined struct {
	// Template is the combined spec. It is never changed.
	Template *workv1.ManifestWorkSpec
	// Digest says what Template means.
	Digest revision.Digest
	// Manifests is how many manifests the revision has. The kept ones follow them.
	Manifests int
	// Kept names the kept objects, in the order of their manifests.
	Kept []string

	// entries is how many manifestConfigs precede those of the revision.
	entries int
}

// Result is what becomes of the objects that a revision drops.
type Result struct {
	// Combined is nil where no object is kept.
	Combined *Combined
	// NotKept says of each object that would be deleted at once why it can't be kept, for a person. Objects whose agent does not delete them
	// are not among them.
	NotKept []string
}

// Combine returns what a work holds while its cluster passes from one revision to another: the new spec, and the objects of the old one that the
// new one drops. The error says why the two can't be combined.
func Combine(to, from *workv1.ManifestWorkSpec) (Result, error) {
	c, err := newCombiner(to, from)
	if err != nil {
		return Result{}, err
	}
	dropped := c.dropped()
	if problem := Prevented(to); problem != "" {
		return Result{NotKept: refuse(dropped, problem)}, nil
	}
	combined := &Combined{Template: to.DeepCopy(), Manifests: len(to.Workload.Manifests)}
	var result Result
	var entries []workv1.ManifestConfigOption
	for _, o := range dropped {
		resources, problem := c.resources(o)
		if problem == "" {
			problem = c.freed(o, resources)
		}
		if problem != "" {
			result.NotKept = append(result.NotKept, fmt.Sprintf("%s: %s", o.name, problem))
			continue
		}
		entries = append(entries, c.entriesOf(o, resources)...)
		combined.Template.Workload.Manifests = append(combined.Template.Workload.Manifests, *o.manifest.DeepCopy())
		combined.Kept = append(combined.Kept, o.name)
	}
	if len(combined.Kept) == 0 {
		return result, nil
	}
	combined.entries = len(entries)
	combined.Template.ManifestConfigs = append(entries, combined.Template.ManifestConfigs...)
	result.Combined = combined
	return result, combined.verify(to)
}

// verify finds the digest, and makes sure that the trimmed spec is the revision's.
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

// Prevented returns why no object can be kept beside a spec; empty where objects can be.
func Prevented(to *workv1.ManifestWorkSpec) string {
	if option := to.DeleteOption; option != nil && option.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan {
		return "deleteOption.propagationPolicy of the new revision is Orphan, and an object that is kept under Orphan would stay on the cluster for good"
	}
	for i := range to.ManifestConfigs {
		for j := range to.ManifestConfigs[i].ConditionRules {
			if to.ManifestConfigs[i].ConditionRules[j].Condition == workv1.WorkComplete {
				return "the new revision has a condition rule for Complete, and agents apply no new spec of a completed work"
			}
		}
	}
	return ""
}

func refuse(dropped []object, problem string) []string {
	refused := make([]string, 0, len(dropped))
	for i := range dropped {
		refused = append(refused, fmt.Sprintf("%s: %s", dropped[i].name, problem))
	}
	return refused
}

// combiner knows the objects of two revisions.
type combiner struct {
	to, from         *workv1.ManifestWorkSpec
	objects, earlier []object
}

func newCombiner(to, from *workv1.ManifestWorkSpec) (*combiner, error) {
	objects, err := objectsOf(to)
	if err != nil {
		return nil, fmt.Errorf("the new revision: %w", err)
	}
	earlier, err := objectsOf(from)
	if err != nil {
		return nil, fmt.Errorf("the old revision: %w", err)
	}
	return &combiner{to: to, from: from, objects: objects, earlier: earlier}, nil
}

// dropped returns the objects that agents delete where the new spec takes the place of the old one: those of the old spec that the new one does not
// have, but for objects that no agent owns.
func (c *combiner) dropped() []object {
	var dropped []object
	for _, o := range c.earlier {
		same := func(other object) bool { return other.id == o.id }
		if o.id.name == "" || slices.ContainsFunc(c.objects, same) || slices.ContainsFunc(dropped, same) || c.unowned(o) {
			continue
		}
		dropped = append(dropped, o)
	}
	return dropped
}
