package controller

import (
	"time"

	"k8s.io/client-go/tools/cache"
)

// historyInterval is how often a pass without a history looks whether there is one now.
const historyInterval = 15 * time.Second

// optionalInformer is one that counts as synced also where its objects may not be read.
type optionalInformer struct {
	cache.SharedIndexInformer
	without func() string
}

// HasSynced reports whether a controller need not wait for it.
func (i optionalInformer) HasSynced() bool {
	return i.SharedIndexInformer.HasSynced() || i.without() != ""
}
