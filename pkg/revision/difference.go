package revision

import (
	"fmt"
	"reflect"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"
)

// FirstDifference names the first field, in alphabetical order, in which two templates differ, for a person; empty when
// they mean the same.
func FirstDifference(wanted, stored *workv1.ManifestWorkSpec) string {
	w, err := canonical(wanted)
	if err != nil {
		return err.Error()
	}
	s, err := canonical(stored)
	if err != nil {
		return err.Error()
	}
	w["workload"] = map[string]any{"manifests": w["workload"]}
	s["workload"] = map[string]any{"manifests": s["workload"]}
	return firstDifference("spec", w, s)
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
