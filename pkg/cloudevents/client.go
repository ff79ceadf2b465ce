package cloudevents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// client is the client of the ManifestWorks of one cluster, or of all clusters if the namespace is empty. It behaves
// like an API server. Unlike sdk-go's source client, it rejects a patch or a deletion that is based on an older
// version, increments the generation with each change to the spec, and keeps a report that arrives while it writes. The
// methods for the status and for deleting collections are missing: agents own the status, and nothing deletes
// collections.
type client struct {
	workv1client.ManifestWorkInterface
	driver    *Driver
	namespace string
}

// uid returns the UID of a work. It is the same for every hub, and after every restart.
func (c *client) uid(name string) types.UID {
	return workUID(c.namespace, name)
}

func workUID(namespace, name string) types.UID {
	return types.UID(utils.UID(SourceID, common.ManifestWorkGR.String(), namespace, name))
}

// Create publishes a new work.
func (c *client) Create(ctx context.Context, work *workv1.ManifestWork, _ metav1.CreateOptions) (*workv1.ManifestWork, error) {
	uid := c.uid(work.Name)
	defer c.driver.lock(uid)()
	if c.driver.store.get(uid) != nil {
		return nil, apierrors.NewAlreadyExists(common.ManifestWorkGR, work.Name)
	}
	if err := c.driver.reachable(); err != nil {
		return nil, err
	}
	what := c.driver.store.contents.contentOf(&work.Spec)
	created := &workv1.ManifestWork{ObjectMeta: *work.ObjectMeta.DeepCopy(), Spec: what.spec}
	created.Namespace, created.UID = c.namespace, uid
	created.Generation = c.driver.store.nextGeneration(c.namespace, 0)
	created.CreationTimestamp = metav1.NewTime(c.driver.clock.Now())
	if err := c.driver.publish(ctx, eventtypes.CreateRequestAction, created, what); err != nil {
		return nil, err
	}
	return copyOf(c.driver.store.put(created)), nil
}

// Patch publishes a changed work. A change to the metadata alone does not change the generation.
func (c *client) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string,
) (*workv1.ManifestWork, error) {
	if len(subresources) > 0 {
		return nil, apierrors.NewMethodNotSupported(common.ManifestWorkGR, "patch of a subresource")
	}
	defer c.driver.lock(c.uid(name))()
	before, err := c.known(name)
	if err != nil {
		return nil, err
	}
	changed, err := patched(kind, before, data)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("ManifestWork %s/%s can't be patched: %v", c.namespace, name, err))
	}
	if err := unchanged(before, &changed.UID, &changed.ResourceVersion); err != nil {
		return nil, err
	}
	return c.write(ctx, before, changed)
}

// Update publishes a whole work, so that 20 kB of JSON need not be compared. It takes the labels, annotations, owners
// and spec of the given work, if that has the hub's current version.
func (c *client) Update(ctx context.Context, work *workv1.ManifestWork, _ metav1.UpdateOptions) (*workv1.ManifestWork, error) {
	defer c.driver.lock(c.uid(work.Name))()
	before, err := c.known(work.Name)
	if err != nil {
		return nil, err
	}
	if err := unchanged(before, &work.UID, &work.ResourceVersion); err != nil {
		return nil, err
	}
	changed, given := *before, work.ObjectMeta.DeepCopy()
	changed.Labels, changed.Annotations, changed.OwnerReferences = given.Labels, given.Annotations, given.OwnerReferences
	changed.Spec = work.Spec
	return c.write(ctx, before, &changed)
}

// known returns a work that can be written now.
func (c *client) known(name string) (*workv1.ManifestWork, error) {
	work := c.driver.store.get(c.uid(name))
	if work == nil {
		return nil, apierrors.NewNotFound(common.ManifestWorkGR, name)
	}
	return work, c.driver.reachable()
}

// write publishes a changed work. A change to the metadata alone does not change the generation.
func (c *client) write(ctx context.Context, before, changed *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	// Neither the identity nor the deletion timestamp can be changed.
	changed.Name, changed.Namespace, changed.DeletionTimestamp = before.Name, before.Namespace, before.DeletionTimestamp
	was, what := c.driver.store.contents.contentOf(&before.Spec), c.driver.store.contents.contentOf(&changed.Spec)
	if was != what {
		changed.Generation = c.driver.store.nextGeneration(c.namespace, 0)
	}
	changed.Spec = what.spec
	if err := c.driver.publish(ctx, eventtypes.UpdateRequestAction, changed, what); err != nil {
		return nil, err
	}
	return copyOf(c.driver.store.put(changed)), nil
}

