package worklist

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

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

// decode decodes the parts of a ManifestWork that a view reads:
//
//   - its metadata without managedFields;
//   - the digest of its spec;
//   - its conditions;
//   - the agent's reports about its manifests, if a condition of any of them may matter.
func (d *digests) decode(item []byte) (work.Work, error) {
	object := &workv1.ManifestWork{}
	found := work.Work{Object: object}
	var broken, err error
	var status []byte
	for name, value := range members(item, &broken) {
		switch string(name) {
		case "metadata":
			err = json.Unmarshal(without(value, "managedFields", &broken), &object.ObjectMeta)
		case "spec":
			found.Digest, err = d.of(value)
		case "status":
			status = value
		}
		if err != nil {
			break
		}
	}
	if err == nil && broken == nil && status != nil {
		err = decodeStatus(status, object, &broken)
	}
	if err == nil {
		err = broken
	}
	if err != nil {
		return found, fmt.Errorf("ManifestWork %s/%s: %w", object.Namespace, object.Name, err)
	}
	return found, nil
}

// without returns an object without one of its members.
func without(object []byte, member string, broken *error) []byte {
	kept := append(make([]byte, 0, len(object)), '{')
	for name, value := range members(object, broken) {
		if string(name) == member {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(append(kept, '"'), name...), '"', ':'), value...)
	}
	return append(kept, '}')
}

// decodeStatus decodes the parts of the status that a view reads. The metadata must be decoded already.
func decodeStatus(raw []byte, object *workv1.ManifestWork, broken *error) error {
	for name, value := range members(raw, broken) {
		var err error
		switch string(name) {
		case "conditions":
			err = json.Unmarshal(value, &object.Status.Conditions)
		case "resourceStatus":
			if object.Annotations[workv1alpha1.AnnotationKeptRevision] != "" || anyMatters(value, broken) {
				err = json.Unmarshal(value, &object.Status.ResourceStatus)
			}
		}
		if err != nil {
			return fmt.Errorf("status.%s: %w", name, err)
		}
	}
	return nil
}

// good are the statuses of the conditions of a manifest that need no explanation.
var good = map[string]string{
	quoted(workv1.ManifestApplied): `"True"`, quoted(workv1.ManifestAvailable): `"True"`,
	quoted(workv1.ManifestProgressing): `"False"`, quoted(workv1.ManifestDegraded): `"False"`,
}

func quoted(text string) string { return `"` + text + `"` }

// anyMatters reports whether a manifest has a condition that decides on the state of its work (work.Decisive), or that explains why the
// work has not succeeded.
func anyMatters(resourceStatus []byte, broken *error) bool {
	for name, manifests := range members(resourceStatus, broken) {
		if string(name) != "manifests" {
			continue
		}
		for manifest := range elements(manifests, broken) {
			for name, conditions := range members(manifest, broken) {
				if string(name) != "conditions" {
					continue
				}
				for condition := range elements(conditions, broken) {
					if matters(condition, broken) {
						return true
					}
				}
			}
		}
	}
	return false
}

func matters(condition []byte, broken *error) bool {
	var kind, status, reason []byte
	for name, value := range members(condition, broken) {
		switch string(name) {
		case "type":
			kind = value
		case "status":
			status = value
		case "reason":
			reason = value
		}
	}
	wanted, known := good[string(kind)]
	return known && (string(status) != wanted || bytes.Contains(reason, []byte(workv1.ConditionRuleExpressionError)))
}
