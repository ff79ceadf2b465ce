package revision

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"
)

// FirstDifference returns, in a readable form, the first field in alphabetical order in which two templates differ. It is empty if the
// templates mean the same, or if either is unknown.
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
	data, err := canonical(template)
	if err != nil {
		return nil, err
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
			union := maps.Clone(am)
			maps.Copy(union, bm)
			for _, key := range slices.Sorted(maps.Keys(union)) {
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
