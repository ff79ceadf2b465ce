package worklist

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// digests holds the digests of specs, by the bytes that they came in. The works of one revision have the same bytes.
type digests struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]revision.Digest
}

// of returns the digest of a spec. It is empty for a spec that can't be digested: such a spec equals no revision.
func (d *digests) of(raw []byte) (revision.Digest, error) {
	key := sha256.Sum256(raw)
	d.mu.Lock()
	defer d.mu.Unlock()
	if digest, found := d.known[key]; found {
		return digest, nil
	}
	var spec workv1.ManifestWorkSpec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return "", fmt.Errorf("spec: %w", err)
	}
	digest, _ := revision.DigestOf(&spec)
	d.known[key] = digest
	return digest, nil
}

// part is the part of a ManifestWork that is decoded.
type part struct {
	Metadata struct {
		metav1.ObjectMeta
		ManagedFields json.RawMessage `json:"managedFields"`
	} `json:"metadata"`
	Spec   json.RawMessage           `json:"spec"`
	Status workv1.ManifestWorkStatus `json:"status"`
}

// decode decodes the parts of a ManifestWork that a view reads:
//
//   - its metadata without managedFields;
//   - the digest of its spec;
//   - its conditions;
//   - the agent's reports about its manifests, if a condition of any of them may matter.
func (d *digests) decode(item []byte) (found work.Work, err error) {
	var read part
	err = json.Unmarshal(item, &read)
	object := &workv1.ManifestWork{ObjectMeta: read.Metadata.ObjectMeta, Status: read.Status}
	if found.Object = object; err == nil && len(read.Spec) > 0 {
		found.Digest, err = d.of(read.Spec)
	}
	if err != nil {
		return found, fmt.Errorf("ManifestWork %s/%s: %w", object.Namespace, object.Name, err)
	}
	if object.Annotations[workv1alpha1.AnnotationKeptRevision] == "" && !anyMatters(object.Status.ResourceStatus.Manifests) {
		object.Status.ResourceStatus.Manifests = nil
	}
	return found, nil
}

// good are the statuses of the conditions of a manifest that need no explanation.
var good = map[string]metav1.ConditionStatus{
	workv1.ManifestApplied: metav1.ConditionTrue, workv1.ManifestAvailable: metav1.ConditionTrue,
	workv1.ManifestProgressing: metav1.ConditionFalse, workv1.ManifestDegraded: metav1.ConditionFalse,
}

// anyMatters reports whether a manifest has a condition that decides on the state of its work (work.Decisive), or that explains why the
// work has not succeeded.
func anyMatters(manifests []workv1.ManifestCondition) bool {
	return slices.ContainsFunc(manifests, func(m workv1.ManifestCondition) bool {
		return slices.ContainsFunc(m.Conditions, func(c metav1.Condition) bool {
			wanted, known := good[c.Type]
			return known && (c.Status != wanted || strings.Contains(c.Reason, workv1.ConditionRuleExpressionError))
		})
	})
}