// Delete publishes a deletion. A work that no agent has reported yet is removed immediately. Any other work is removed
// when its agent confirms the deletion.
func (c *client) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	uid := c.uid(name)
	defer c.driver.lock(uid)()
	before := c.driver.store.get(uid)
	if before == nil {
		return apierrors.NewNotFound(common.ManifestWorkGR, name)
	}
	if p := options.Preconditions; p != nil {
		if err := unchanged(before, p.UID, p.ResourceVersion); err != nil {
			return err
		}
	}
	deleting := c.driver.deleting(before)
	if err := c.driver.publish(ctx, eventtypes.DeleteRequestAction, deleting, nil); err != nil {
		return err
	}
	if len(before.Finalizers) == 0 {
		c.driver.store.remove(uid)
	} else {
		c.driver.store.put(deleting)
	}
	return nil
}

// deleting returns the work with a deletion timestamp. If the work has none yet, the deletion starts now.
func (d *Driver) deleting(work *workv1.ManifestWork) *workv1.ManifestWork {
	deleting := copyOf(work)
	if deleting.DeletionTimestamp.IsZero() {
		now := metav1.NewTime(d.clock.Now())
		deleting.DeletionTimestamp = &now
	}
	return deleting
}

func unchanged(work *workv1.ManifestWork, uid *types.UID, version *string) error {
	if uid != nil && *uid != work.UID {
		return apierrors.NewConflict(common.ManifestWorkGR, work.Name, errors.New("the object was recreated"))
	}
	if version != nil && *version != work.ResourceVersion {
		return apierrors.NewConflict(common.ManifestWorkGR, work.Name,
			fmt.Errorf("the decision was based on version %s, and the object is now at %s", *version, work.ResourceVersion))
	}
	return nil
}

// Get is for callers that need the current status: it asks the agent to report again, waits briefly for the answer, and
// processes all reports of the work that have arrived. It fails while the broker is unreachable.
func (c *client) Get(ctx context.Context, name string, _ metav1.GetOptions) (*workv1.ManifestWork, error) {
	heard, forget := c.driver.expectReport(c.namespace, c.uid(name))
	defer forget()
	if err := c.driver.awaitReport(ctx, c.namespace, heard); err != nil {
		return nil, refusal(name, err)
	}
	if err := c.driver.readOut(ctx, c.namespace, c.uid(name)); err != nil {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("reports from agents are not yet processed: %v", err))
	}
	found := c.driver.store.get(c.uid(name))
	if found == nil {
		return nil, apierrors.NewNotFound(common.ManifestWorkGR, name)
	}
	return copyOf(found), nil
}

// List returns the works that the hub knows.
func (c *client) List(_ context.Context, options metav1.ListOptions) (*workv1.ManifestWorkList, error) {
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("labelSelector %q: %v", options.LabelSelector, err))
	}
	return c.driver.store.list(c.namespace, selector), nil
}

// Watch reports the works of all clusters.
func (c *client) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if c.namespace != metav1.NamespaceAll {
		return nil, apierrors.NewMethodNotSupported(common.ManifestWorkGR, "watch of one namespace")
	}
	return c.driver.store.watch(options.ResourceVersion)
}

// clientset serves only ManifestWorks.
type clientset struct {
	workclientset.Interface
	workv1client.AppliedManifestWorksGetter
	driver *Driver
}

// IsWatchListSemanticsUnSupported makes an informer list first and then watch.
func (c *clientset) IsWatchListSemanticsUnSupported() bool { return true }

// WorkV1 implements workclientset.Interface.
func (c *clientset) WorkV1() workv1client.WorkV1Interface { return c }

// ManifestWorks implements workv1client.ManifestWorksGetter.
func (c *clientset) ManifestWorks(namespace string) workv1client.ManifestWorkInterface {
	return &client{driver: c.driver, namespace: namespace}
}

// RESTClient implements workv1client.WorkV1Interface.
func (c *clientset) RESTClient() rest.Interface { return nil }

// patched returns a work with a patch applied. The contents of the work are decoded only if the patch changes them.
func patched(kind types.PatchType, before *workv1.ManifestWork, data []byte) (*workv1.ManifestWork, error) {
	if kind != types.MergePatchType || !onlyMetadata(data) {
		return utils.Patch(kind, before, data)
	}
	bare := &workv1.ManifestWork{TypeMeta: before.TypeMeta, ObjectMeta: before.ObjectMeta}
	changed, err := utils.Patch(kind, bare, data)
	if err != nil {
		return nil, err
	}
	changed.Spec, changed.Status = before.Spec, before.Status
	return changed, nil
}

// onlyMetadata reports whether a merge patch changes only metadata.
func onlyMetadata(data []byte) bool {
	var patch map[string]json.RawMessage
	if json.Unmarshal(data, &patch) != nil {
		return false
	}
	delete(patch, "metadata")
	return len(patch) == 0
}
