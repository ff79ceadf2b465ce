package validate

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

var specPath = field.NewPath("spec")

// decode reads the name, namespace, labels, annotations and spec of a ManifestWorkReplicaSet as the controller does.
// The CRD accepts durations that the type can't hold. They are reported as problems and omitted, so that the rest can
// be checked. If the rest can't be decoded either, the spec is empty and readable is false.
func decode(object *unstructured.Unstructured) (mwrs *workv1alpha1.ManifestWorkReplicaSet, problems []problem, readable bool) {
	spec, _ := object.Object["spec"].(map[string]any)
	spec = runtime.DeepCopyJSON(spec)
	problems = dropDurations(spec)
	mwrs = &workv1alpha1.ManifestWorkReplicaSet{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": spec}, mwrs)
	if err != nil {
		mwrs = &workv1alpha1.ManifestWorkReplicaSet{}
		problems = append(problems, inField(invalid(specPath, "can't be decoded: "+shorten(explain(spec, err).Error()))))
	}
	mwrs.Namespace, mwrs.Name = object.GetNamespace(), object.GetName()
	mwrs.Labels, mwrs.Annotations = object.GetLabels(), object.GetAnnotations()
	return mwrs, problems, err == nil
}

// explain returns an error that names the field that can't be decoded, if the JSON decoder reports one. The other
// decoder does not name the field.
func explain(spec map[string]any, err error) error {
	data, encodeErr := json.Marshal(spec)
	if encodeErr != nil {
		return err
	}
	if named := json.Unmarshal(data, &workv1alpha1.ManifestWorkReplicaSetSpec{}); named != nil {
		return named
	}
	return err
}

// dropDurations removes the durations that can't be parsed, in every part of every strategy. Even an invalid duration
// that the strategy's type does not use would prevent the object from being decoded.
func dropDurations(spec map[string]any) []problem {
	var problems []problem
	refs, _ := spec["placementRefs"].([]any)
	for i := range refs {
		ref, _ := refs[i].(map[string]any)
		for _, part := range []string{"all", "progressive", "progressivePerGroup"} {
			text, found, err := unstructured.NestedString(ref, "rolloutStrategy", part, "minSuccessTime")
			if _, invalid := time.ParseDuration(text); err != nil || !found || invalid == nil {
				continue
			}
			path := refsPath.Index(i).Child("rolloutStrategy", part, "minSuccessTime")
			problems = append(problems, inRef(i, fmt.Sprint(ref["name"]), rule.BadSoak.Error(path, shorten(text))))
			unstructured.RemoveNestedField(ref, "rolloutStrategy", part, "minSuccessTime")
		}
	}
	return problems
}
