package hub

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// noticeLosses is noticeLoss for every informer. It comes before any of them starts.
func (h *hub) noticeLosses() error {
	for collection, informer := range h.informers {
		if err := h.noticeLoss(collection, informer); err != nil {
			return err
		}
	}
	return nil
}

// noticeLoss notes on the connection when an informer's watch ends with an error. What a CloudEvents driver carries is no
// watch of the API server: the driver notes the loss of its broker itself.
func (h *hub) noticeLoss(collection schema.GroupVersionResource, informer cache.SharedIndexInformer) error {
	if informer == h.works.informer.Informer() && h.Options.WorkDriver != driverKube {
		return nil
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		h.connection.WatchLost(collection)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err != nil {
		return fmt.Errorf("watching the informer of %s: %w", collection.GroupResource(), err)
	}
	return nil
}
