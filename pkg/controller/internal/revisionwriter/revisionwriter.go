// Package revisionwriter reads and writes ControllerRevisions. No other package of the controller has a client for them. Package lifecycle
// decides what to write.
package revisionwriter

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
)

// Writer is the client of ControllerRevisions.
type Writer struct{ kube kubernetes.Interface }

// New returns the Writer of a hub.
func New(kube kubernetes.Interface) *Writer { return &Writer{kube: kube} }

// Get reads a revision live.
func (w *Writer) Get(ctx context.Context, namespace, name string) (*appsv1.ControllerRevision, error) {
	return w.kube.AppsV1().ControllerRevisions(namespace).Get(ctx, name, metav1.GetOptions{})
}

// List reads the revisions with the label of an owner live.
func (w *Writer) List(ctx context.Context, namespace, owner string) ([]appsv1.ControllerRevision, error) {
	selector := labels.SelectorFromSet(labels.Set{workv1alpha1.LabelReplicaSet: workv1alpha1.RevisionLabelValue(namespace, owner)})
	list, err := w.kube.AppsV1().ControllerRevisions(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, failed(err, "listing", namespace, owner)
	}
	return list.Items, nil
}

// Read reads the revision that a step requests. The error is a memory.RequestError.
func (w *Writer) Read(ctx context.Context, namespace string, step *lifecycle.Request) (*appsv1.ControllerRevision, error) {
	live, err := w.Get(ctx, namespace, step.Name)
	return live, failed(err, "reading", namespace, step.Name)
}

// Write executes the write of a step, and returns the revision from the API server's response. A step that awaits a
// revision writes nothing. The error is a memory.RequestError.
func (w *Writer) Write(ctx context.Context, namespace string, step *lifecycle.Request) (*appsv1.ControllerRevision, error) {
	switch step.Action {
	case lifecycle.Await:
		return step.Revision, nil
	case lifecycle.Create, lifecycle.Record:
		created, err := w.kube.AppsV1().ControllerRevisions(namespace).Create(ctx, step.Revision, metav1.CreateOptions{})
		if err != nil {
			return nil, failed(err, "creating", namespace, step.Revision.Name)
		}
		return created, nil
	default:
		return w.patch(ctx, step.Revision, &step.Patch)
	}
}

// patch patches a revision only if its version is still the one that was read.
func (w *Writer) patch(
	ctx context.Context, object *appsv1.ControllerRevision, change *lifecycle.Patch,
) (*appsv1.ControllerRevision, error) {
	metadata := map[string]any{"uid": object.UID, "resourceVersion": object.ResourceVersion}
	annotations := map[string]string{}
	if change.ChangeCause != "" {
		annotations[workv1alpha1.AnnotationChangeCause] = change.ChangeCause
	}
	if change.Record != nil {
		text, err := change.Record.Encode()
		if err != nil {
			return nil, err
		}
		annotations[workv1alpha1.AnnotationRecord] = text
	}
	if change.Ledger != "" {
		annotations[workv1alpha1.AnnotationLedger] = change.Ledger
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if change.Labels != nil {
		metadata["labels"] = change.Labels
	}
	patch := map[string]any{"metadata": metadata}
	if change.Number != 0 {
		patch["revision"] = change.Number
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	client := w.kube.AppsV1().ControllerRevisions(object.Namespace)
	patched, err := client.Patch(ctx, object.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return nil, failed(err, "patching", object.Namespace, object.Name)
	}
	return patched, nil
}

// Delete deletes a revision. It reports whether the revision existed.
func (w *Writer) Delete(ctx context.Context, revision *appsv1.ControllerRevision) (deleted bool, err error) {
	err = w.kube.AppsV1().ControllerRevisions(revision.Namespace).
		Delete(ctx, revision.Name, *metav1.NewPreconditionDeleteOptions(string(revision.UID)))
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("pruning ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return true, nil
}

// failed returns a RequestError that names the failed request; nil if err is nil.
func failed(err error, verb, namespace, name string) error {
	if err == nil {
		return nil
	}
	return &memory.RequestError{What: fmt.Sprintf("%s ControllerRevision %s/%s", verb, namespace, name), Err: err}
}

// ResultOf returns the result of a step for the plan, based on the error of its request.
func ResultOf(action lifecycle.Action, err error) lifecycle.Result {
	created := action == lifecycle.Create || action == lifecycle.Record
	switch {
	case err == nil:
		return lifecycle.Done
	case apierrors.IsConflict(err):
		return lifecycle.Conflicted
	case created && apierrors.IsAlreadyExists(err):
		return lifecycle.Exists
	case action == lifecycle.ReadLive && apierrors.IsNotFound(err):
		return lifecycle.Missing
	case memory.IsLasting(err):
		return lifecycle.Rejected
	}
	return lifecycle.Failed
}
