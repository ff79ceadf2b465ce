package memory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// fingerprint tells two reports of an agent apart, also when both say success: a condition that went away and came back has
// another transition time.
type fingerprint struct {
	generation                                int64
	revision                                  string
	applied, progressing, available, degraded conditionPrint
}

// conditionPrint is a condition as far as it matters. The API server keeps whole seconds.
type conditionPrint struct {
	status metav1.ConditionStatus
	since  int64
}

// sameWrite reports whether the hub wrote no revision between two reports.
func (f fingerprint) sameWrite(other fingerprint) bool {
	return f.generation == other.generation && f.revision == other.revision
}

func fingerprintOf(w *rollout.Work) fingerprint {
	work := w.Object
	f := fingerprint{generation: w.SpecGeneration(), revision: work.Annotations[workv1alpha1.AnnotationAppliedAt]}
	for i := range work.Status.Conditions {
		c := &work.Status.Conditions[i]
		print := conditionPrint{status: c.Status, since: c.LastTransitionTime.Unix()}
		switch c.Type {
		case workv1.WorkApplied:
			f.applied = print
		case workv1.WorkProgressing:
			f.progressing = print
		case workv1.WorkAvailable:
			f.available = print
		case workv1.WorkDegraded:
			f.degraded = print
		}
	}
	return f
}
