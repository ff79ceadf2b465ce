package cloudevents

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
)

// patched is what a patch makes of a work. The contents of a work are decoded only for a patch that is about them.
func patched(kind types.PatchType, before *workv1.ManifestWork, data []byte) (*workv1.ManifestWork, error) {
	if kind != types.MergePatchType || !onlyMetadata(data) {
		return utils.Patch(kind, before, data)
	}
	bare := &workv1.ManifestWork{TypeMeta: before.TypeMeta, ObjectMeta: before.ObjectMeta}
	changed, err := utils.Patch(kind, bare, data)
	if err != nil {
		return nil, err
	}
	changed.Spec, changed.Status = before.Spec, before.Status
	return changed, nil
}

// onlyMetadata reports whether a merge patch is about metadata and nothing else.
func onlyMetadata(data []byte) bool {
	var patch map[string]json.RawMessage
	if json.Unmarshal(data, &patch) != nil {
		return false
	}
	delete(patch, "metadata")
	return len(patch) == 0
}
