package revision

import (
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

// AbortReason returns why the rollout of this revision was aborted; empty where it was not, or nothing shows it (R16).
func (r *Revision) AbortReason() string {
	return r.Object.Annotations[workv1alpha1.AnnotationAbortReason]
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
