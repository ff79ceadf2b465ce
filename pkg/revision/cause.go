package revision

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// maxChangeCause bounds what a revision gets of its owner's change cause, in bytes. All annotations of an object share 256 KiB: the hub's
// own ones need room, or the API server rejects the revision.
const maxChangeCause = 1024

// ChangeCauseOf returns what a revision of an owner gets as its change cause (R25); empty for none.
func ChangeCauseOf(owner metav1.Object) string {
	return Shortened(owner.GetAnnotations()[workv1alpha1.AnnotationChangeCause], maxChangeCause)
}

// ChangeCause returns what the owner's annotation said when this revision was created or reused (R25); empty for nothing.
func (r *Revision) ChangeCause() string {
	return r.Object.Annotations[workv1alpha1.AnnotationChangeCause]
}

// CauseSeen returns the change cause of the owner when this revision was created or reused last. The revision's own may be an older one
// (R25).
func (r *Revision) CauseSeen() string {
	if seen, other := r.Object.Annotations[workv1alpha1.AnnotationCauseSeen]; other {
		return seen
	}
	return r.ChangeCause()
}

// AbortReason returns why the rollout of this revision was aborted; empty where it was not, or nothing shows it (R16). What the failed
// clusters reported follows it in the annotation, on lines of their own.
func (r *Revision) AbortReason() string {
	reason, _, _ := strings.Cut(r.Object.Annotations[workv1alpha1.AnnotationAbortReason], "\n")
	return reason
}

// TemplateManager returns the field manager that owns the template, or parts of it, and wrote last; empty where that is not known (R25).
func TemplateManager(managed []metav1.ManagedFieldsEntry) string {
	var latest *metav1.ManagedFieldsEntry
	for i := range managed {
		entry := &managed[i]
		if entry.Subresource != "" || !ownsTemplate(entry) {
			continue
		}
		if latest == nil || latest.Time == nil || latest.Time.Before(entry.Time) {
			latest = entry
		}
	}
	if latest == nil {
		return ""
	}
	return latest.Manager
}

func ownsTemplate(entry *metav1.ManagedFieldsEntry) bool {
	var owned struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.Raw, &owned) != nil {
		return false
	}
	_, ok := owned.Spec["f:manifestWorkTemplate"]
	return ok
}

// cut ends a text that goes on.
const cut = "…"

// Shortened returns a text of at most some bytes. It is valid UTF-8: half a character at the end would be stored as another one, and
// written again in each pass (P7).
func Shortened(text string, bytes int) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes-len(cut)], "") + cut
}
