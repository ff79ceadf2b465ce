package workwriter

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// Config holds the dependencies of a Writer.
type Config struct {
	// Works is the API server's client, or that of a CloudEvents driver.
	Works workclientset.Interface
	// Metadata patches ManifestWorks without reading them back; nil if a driver has no such client.
	Metadata metadata.Interface
	// Whole is true if a change to a spec is written as a whole ManifestWork, not as a patch. Over a broker an event always holds the whole
	// work.
	Whole bool
	// AllLabelled is true if each work with LabelOwnerHash also has LabelReplicaSet.
	AllLabelled bool
	// Clock is the hub's clock.
	Clock clock.PassiveClock
}

// Writer writes ManifestWorks. It is safe for concurrent use.
type Writer struct {
	Config
	specs *specs
}

// New returns a Writer.
func New(config Config) *Writer { return &Writer{Config: config, specs: newSpecs()} }

// Owner is the ManifestWorkReplicaSet whose works are written, as a pass sees it.
type Owner struct {
	Object *workv1alpha1.ManifestWorkReplicaSet
	// Label is the value of the owner label.
	Label string
	// Works are the works of the owner, as the cache shows them.
	Works []*workv1.ManifestWork
	// History holds the owner's revisions.
	History *revision.History
	// IsRevision reports whether one of the owner's revisions has a hash.
	IsRevision func(hash string) bool
	// Found is called with a work of the owner, read from the API server, that the cache does not show yet.
	Found func(work metav1.Object)
	// NameTaken is called when a work got a name other than the usual one.
	NameTaken func(cluster, name string)
}

// Write creates or patches a work as planned, and returns the API server's answer. The error is a conflict if the work
// changed or disappeared since the cache showed it. The error is memory.ErrUnseen if the work to create exists, but the
// cache does not show it.
func (w *Writer) Write(ctx context.Context, owner *Owner, write *rollout.Write) (metav1.Object, error) {
	if write.Action == rollout.Create {
		return w.create(ctx, owner, write)
	}
	if w.Whole && write.ChangesSpec() {
		return w.rewrite(ctx, write)
	}
	return w.patch(ctx, owner, write)
}

// patch patches a work. If there is a metadata client, patch requests only the metadata of the written work in the
// response, because reading a large work back costs more than writing it.
func (w *Writer) patch(ctx context.Context, owner *Owner, write *rollout.Write) (metav1.Object, error) {
	spec, err := w.change(ctx, owner.History, write)
	if err != nil {
		return nil, err
	}
	kind, data, err := workpatch.Patch(write, spec, w.Clock.Now())
	if err != nil {
		return nil, err
	}
	return w.send(ctx, write.Work.Object, kind, data)
}

// SetSpec writes the spec of a work that was read live. The error is a conflict if the work has changed or disappeared since.
func (w *Writer) SetSpec(ctx context.Context, live *workv1.ManifestWork, spec *workv1.ManifestWorkSpec) (metav1.Object, error) {
	change, err := workpatch.Compare(&live.Spec, spec)
	if err != nil {
		return nil, err
	}
	kind, data, err := workpatch.SpecPatch(live, change)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return w.send(ctx, live, kind, data)
}

func (w *Writer) send(
	ctx context.Context, existing *workv1.ManifestWork, kind types.PatchType, data []byte,
) (answer metav1.Object, err error) {
	name, cluster := existing.Name, existing.Namespace
	if w.Metadata != nil {
		answer, err = w.Metadata.Resource(resource).Namespace(cluster).Patch(ctx, name, kind, data, metav1.PatchOptions{})
	} else {
		answer, err = w.in(cluster).Patch(ctx, name, kind, data, metav1.PatchOptions{})
	}
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil, gone(name, cluster)
	}
	return answer, err
}

var resource = schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}

// rewrite writes a work as a whole. If works are not stored as JSON, a patch is not shorter.
func (w *Writer) rewrite(ctx context.Context, write *rollout.Write) (metav1.Object, error) {
	answer, err := w.in(write.Cluster).Update(ctx, workpatch.Whole(write, w.Clock.Now()), metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil, gone(write.Work.Object.Name, write.Cluster)
	}
	return answer, err
}

// gone returns the error for a work that was deleted since the cache showed it: the next pass decides again.
func gone(name, cluster string) error {
	return apierrors.NewConflict(workv1.Resource("manifestworks"), name, fmt.Errorf("it is gone from namespace %s", cluster))
}

// Delete deletes a work only if its version is still the one that the cache shows. The error is a conflict if the work has changed since.
// It reports whether the work existed.
func (w *Writer) Delete(ctx context.Context, work *workv1.ManifestWork) (deleted bool, err error) {
	return w.delete(ctx, work, &metav1.Preconditions{UID: &work.UID, ResourceVersion: &work.ResourceVersion})
}

// DeleteAny deletes a work in any version. It reports whether the work existed.
func (w *Writer) DeleteAny(ctx context.Context, work *workv1.ManifestWork) (deleted bool, err error) {
	return w.delete(ctx, work, &metav1.Preconditions{UID: &work.UID})
}

func (w *Writer) delete(ctx context.Context, work *workv1.ManifestWork, preconditions *metav1.Preconditions) (bool, error) {
	err := w.in(work.Namespace).Delete(ctx, work.Name, metav1.DeleteOptions{Preconditions: preconditions})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("deleting ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	return true, nil
}

// Get reads a work live.
func (w *Writer) Get(ctx context.Context, namespace, name string) (*workv1.ManifestWork, error) {
	return w.in(namespace).Get(ctx, name, metav1.GetOptions{})
}

// List lists the works with a label selector live, in one namespace or in all.
func (w *Writer) List(ctx context.Context, namespace, selector string) ([]workv1.ManifestWork, error) {
	list, err := w.in(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// ListOf lists the works of an owner live, by either owner label, in one cluster's namespace or in all.
func (w *Writer) ListOf(ctx context.Context, cluster, namespace, name string) ([]workv1.ManifestWork, error) {
	var selectors []string
	if !w.AllLabelled {
		selectors = append(selectors, workv1alpha1.LabelOwnerHash+"="+workv1alpha1.OwnerHash(namespace, name)+",!"+workv1alpha1.LabelReplicaSet)
	}
	if label := workv1alpha1.OwnerLabelValue(namespace, name); len(label) <= workv1alpha1.MaxOwnerLabelLength {
		selectors = append(selectors, workv1alpha1.LabelReplicaSet+"="+label)
	}
	var works []workv1.ManifestWork
	for _, selector := range selectors {
		list, err := w.List(ctx, cluster, selector)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if workv1alpha1.IsOwner(namespace, name, &list[i]) {
				works = append(works, list[i])
			}
		}
	}
	return works, nil
}

func (w *Writer) in(namespace string) workv1client.ManifestWorkInterface {
	return w.Works.WorkV1().ManifestWorks(namespace)
}
