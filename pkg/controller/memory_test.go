package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Writers of several passes note at once what they did while informers forget what is gone: none waits for another, and each note is
// told once.
func TestMemoryIsShared(t *testing.T) {
	const notes, callers = 16, 4
	m, now := newMemory(), time.Unix(1000, 0)
	var told atomic.Int32
	workqueue.ParallelizeUntil(context.Background(), defaultWriters, notes*callers*8, func(i int) {
		object := work(fmt.Sprint("u", i%5), "7")
		object.Generation, object.Spec = int64(1+i%3), spec(configMap)
		w := m.works.view(object, selection{selected: i%2 == 0}, true, now)
		m.works.settle(&w, i%2 == 0, now)
		m.works.wrote(object, &rollout.Revision{Digest: "abc"})
		m.works.difference(object.UID, func() string {
			return "spec." + string(m.works.digest(object)) // It may take long: who asks in the meantime gets an answer.
		})
		gone := fmt.Sprint("demo/web", i%3)
		noteAll(m, gone, now)
		m.owners.defaulted(gone)
		known(m, gone, now)
		if m.told.announce("demo/stays", fmt.Sprint("note ", i%notes)) {
			told.Add(1)
		}
		if i%7 == 0 {
			m.forgetWork(object.UID)
			m.forgetOwner(gone)
		}
	})
	require.Equal(t, int32(notes), told.Load())
}
