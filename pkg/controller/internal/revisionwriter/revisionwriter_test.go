package revisionwriter

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func revisionOf(name string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid", ResourceVersion: "7"}, Revision: 1}
}

// Each step makes at most one request. A patch contains the UID and the version of the object that it was decided on.
func TestWrite(t *testing.T) {
	kube := fake.NewClientset(revisionOf("old"))
	l := New(kube)
	created, err := l.Write(t.Context(), "ns", &lifecycle.Request{Action: lifecycle.Create, Revision: revisionOf("new")})
	require.NoError(t, err)
	require.Equal(t, "new", created.Name)
	live, err := l.Read(t.Context(), "ns", &lifecycle.Request{Action: lifecycle.ReadLive, Name: "new"})
	require.NoError(t, err)
	require.Equal(t, "new", live.Name)

	awaited := revisionOf("awaited")
	seen, err := l.Write(t.Context(), "ns", &lifecycle.Request{Action: lifecycle.Await, Revision: awaited})
	require.NoError(t, err)
	require.Same(t, awaited, seen)

	kube.ClearActions()
	patched, err := l.Write(t.Context(), "ns", &lifecycle.Request{Action: lifecycle.CopyLedger, Revision: revisionOf("old"), Patch: lifecycle.Patch{
		Record: &revision.Record{CreatedBy: "c<1"}, Ledger: `{"seq":2}`, ChangeCause: "image 2", Labels: map[string]string{"l": "2"}, Number: 4,
	}})
	require.NoError(t, err)
	require.EqualValues(t, 4, patched.Revision)
	require.JSONEq(t, `{"metadata":{"uid":"uid","resourceVersion":"7","annotations":{
		"work.open-cluster-management.io/record":"{\"createdBy\":\"c<1\"}","work.open-cluster-management.io/ledger":"{\"seq\":2}","kubernetes.io/change-cause":"image 2"},"labels":{"l":"2"}},"revision":4}`,
		string(kube.Actions()[0].(clienttesting.PatchAction).GetPatch()))

	for _, want := range []bool{true, false} {
		deleted, err := l.Delete(t.Context(), revisionOf("old"))
		require.NoError(t, err)
		require.Equal(t, want, deleted, "an object that is already gone is not an error")
	}
}

// The error of a failed request names the request, and contains the result that the plan acts on.
func TestFailures(t *testing.T) {
	revisions := appsv1.Resource("controllerrevisions")
	kube := fake.NewClientset()
	var answer error
	kube.PrependReactor("*", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
	l := New(kube)
	for name, test := range map[string]struct {
		answer               error
		created, read, other lifecycle.Result
	}{
		"busy":     {apierrors.NewTooManyRequests("busy", 1), lifecycle.Failed, lifecycle.Failed, lifecycle.Failed},
		"refused":  {apierrors.NewForbidden(revisions, "web-1", errors.New("a quota")), lifecycle.Rejected, lifecycle.Rejected, lifecycle.Rejected},
		"newer":    {apierrors.NewConflict(revisions, "web-1", errors.New("newer")), lifecycle.Conflicted, lifecycle.Conflicted, lifecycle.Conflicted},
		"taken":    {apierrors.NewAlreadyExists(revisions, "web-1"), lifecycle.Exists, lifecycle.Rejected, lifecycle.Rejected},
		"not here": {apierrors.NewNotFound(revisions, "web-1"), lifecycle.Rejected, lifecycle.Missing, lifecycle.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			answer = test.answer
			_, err := l.Write(t.Context(), "ns", &lifecycle.Request{Action: lifecycle.Create, Revision: revisionOf("web-1")})
			require.ErrorContains(t, err, "creating ControllerRevision ns/web-1: ")
			require.Equal(t, test.created, ResultOf(lifecycle.Create, err))
			_, err = l.Read(t.Context(), "ns", &lifecycle.Request{Action: lifecycle.ReadLive, Name: "web-1"})
			require.ErrorContains(t, err, "reading ControllerRevision ns/web-1: ")
			require.Equal(t, test.read, ResultOf(lifecycle.ReadLive, err))
			_, err = l.Write(t.Context(), "ns", &lifecycle.Request{Action: lifecycle.CopyLedger, Revision: revisionOf("web-1")})
			require.ErrorContains(t, err, "patching ControllerRevision ns/web-1: ")
			require.Equal(t, test.other, ResultOf(lifecycle.CopyLedger, err))
			request := &memory.RequestError{}
			require.ErrorAs(t, err, &request)
			require.Equal(t, "patching ControllerRevision ns/web-1", request.What)
		})
	}
	answer = errors.New("down")
	_, err := l.Delete(t.Context(), revisionOf("web-1"))
	require.EqualError(t, err, "pruning ControllerRevision ns/web-1: down")
	require.Equal(t, lifecycle.Done, ResultOf(lifecycle.CopyLedger, nil))
}
