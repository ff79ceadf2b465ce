package validate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

func work(manifests ...workv1.Manifest) *workv1.ManifestWork {
	out := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "c1"}}
	out.Spec.Workload.Manifests = manifests
	return out
}

func TestWork(t *testing.T) {
	large := manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"l"},"data":{"x":"` + strings.Repeat("x", size) + `"}}`)
	unnamed := manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}`)
	for name, tc := range map[string]struct {
		old, work *workv1.ManifestWork
		errors    []string
		warnings  int
	}{
		"a good one": {nil, work(configMap("a"), configMap("b")), nil, 0},
		"an empty one": {
			nil, work(),
			[]string{"spec.workload.manifests: Required value: manifests should not be empty: name at least one object to apply"}, 0,
		},
		"no JSON": {
			nil, work(manifest(`{`)),
			[]string{"spec.workload.manifests[0]: Invalid value: unexpected end of JSON input"}, 0,
		},
		"nothing": {
			nil, work(manifest(``)),
			[]string{"spec.workload.manifests[0]: Invalid value: unexpected end of JSON input"}, 0,
		},
		"no name": {
			nil, work(configMap("a"), unnamed),
			[]string{"spec.workload.manifests[1]: Invalid value: name must be set in manifest"}, 0,
		},
		"a duplicate": {
			nil, work(configMap("a"), configMap("b"), configMap("a")),
			[]string{"spec.workload.manifests[2]: Invalid value: duplicate manifest: v1 ConfigMap default/a is already listed as spec.workload.manifests[0]: remove one of the two"}, 0,
		},
		"the same name in another namespace, kind or version": {nil, work(
			configMap("a"),
			manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`),
			manifest(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`),
			manifest(`{"apiVersion":"v2","kind":"Secret","metadata":{"name":"a"}}`),
		), nil, 0},
		"too large": {
			nil, work(large),
			[]string{"spec.workload.manifests: Invalid value: the size of manifests is 2081 bytes which exceeds the 2000 limit: " +
				"put some of them into another object, or raise --manifestLimit of the webhook"}, 0,
		},
		"a good one that turns bad":        {work(configMap("a")), work(), []string{"spec.workload.manifests: Required value: manifests should not be empty: name at least one object to apply"}, 0},
		"a bad one whose metadata changes": {work(large), work(large), nil, 0},
		"a bad one, another field changes": {work(unnamed), work(configMap("a"), unnamed), nil, 1},
		"a bad one that is corrected":      {work(unnamed), work(configMap("a")), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := Work(tc.old, tc.work, limit)
			require.Equal(t, tc.errors, messages(verdict.Errors))
			require.Len(t, verdict.Warnings, tc.warnings)
		})
	}
}

func executedAs(namespace, name string) *workv1.ManifestWork {
	out := work(configMap("a"))
	out.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type:           workv1.ExecutorSubjectTypeServiceAccount,
		ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Namespace: namespace, Name: name},
	}}
	return out
}

// TestExecutorReview checks when a review is requested, and for which account.
func TestExecutorReview(t *testing.T) {
	nameless := executedAs("", "")
	nameless.Spec.Executor.Subject.ServiceAccount = nil
	plain, admin := work(configMap("a")), executedAs("default", "admin")
	relabelled := admin.DeepCopy()
	relabelled.Labels = map[string]string{"a": "b"}
	relabelled.Spec.Workload.Manifests[0] = configMap("b")
	for name, tc := range map[string]struct {
		old, work  *workv1.ManifestWork
		askWithout bool
		want       string
		err        string
	}{
		"created with an executor":                   {nil, admin, false, "system:serviceaccount:default:admin", ""},
		"created without one":                        {nil, plain, false, "", ""},
		"created without one, which is reviewed":     {nil, plain, true, "system:serviceaccount::klusterlet-work-sa", ""},
		"another executor":                           {executedAs("default", "guest"), admin, false, "system:serviceaccount:default:admin", ""},
		"an executor is added":                       {plain, admin, false, "system:serviceaccount:default:admin", ""},
		"the executor is removed":                    {admin, plain, false, "", ""},
		"the executor is removed, which is reviewed": {admin, plain, true, "system:serviceaccount::klusterlet-work-sa", ""},
		"everything but the executor changes":        {admin, relabelled, true, "", ""},
		"nothing changes, without an executor":       {plain, plain, true, "", ""},
		"created with one that names no account":     {nil, nameless, false, "", "spec.executor.subject.serviceAccount: Required value: name the service account that applies the manifests"},
		"an existing one names no account":           {nameless, nameless.DeepCopy(), true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			user := authenticationv1.UserInfo{
				Username: "ann", UID: "7", Groups: []string{"ops"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"user:info"}},
			}
			review, err := ExecutorReview(tc.old, tc.work, user, tc.askWithout)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.Nil(t, err)
			if tc.want == "" {
				require.Nil(t, review)
				return
			}
			require.Equal(t, &authorizationv1.SubjectAccessReviewSpec{
				User: "ann", UID: "7", Groups: []string{"ops"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"user:info"}},
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Group: "work.open-cluster-management.io", Resource: "manifestworks", Verb: "execute-as", Namespace: "c1", Name: tc.want,
				},
			}, review)
			require.EqualError(t, ExecutorRefused(review), "spec.executor: Forbidden: the user ann is not allowed to use the executor "+tc.want+
				": this requires the verb execute-as on the resource manifestworks.work.open-cluster-management.io with that resource name in the namespace c1")
		})
	}
}
