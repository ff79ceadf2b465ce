package validate

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

// defaultExecutor is the service account of the work agent, which applies a work without an executor. Its namespace is
// left empty, because it depends on the klusterlet.
const defaultExecutor = "klusterlet-work-sa"

// ExecutorReview returns the review of whether a user may have a work applied by the work's executor. It returns nil if
// no review is needed: an update does not change the executor, or the work has no executor and askWithout (the feature
// gate NilExecutorValidating) is false. old is nil if the work is being created.
func ExecutorReview(
	old, work *workv1.ManifestWork, user authenticationv1.UserInfo, askWithout bool,
) (*authorizationv1.SubjectAccessReviewSpec, *field.Error) {
	executor := work.Spec.Executor
	if old != nil && equality.Semantic.DeepEqual(old.Spec.Executor, executor) {
		return nil, nil
	}
	if executor == nil && !askWithout {
		return nil, nil
	}
	account := &workv1.ManifestWorkSubjectServiceAccount{Name: defaultExecutor}
	if executor != nil {
		if err := executorError(field.NewPath("spec", "executor"), executor); err != nil {
			return nil, err
		}
		account = executor.Subject.ServiceAccount
	}
	return &authorizationv1.SubjectAccessReviewSpec{
		User:   user.Username,
		UID:    user.UID,
		Groups: user.Groups,
		Extra:  extra(user.Extra),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group:     workv1.GroupName,
			Resource:  "manifestworks",
			Verb:      "execute-as",
			Namespace: work.Namespace,
			Name:      fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name),
		},
	}, nil
}

// ExecutorRefused returns the error for a user who may not have a work applied by its executor.
func ExecutorRefused(review *authorizationv1.SubjectAccessReviewSpec) *field.Error {
	asked := review.ResourceAttributes
	return field.Forbidden(field.NewPath("spec", "executor"), fmt.Sprintf(
		"the user %s is not allowed to use the executor %s: this requires the verb %s on the resource %s.%s with that resource name "+
			"in the namespace %s",
		review.User, asked.Name, asked.Verb, asked.Resource, asked.Group, asked.Namespace))
}

// executorError returns the error of an executor that is set.
func executorError(path *field.Path, executor *workv1.ManifestWorkExecutor) *field.Error {
	if executor.Subject.ServiceAccount != nil {
		return nil
	}
	return rule.NoAccount.Error(path.Child("subject", "serviceAccount"))
}

func extra(in map[string]authenticationv1.ExtraValue) map[string]authorizationv1.ExtraValue {
	if in == nil {
		return nil
	}
	out := make(map[string]authorizationv1.ExtraValue, len(in))
	for key, values := range in {
		out[key] = authorizationv1.ExtraValue(values)
	}
	return out
}
