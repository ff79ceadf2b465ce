package controller

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
)

type replicaSetStatus = workv1alpha1.ManifestWorkReplicaSetStatus

// laterField is a field of the status that an older CRD of this project lacks. No decision depends on it.
type laterField struct {
	name memory.Field
	// same reports whether two statuses agree on the field.
	same func(a, b *replicaSetStatus) bool
	// take takes the field over from another status.
	take func(to, from *replicaSetStatus)
}

var laterFields = []laterField{
	{
		name: memory.ObservedGeneration,
		same: func(a, b *replicaSetStatus) bool { return a.ObservedGeneration == b.ObservedGeneration },
		take: func(to, from *replicaSetStatus) { to.ObservedGeneration = from.ObservedGeneration },
	},
	{
		name: memory.RevisionList,
		same: func(a, b *replicaSetStatus) bool { return equality.Semantic.DeepEqual(a.Revisions, b.Revisions) },
		take: func(to, from *replicaSetStatus) { to.Revisions = from.Revisions },
	},
}

// askToStore returns the later fields that the API server is asked to store. One that it was seen dropping would be asked for in each
// pass (P7): it stays as it is stored, and is asked for again after some time.
func (c *Controller) askToStore(p *pass, wanted *replicaSetStatus) (asked []laterField) {
	for _, field := range laterFields {
		if c.memory.Owners.PrunedLately(p.key, p.now) || c.memory.Owners.DroppedLately(p.key, field.name, p.now) {
			field.take(wanted, &p.object.Status)
			p.lookAgain(memory.PrunedInterval)
		} else if !field.same(wanted, &p.object.Status) {
			asked = append(asked, field)
		}
	}
	return asked
}

// noteStored notes whether the API server stored the fields that it was asked to store.
func (c *Controller) noteStored(p *pass, asked []laterField, wanted *replicaSetStatus) {
	for _, field := range asked {
		c.memory.Owners.Dropped(p.key, field.name, !field.same(&p.answer.Status, wanted), p.now)
	}
}

// dropped names what an older CRD was seen dropping; empty for nothing.
func (c *Controller) dropped(p *pass) string {
	if c.memory.Owners.PrunedLast(p.key) {
		return "status.currentRevision, status.updateRevision and status.abortedTime, and failureStrategy from the spec"
	}
	var names []string
	for _, field := range c.memory.Owners.DroppedLast(p.key) {
		names = append(names, string(field))
	}
	return strings.Join(names, " and ")
}
