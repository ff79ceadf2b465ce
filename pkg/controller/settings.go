package controller

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// noteSettings records in the newest revision the fields that an older CRD drops, and reports whether the pass continues. A revision that
// is created or reused has them from the start: noteSettings writes only if they change without the template, or if fields were lost. It
// comes before any write of the status: after one, the status no longer shows that an older CRD was in place.
func (r *revisionReconciler) noteSettings(ctx context.Context, p *pass) (goOn bool, err error) {
	newest := p.history.Newest()
	if newest == nil || p.object.DecodeErr != nil {
		return true, nil
	}
	olderCRD := revision.OlderCRDWas(&p.object.Status) || r.memory.Owners.Drops(p.key, memory.Status)
	note := revision.NoteSettings(p.object.ManifestWorkReplicaSet, newest, olderCRD)
	p.lost = note.Lost
	another := p.facts.TemplateErr != nil || newest.Digest != p.facts.Template
	if equality.Semantic.DeepEqual(note.Settings, newest.Settings) || (another && !note.Found) {
		return true, nil
	}
	step := lifecycle.Step{
		Action: lifecycle.MarkSettings, Key: "settings", Verb: "patching", Revision: newest.Object,
		Patch: lifecycle.Patch{Record: newest.Changed(func(r *revision.Record) { r.Settings = note.Settings })},
	}
	if note.Found {
		step.Event = &lifecycle.Event{Warning: true, Reason: workv1alpha1.EventFieldsLost, Action: "Observe", Note: lostNote(note.Lost)}
	}
	switch err := r.perform(ctx, p, &step).Err; {
	case err == nil, apierrors.IsConflict(err):
		return false, err
	case memory.IsLasting(err):
		klog.FromContext(ctx).V(2).Info("The newest revision can't remember the fields of the spec", "error", err)
		p.lookAgain(memory.RefusedInterval)
		return true, nil
	default:
		return false, err
	}
}

// lostNote returns a message with the fields that an older CRD dropped and the remedy; empty for none.
func lostNote(lost []string) string {
	if len(lost) == 0 {
		return ""
	}
	return fmt.Sprintf("an older CRD, or that of OCM's own hub, dropped %s: set it again under the CRD that came with this hub; "+
		"to leave it unset, change the spec in any other way, which ends this message", strings.Join(lost, ", "))
}
