package revision

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"
)

// FirstDifference returns the first field, in alphabetical order, in which two templates differ, in a readable form. It is empty if they
// mean the same, or if one of the two is unknown.
func FirstDifference(wanted, stored *workv1.ManifestWorkSpec) string {
	if wanted == nil || stored == nil {
		return ""
	}
	w, err := digested(wanted)
	if err != nil {
		return err.Error()
	}
	s, err := digested(stored)
	if err != nil {
		return err.Error()
	}
	w["workload"] = map[string]any{"manifests": w["workload"]}
	s["workload"] = map[string]any{"manifests": s["workload"]}
	return firstDifference("spec", w, s)
}

// digested returns the form of a template that is used for the digest. In this form, 1 and 1.0 are the same number.
func digested(template *workv1.ManifestWorkSpec) (map[string]any, error) {
	value, err := canonical(template)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding the template: %w", err)
	}
	var out map[string]any
	err = utiljson.Unmarshal(data, &out)
	return out, err
}

func firstDifference(path string, a, b any) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	if am, ok := a.(map[string]any); ok {
		if bm, ok := b.(map[string]any); ok {
			for _, key := range unionOfKeys(am, bm) {
				if found := firstDifference(path+"."+key, am[key], bm[key]); found != "" {
					return found
				}
			}
		}
	}
	if al, ok := a.([]any); ok {
		if bl, ok := b.([]any); ok && len(al) == len(bl) {
			for i := range al {
				if found := firstDifference(fmt.Sprintf("%s[%d]", path, i), al[i], bl[i]); found != "" {
					return found
				}
			}
		}
	}
	return path
}

func unionOfKeys(a, b map[string]any) []string {
	keys := make([]string, 0, len(a))
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
