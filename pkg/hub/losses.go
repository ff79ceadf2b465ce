package hub

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// noticeLosses calls noticeLoss for every informer. It must be called before any informer starts.
func (h *hub) noticeLosses() error {
	for collection, informer := range h.informers {
		if err := h.noticeLoss(collection, informer); err != nil {
			return err
		}
	}
	return nil
}

// noticeLoss makes the connection record when an informer's watch ends with an error. The watch of a CloudEvents driver
// is not a watch of the API server; the driver itself records the loss of its broker.
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
