// Package worklist reads the ManifestWorks of an owner, and keeps the parts that a view reads. A list of 10,000 ManifestWorks is about 250
// MB of JSON, most of which is manifests. At most a few pages of ManifestWorks are in memory at a time.
package worklist

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

const (
	// PageSize is the number of ManifestWorks in a page. A single ManifestWork can have hundreds of kilobytes.
	PageSize = 250
	// pagesAhead is the number of pages that are read while an earlier one is decoded.
	pagesAhead = 2
	// atOnce is the number of ManifestWorks that are read at the same time.
	atOnce = 8
)

// Read reads the ManifestWorks that a selector selects, in all namespaces, and the resource version from which a watch continues. If the
// list expires on the API server before Read has read all pages, Read reads the rest from the current state.
func Read(ctx context.Context, client workclient.Interface, selector string) (works []work.Work, version string, err error) {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		list, err := client.WorkV1().ManifestWorks(metav1.NamespaceAll).List(ctx, options)
		if next := continues(err); next != "" {
			options.Continue = next
			list, err = client.WorkV1().ManifestWorks(metav1.NamespaceAll).List(ctx, options)
		}
		if err == nil {
			version = cmp.Or(version, list.ResourceVersion)
		}
		return list, err
	})
	pages.PageSize, pages.PageBufferSize, pages.FullListIfExpired = PageSize, pagesAhead, false
	keeper := NewKeeper()
	err = pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(object runtime.Object) error {
		if item, ok := object.(*workv1.ManifestWork); ok {
			works = append(works, keeper.WorkOf(item))
		}
		return nil
	})
	return works, version, err
}

// continues returns the token with which an expired list continues from the current state. The token is empty for any other error.
func continues(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// Metadata reads the metadata of the ManifestWorks that a selector selects, in all namespaces, without managedFields. It requests a
// single page, which the API server serves from memory as protobuf, about 1.7 KB for each work. It reads further pages from etcd, which
// takes longer than the whole list.
func Metadata(ctx context.Context, client metadata.Interface, selector string) ([]work.Work, error) {
	resource := schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}
	list, err := client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	works := make([]work.Work, 0, len(list.Items))
	for i := range list.Items {
		list.Items[i].ManagedFields = nil
		works = append(works, work.Work{Object: &workv1.ManifestWork{ObjectMeta: list.Items[i].ObjectMeta}})
	}
	return works, nil
}

// Fetch reads some of the works, and replaces each with the parts that a view reads. A work that was deleted in the meantime keeps its
// metadata. The API server responds from memory, with the same version as the metadata or a later version.
func Fetch(ctx context.Context, client workclient.Interface, works []work.Work, which []int) error {
	keeper := NewKeeper()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, i := range which {
		group.Go(func() error {
			of := works[i].Object
			found, err := client.WorkV1().ManifestWorks(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{ResourceVersion: of.ResourceVersion})
			if err == nil {
				works[i] = keeper.WorkOf(found)
			}
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
	return group.Wait()
}

// Keeper keeps the parts of ManifestWorks that a view reads.
type Keeper struct{ digests *workcache.Digests }

// NewKeeper returns a Keeper that has not seen any work.
func NewKeeper() *Keeper { return &Keeper{digests: workcache.NewDigests()} }

// WorkOf returns the parts of a ManifestWork that a view reads:
//
//   - its metadata without managedFields;
//   - the digest of its spec;
//   - its conditions;
//   - the agent's reports about its manifests, if any of their conditions may matter.
func (k *Keeper) WorkOf(of *workv1.ManifestWork) work.Work {
	object := &workv1.ManifestWork{ObjectMeta: of.ObjectMeta, Status: of.Status}
	object.ManagedFields = nil
	if object.Annotations[workv1alpha1.AnnotationKeptRevision] == "" && !anyMatters(object.Status.ResourceStatus.Manifests) {
		object.Status.ResourceStatus.Manifests = nil
	}
	return work.Work{Object: object, Digest: k.digests.DigestOf(&of.Spec)}
}

// anyMatters reports whether a manifest has a condition that determines the state of its work (work.Decisive), or that explains why the
// work has not succeeded.
func anyMatters(manifests []workv1.ManifestCondition) bool {
	return slices.ContainsFunc(manifests, func(m workv1.ManifestCondition) bool {
		return slices.ContainsFunc(m.Conditions, func(c metav1.Condition) bool {
			wanted, known := view.Good[c.Type]
			return known && (c.Status != wanted || strings.Contains(c.Reason, workv1.ConditionRuleExpressionError))
		})
	})
}
