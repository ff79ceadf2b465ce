package plan

import (
	"strings"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// Object is a ManifestWorkReplicaSet as it was listed.
type Object struct {
	// ManifestWorkReplicaSet has the metadata and the status. Its spec is not read.
	*workv1alpha1.ManifestWorkReplicaSet
	// Template is the digest of the template; empty if it has none.
	Template revision.Digest
	// History are its revisions. Only those that Compared names have a digest.
	History revision.History
	// NoHistory reports whether the hub may not read ControllerRevisions.
	NoHistory bool
}

// deciding are the fields of the status that decide.
func (o *Object) deciding() status.Revisions { return status.RevisionsOf(&o.Status) }

// holdsTemplate reports whether the revision with a hash holds today's template.
func (o *Object) holdsTemplate(hash string) bool {
	rev := o.History.ByHash(hash)
	return rev != nil && rev.Err == nil && rev.Digest != "" && rev.Digest == o.Template
}

// Compared are the hashes of the revisions whose content is compared with the template.
func Compared(d *Decision, object *workv1alpha1.ManifestWorkReplicaSet) []string {
	if d.Action != RestoreSnapshots {
		return []string{object.Status.UpdateRevision}
	}
	snapshot, err := decode(object.Annotations[d.Build.annotation()])
	if err != nil {
		return nil
	}
	return []string{snapshot.Template}
}

// annotations are the changes that leave, of the annotations with snapshots, one with the wanted value and those of versions that are kept;
// empty if nothing changes. An empty value wants none.
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
