package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// maxSnapshot bounds the value of the annotation.
const maxSnapshot = 16 << 10

// maxRevisions is more than fit into it, of however short names: a history may have thousands, as agents over a broker report them.
const maxRevisions = maxSnapshot / len(`{"hash":"","number":0}`)

// maxNumber bounds the number of a revision in a snapshot: no history gets there, and there is room above it.
const maxNumber = 1 << 53

// snapshot is what a hub leaves of a ManifestWorkReplicaSet, in an annotation, before a newer version reconciles it.
type snapshot struct {
	// UID is the object's: an annotation may be copied.
	UID types.UID `json:"uid"`
	// Generation is the object's: while it is the same, the spec is.
	Generation int64 `json:"generation"`
	// Template is the hash of the revision that holds the template; empty if no revision was known to. The revision is live, so the
	// snapshot holds no template.
	Template  string             `json:"template,omitempty"`
	Status    decidingStatus     `json:"status"`
	Revisions []revisionSnapshot `json:"revisions,omitempty"`
}

// decidingStatus are the fields of the status that decide.
type decidingStatus struct {
	CollisionCount  *int32       `json:"collisionCount,omitempty"`
	CurrentRevision string       `json:"currentRevision,omitempty"`
	UpdateRevision  string       `json:"updateRevision,omitempty"`
	AbortedTime     *metav1.Time `json:"abortedTime,omitempty"`
}

// revisionSnapshot is what is kept of a ControllerRevision.
type revisionSnapshot struct {
	Hash   string `json:"hash"`
	Number int64  `json:"number"`
	// Annotations are the hub's. They are absent if the snapshot has no room for them.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// revision is what a snapshot has of the revision with a hash; nil for nothing.
func (s *snapshot) revision(hash string) *revisionSnapshot {
	i := slices.IndexFunc(s.Revisions, func(r revisionSnapshot) bool { return r.Hash == hash })
	if i < 0 {
		return nil
	}
	return &s.Revisions[i]
}

func decode(text string) (*snapshot, error) {
	if text == "" {
		return nil, errors.New("it is empty")
	}
	if len(text) > maxSnapshot {
		return nil, fmt.Errorf("it has %d bytes, and %d are allowed", len(text), maxSnapshot)
	}
	s := &snapshot{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, fmt.Errorf("it is not a snapshot: %w", err)
	}
	if len(s.Revisions) > maxRevisions {
		return nil, fmt.Errorf("it has %d revisions, and %d are allowed", len(s.Revisions), maxRevisions)
	}
	hashes := []string{s.Template, s.Status.CurrentRevision, s.Status.UpdateRevision}
	for i := range s.Revisions {
		if number := s.Revisions[i].Number; number < 0 || number > maxNumber {
			return nil, fmt.Errorf("it has the revision number %d, and a number from 0 to %d is allowed", number, int64(maxNumber))
		}
		hashes = append(hashes, s.Revisions[i].Hash)
	}
	for _, hash := range hashes {
		if len(validation.IsValidLabelValue(hash)) > 0 { // Works have it as a label.
			return nil, fmt.Errorf("%.64q is not the hash of a revision", hash)
		}
	}
	return s, nil
}

// Snapshot returns the changes of an object's annotations that leave a snapshot of the version that ran last, and those of versions that
// are kept; empty if nothing changes. An older snapshot of that version is replaced: where it differs, that version ran again
// since.
func Snapshot(d *Decision, o *Object) (map[string]any, error) {
	value, err := encode(o)
	if err != nil {
		return nil, err
	}
	return d.annotations(o, d.Recorded, value), nil
}

// encode is the snapshot of an object. Equal states give equal values.
func encode(o *Object) (string, error) {
	deciding := o.deciding()
	s := &snapshot{UID: o.UID, Generation: o.Generation, Status: decidingStatus(deciding)}
	if o.holdsTemplate(deciding.UpdateRevision) {
		s.Template = deciding.UpdateRevision
	}
	newest := o.History.Revisions[max(0, len(o.History.Revisions)-maxRevisions):]
	for _, rev := range slices.Backward(newest) {
		s.Revisions = append(s.Revisions, revisionSnapshot{Hash: rev.Hash, Number: rev.Object.Revision})
	}
	for len(s.Revisions) > 0 && s.size() > maxSnapshot {
		s.Revisions = s.Revisions[:len(s.Revisions)-1] // The oldest.
	}
	for _, hash := range importance(s) {
		if kept := s.revision(hash); kept != nil {
			s.fit(kept, o.History.ByHash(hash))
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encoding the snapshot of ManifestWorkReplicaSet %s/%s: %w", o.Namespace, o.Name, err)
	}
	return string(data), nil
}

// importance are the hashes of the revisions in the order in which their annotations get room.
func importance(s *snapshot) []string {
	hashes := []string{s.Status.UpdateRevision, s.Status.CurrentRevision}
	for i := range s.Revisions {
		if hash := s.Revisions[i].Hash; hash != s.Status.UpdateRevision && hash != s.Status.CurrentRevision {
			hashes = append(hashes, hash)
		}
	}
	return hashes
}

// fit adds a revision's annotations as far as there is room: all of them, all but the large ones, or none.
func (s *snapshot) fit(kept *revisionSnapshot, rev *revision.Revision) {
	all := OfTheHub(rev.Object.Annotations)
	small := maps.Clone(all)
	if all[workv1alpha1.AnnotationRecord] != "" {
		set(small, rev.Changed(func(r *revision.Record) {
			r.Others = nil
			if r.Abort != nil {
				r.Abort = &revision.Abort{At: r.Abort.At, By: r.Abort.By, Restored: r.Abort.Restored}
			}
		}))
	}
	for _, annotations := range []map[string]string{all, small, nil} {
		if kept.Annotations = annotations; s.size() <= maxSnapshot {
			return
		}
	}
}

// size is how many bytes the snapshot takes.
func (s *snapshot) size() int {
	data, err := json.Marshal(s)
	if err != nil {
		return maxSnapshot + 1
	}
	return len(data)
}

// changeCause is the annotation by which a revision says what it was made for, as those of Deployments do.
const changeCause = "kubernetes.io/change-cause"

// OfTheHub returns the annotations of a revision that the hub writes.
func OfTheHub(annotations map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range annotations {
		if isOurs(key) {
			kept[key] = value
		}
	}
	return kept
}

// isOurs reports whether the hub writes an annotation on revisions, this version or a newer one.
func isOurs(key string) bool {
	return key == changeCause || strings.HasPrefix(key, workv1alpha1.GroupName+"/")
}
