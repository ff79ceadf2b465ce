package webhook

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/validate"
)

// replicaSets reviews writes of ManifestWorkReplicaSets.
type replicaSets struct {
	limit     int
	longNames bool
}

// Handle rejects requests in the format of the CRD's validation, with one cause per field.
func (h *replicaSets) Handle(_ context.Context, request admission.Request) admission.Response {
	if !concerns(&request) {
		return admission.Allowed("")
	}
	object, err := decodeUnstructured(request.Object.Raw)
	if err != nil {
		return refuse(apierrors.NewBadRequest(err.Error()))
	}
	var old *unstructured.Unstructured
	if len(request.OldObject.Raw) > 0 {
		if old, err = decodeUnstructured(request.OldObject.Raw); err != nil {
			return refuse(apierrors.NewBadRequest(err.Error()))
		}
	}
	verdict := validate.ReplicaSet(old, object, validate.Limits{ManifestBytes: h.limit, LongNames: h.longNames})
	if len(verdict.Errors) > 0 {
		return refuse(apierrors.NewInvalid(workv1alpha1.ManifestWorkReplicaSetKind.GroupKind(), object.GetName(), verdict.Errors))
	}
	return admission.Allowed("").WithWarnings(verdict.Warnings...)
}

func decodeUnstructured(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decoding the ManifestWorkReplicaSet, write it as JSON or YAML: %w", err)
	}
	return object, nil
}
