package worklist

import (
	"context"
	"crypto/sha256"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"open-cluster-management.io/api/client/work/clientset/versioned/scheme"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// atOnce is the number of ManifestWorks that are read at the same time.
const atOnce = 8

// Metadata reads the metadata of the ManifestWorks that a selector selects, in all namespaces, without managedFields. It asks for one page:
// the API server answers that from memory as protobuf, about 1.7 KB for each work, and reads any further page from etcd, which takes it
// longer than the whole list.
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

// Fetch replaces works by what a view reads of the whole works. A work that was deleted since keeps its metadata. The API server answers
// from memory, with at least the version that the metadata is from.
func Fetch(ctx context.Context, client rest.Interface, works []work.Work, which []int) error {
	known := &digests{known: map[[sha256.Size]byte]revision.Digest{}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, i := range which {
		group.Go(func() error {
			found := &works[i]
			answer := client.Get().Resource("manifestworks").Namespace(found.Object.Namespace).Name(found.Object.Name).
				VersionedParams(&metav1.GetOptions{ResourceVersion: found.Object.ResourceVersion}, scheme.ParameterCodec).
				SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx)
			if err := answer.Error(); err != nil {
				if apierrors.IsNotFound(err) {
					return nil
				}
				return err
			}
			data, err := answer.Raw()
			if err == nil {
				*found, err = known.decode(data)
			}
			return err
		})
	}
	return group.Wait()
}
