package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/validate"
)

// works reviews writes of ManifestWorks.
type works struct {
	limit       int
	nilExecutor bool
	reviews     authorizationclient.SubjectAccessReviewInterface
}

// Handle rejects requests with "bad request", as upstream's webhook does, because clients check for that status.
func (h *works) Handle(ctx context.Context, request admission.Request) admission.Response {
	if !concerns(&request) || sameSpec(&request) {
		return admission.Allowed("")
	}
	work, err := decodeWork(request.Object.Raw)
	if err != nil {
		return refuse(apierrors.NewBadRequest(err.Error()))
	}
	var old *workv1.ManifestWork
	if len(request.OldObject.Raw) > 0 {
		// An old work that can't be decoded does not excuse any problem, but it can be replaced.
		old, _ = decodeWork(request.OldObject.Raw)
	}
	work.Namespace = request.Namespace
	verdict := validate.Work(old, work, validate.Limits{ManifestBytes: h.limit})
	if len(verdict.Errors) > 0 {
		return refuse(apierrors.NewBadRequest(verdict.Errors.ToAggregate().Error()))
	}
	if err := h.checkExecutor(ctx, &request, old, work); err != nil {
		return refuse(err)
	}
	return admission.Allowed("").WithWarnings(verdict.Warnings...)
}

// checkExecutor asks the API server whether the user may have the work applied by its executor.
func (h *works) checkExecutor(ctx context.Context, request *admission.Request, old, work *workv1.ManifestWork) *apierrors.StatusError {
	spec, invalid := validate.ExecutorReview(old, work, request.UserInfo, h.nilExecutor)
	if invalid != nil {
		return apierrors.NewBadRequest(invalid.Error())
	}
	if spec == nil {
		return nil
	}
	review, err := h.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: *spec}, metav1.CreateOptions{})
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("checking whether %s may use the executor of this work (try again): %w", spec.User, err))
	}
	if !review.Status.Allowed {
		return apierrors.NewBadRequest(validate.ExecutorRefused(spec).Error())
	}
	return nil
}

func decodeWork(raw []byte) (*workv1.ManifestWork, error) {
	// The status is not checked, and must not cause a decoding error.
	var read struct {
		Spec workv1.ManifestWorkSpec `json:"spec"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, fmt.Errorf("%s: can't be decoded, correct the named field: %w", field.NewPath("spec"), err)
	}
	return &workv1.ManifestWork{Spec: read.Spec}, nil
}

// sameSpec reports whether an update leaves the spec unchanged, as updates of finalizers do.
func sameSpec(request *admission.Request) bool {
	var old, object struct {
		Spec json.RawMessage `json:"spec"`
	}
	return len(request.OldObject.Raw) > 0 && json.Unmarshal(request.OldObject.Raw, &old) == nil &&
		json.Unmarshal(request.Object.Raw, &object) == nil && bytes.Equal(old.Spec, object.Spec)
}
