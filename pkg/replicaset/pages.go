package replicaset

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// PageSize is the number of objects to read at a time. Each may hold a template of hundreds of kilobytes.
const PageSize = 50

// Each reads a list live, page by page, and calls add for each object.
func Each[T runtime.Object](
	ctx context.Context, options metav1.ListOptions, page func(metav1.ListOptions) (runtime.Object, error), add func(T) error,
) error {
	pages := pager.New(pager.SimplePageFunc(page))
	pages.PageSize, pages.PageBufferSize = PageSize, 1
	return pages.EachListItem(ctx, options, func(object runtime.Object) error {
		listed, ok := object.(T)
		if !ok {
			return fmt.Errorf("the list has a %T", object)
		}
		return add(listed)
	})
}
