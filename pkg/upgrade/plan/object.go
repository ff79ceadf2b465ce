package plan

import (
	"strings"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Object is a ManifestWorkReplicaSet as it was listed.
type Object struct {
	// ManifestWorkReplicaSet has only the metadata and status.ledger.
	*workv1alpha1.ManifestWorkReplicaSet
	// History holds its revisions, each with its copy of the ledger, and without its template.
	History revision.History
}

// reading returns the valid ledger.
func (o *Object) reading() ledger.Reading {
	return ledger.Read(&ledger.Places{Owner: o.UID, Status: o.Status.Ledger, History: o.History})
}

// annotations returns the changes that leave only these snapshot annotations: an annotation with the wanted value, and
// the annotations of the versions to keep. The result is empty if nothing changes. If value is empty, no annotation is
// added.
func (d *Decision) annotations(o *Object, of Version, value string) map[string]any {
	changes := map[string]any{}
	for key, present := range o.Annotations {
		name, ours := strings.CutPrefix(key, workv1alpha1.AnnotationSnapshotPrefix)
		if !ours {
			continue
		}
		v, known := ParseVersion(name)
		switch {
		case value != "" && key == of.annotation():
			if present == value {
				value = ""
			}
		case !known || key != v.annotation() || !contains(d.Keep, v):
			changes[key] = nil
		}
	}
	if value != "" {
		changes[of.annotation()] = value
	}
	return changes
}
