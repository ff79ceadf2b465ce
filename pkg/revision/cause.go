package revision

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// maxChangeCause is the maximum number of bytes of the owner's change cause that a revision stores. All annotations of an object share 256
// KiB. If the hub's own annotations do not fit, the API server rejects the revision.
const maxChangeCause = 1024

// ChangeCauseOf returns the change cause for a new revision of an owner; empty for none.
func ChangeCauseOf(owner metav1.Object) string {
	return Shortened(owner.GetAnnotations()[workv1alpha1.AnnotationChangeCause], maxChangeCause)
}

// ChangeCause returns the change cause that this revision records; empty for none.
func (r *Revision) ChangeCause() string {
	return r.Object.Annotations[workv1alpha1.AnnotationChangeCause]
}

// LastCause returns the owner's change cause at the time when this revision was last created or reused. The change cause that the revision
// records may be an older one.
func (r *Revision) LastCause() string {
	return ptr.Deref(r.CauseSeen, r.ChangeCause())
}

// TemplateManager returns the field manager that wrote last among those that own the template or parts of it; empty if unknown.
func TemplateManager(managed []metav1.ManagedFieldsEntry) string {
	var latest *metav1.ManagedFieldsEntry
	for i := range managed {
		entry := &managed[i]
		if entry.Subresource != "" || !OwnsField(entry, "f:spec", "f:manifestWorkTemplate") {
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

// OwnsField reports whether an entry of managedFields owns a field within a top-level field of an object.
func OwnsField(entry *metav1.ManagedFieldsEntry, top, field string) bool {
	var owned map[string]map[string]json.RawMessage
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.Raw, &owned) != nil {
		return false
	}
	_, ok := owned[top][field]
	return ok
}

// cut marks the end of a shortened text.
const cut = "…"

// Shortened returns a text, cut to a maximum number of bytes. The result is valid UTF-8. The API server would replace a partial character
// at the end, and the hub would write the text again in each pass (P7).
func Shortened(text string, bytes int) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes-len(cut)], "") + cut
}
