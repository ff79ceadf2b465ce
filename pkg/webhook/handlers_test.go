package webhook

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	manifestA = `"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}`
	good      = `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"web","namespace":"c1"},"spec":{` + manifestA + `}}`
	empty     = `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"web","namespace":"c1"},"spec":{}}`
	labelled  = `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"web","namespace":"c1","labels":{"a":"b"}},"spec":{}}`
	executed  = `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"web"},"spec":{` + manifestA +
		`,"executor":{"subject":{"type":"ServiceAccount","serviceAccount":{"namespace":"default","name":"admin"}}}}}`
	odd   = `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"web"},"spec":{"workload":"none"}}`
	noSA  = `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"web"},"spec":{` + manifestA + `,"executor":{"subject":{"type":"ServiceAccount"}}}}`
	mwrs  = `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"web","namespace":"c1"},"spec":{"placementRefs":[{"name":"all"}],"manifestWorkTemplate":{` + manifestA + `}}}`
	mwrs0 = `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"web","namespace":"c1"},"spec":{"placementRefs":[{"name":"a"},{"name":"a"}]}}`
)

func request(operation admissionv1.Operation, old, object string) admission.Request {
	r := admissionv1.AdmissionRequest{Operation: operation, Namespace: "c1", UserInfo: authenticationv1.UserInfo{Username: "ann"}}
	if old != "" {
		r.OldObject = runtime.RawExtension{Raw: []byte(old)}
	}
	if object != "" {
		r.Object = runtime.RawExtension{Raw: []byte(object)}
	}
	return admission.Request{AdmissionRequest: r}
}

func status(request admission.Request) admission.Request {
	request.SubResource = "status"
	return request
}

func TestWorkHandler(t *testing.T) {
	const create, update = admissionv1.Create, admissionv1.Update
	for name, tc := range map[string]struct {
		request admission.Request
		allowed bool
		failure error
		code    int32
		message string
		asked   string
	}{
		"a good one":                          {request: request(create, "", good), code: 200},
		"deleted":                             {request: request(admissionv1.Delete, empty, ""), code: 200},
		"a status":                            {request: status(request(update, good, empty)), code: 200},
		"a bad one":                           {request: request(create, "", empty), code: 400, message: "spec.workload.manifests: Required value"},
		"a bad one that gets labels":          {request: request(update, empty, labelled), code: 200},
		"a field of the wrong type":           {request: request(create, "", odd), code: 400, message: "spec: can't be decoded, correct the named field"},
		"an existing field of the wrong type": {request: request(update, odd, odd), code: 200},
		"mended":                              {request: request(update, odd, good), code: 200},
		"an executor without a name":          {request: request(create, "", noSA), code: 400, message: "spec.executor.subject.serviceAccount: Required value"},
		"a permitted executor": {
			request: request(create, "", executed), allowed: true, code: 200, asked: "ann c1 system:serviceaccount:default:admin",
		},
		"a forbidden executor": {
			request: request(update, good, executed), code: 400, message: "spec.executor: Forbidden: the user ann is not allowed to use the executor",
			asked: "ann c1 system:serviceaccount:default:admin",
		},
		"no answer": {
			request: request(create, "", executed), failure: errors.New("boom"), code: 500, message: "(try again): boom",
			asked: "ann c1 system:serviceaccount:default:admin",
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, asked := fake.NewClientset(), ""
			client.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
				review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
				asked += review.Spec.User + " " + review.Spec.ResourceAttributes.Namespace + " " + review.Spec.ResourceAttributes.Name
				review.Status.Allowed = tc.allowed
				return true, review, tc.failure
			})
			h := &works{limit: 1000, reviews: client.AuthorizationV1().SubjectAccessReviews()}
			answers(t, h, tc.request, tc.code, tc.message)
			require.Equal(t, tc.asked, asked)
		})
	}
}

func TestReplicaSetHandler(t *testing.T) {
	h := &replicaSets{limit: 1000}
	answers(t, h, request(admissionv1.Create, "", mwrs), 200, "")
	answers(t, h, request(admissionv1.Delete, mwrs0, ""), 200, "")
	answers(t, h, status(request(admissionv1.Update, mwrs, mwrs0)), 200, "")
	answers(t, h, request(admissionv1.Create, "", "?"), 400, "decoding the ManifestWorkReplicaSet")
	answers(t, h, request(admissionv1.Update, "?", mwrs), 400, "decoding the ManifestWorkReplicaSet")
	refused := answers(t, h, request(admissionv1.Update, mwrs, mwrs0), 422, `ManifestWorkReplicaSet.work.open-cluster-management.io "web" is invalid`)
	require.True(t, apierrors.IsInvalid(&apierrors.StatusError{ErrStatus: *refused.Result}))
	var fields []string
	for _, cause := range refused.Result.Details.Causes {
		fields = append(fields, cause.Field)
	}
	require.Equal(t, []string{"spec.manifestWorkTemplate.workload.manifests", "spec.placementRefs[1].name"}, fields)
	kept := answers(t, h, request(admissionv1.Update, mwrs0, mwrs0), 200, "")
	require.Len(t, kept.Warnings, 2)
}

// answers checks the code and the message. The handler must not panic.
func answers(t *testing.T, handler admission.Handler, request admission.Request, code int32, message string) admission.Response {
	t.Helper()
	response := (&admission.Webhook{Handler: handler}).Handle(context.Background(), request)
	require.Equal(t, code, response.Result.Code, response.Result.Message)
	require.Equal(t, code == 200, response.Allowed)
	require.Contains(t, response.Result.Message, message)
	if !response.Allowed {
		require.NotEqual(t, metav1.StatusReasonUnknown, response.Result.Reason)
	}
	return response
}
