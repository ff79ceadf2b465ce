package workpatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Change is the change from one spec to another. The zero value changes nothing.
type Change struct {
	// merge is a merge patch of the spec; nil for no change.
	merge json.RawMessage
	// operations are the same change as a JSON patch of the whole work, if the merge patch would lose a null; nil otherwise.
	operations []operation
}

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Compare returns the change from one spec to another. It changes only fields that this binary knows. A field that only
// a newer CRD has stays unchanged.
func Compare(existing, wanted *workv1.ManifestWorkSpec) (Change, error) {
	before, err := json.Marshal(existing)
	if err != nil {
		return Change{}, fmt.Errorf("encoding the stored spec: %w", err)
	}
	after, err := json.Marshal(wanted)
	if err != nil {
		return Change{}, fmt.Errorf("encoding the template: %w", err)
	}
	change := Change{}
	if change.merge, err = jsonpatch.CreateMergePatch(before, after); err != nil {
		return Change{}, fmt.Errorf("comparing the stored spec with the template: %w", err)
	}
	var patch any
	if err := json.Unmarshal(change.merge, &patch); err != nil {
		return Change{}, fmt.Errorf("reading the difference to the template: %w", err)
	}
	if losesNull(patch, false) {
		change.operations, err = operations("/spec", change.merge, before)
	}
	return change, err
}

// losesNull reports whether an API server would drop a null in a merge patch. The patch replaces whole lists, but the
// API server removes nulls from the objects in a list. The resulting work would differ from its template for any hub
// that does not remember its own write.
func losesNull(patch any, inList bool) bool {
	switch v := patch.(type) {
	case map[string]any:
		for _, child := range v {
			if (child == nil && inList) || losesNull(child, inList) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(child any) bool { return losesNull(child, true) })
	}
	return false
}

// operations converts a merge patch of the value at a path to a JSON patch, which is applied literally. Other fields
// stay, even if this binary does not know them. The path contains only names of Go fields, so no name needs escaping.
func operations(path string, patch, existing json.RawMessage) ([]operation, error) {
	var wanted, there map[string]json.RawMessage
	if err := json.Unmarshal(patch, &wanted); err != nil {
		return nil, fmt.Errorf("reading the changes at %s: %w", path, err)
	}
	if err := json.Unmarshal(existing, &there); err != nil {
		return nil, fmt.Errorf("reading the value at %s: %w", path, err)
	}
	var out []operation
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		value, at := wanted[key], path+"/"+key
		switch {
		case string(value) == "null":
			// The field is added first, because a missing field can't be removed. A defaulted field may be stored in
			// some works and missing in others.
			out = append(out, operation{Op: "add", Path: at, Value: ""}, operation{Op: "remove", Path: at})
		case isObject(value) && isObject(there[key]):
			within, err := operations(at, value, there[key])
			if err != nil {
				return nil, err
			}
			out = append(out, within...)
		default:
			out = append(out, operation{Op: "add", Path: at, Value: value})
		}
	}
	return out, nil
}

func isObject(value json.RawMessage) bool { return bytes.HasPrefix(value, []byte("{")) }
