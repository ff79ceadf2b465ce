package memory

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// The writers of a pass record their writes while informers read. Each note is announced once.
func TestOwnerIsShared(t *testing.T) {
	const notes, callers = 16, 4
	owners, now := NewOwners(), time.Unix(1000, 0)
	o := owners.OwnerOf("demo/web", "u1")
	o.Releases.Begin()
	var told atomic.Int32
	workqueue.ParallelizeUntil(context.Background(), 16, notes*callers, func(i int) {
		object := newWork(fmt.Sprint("u", i), "7")
		o.Works.WorkOf(object.UID).Wrote(object, &work.Revision{Digest: "abc"})
		o.Works.WorkOf(object.UID).Stripped(true, now)
		o.Releases.Wrote(object.UID, &object.Spec, now)
		o.WroteBack("an abort", object.Namespace)
		if o.Announce(fmt.Sprint("note ", i%notes)) {
			told.Add(1)
		}
		owners.Find("demo/web").Abort()
		owners.Find("demo/web").Releases.Begun()
	})
	require.Equal(t, int32(notes), told.Load())
}

// Forgetting one object keeps the memory of all others. A recreated object of the same name starts without memory.
func TestForget(t *testing.T) {
	m := NewOwners()
	require.Nil(t, m.Find("demo/web"))
	require.Equal(t, NoAbort, m.Find("demo/web").Abort())
	m.OwnerOf("demo/web", "u1").LeaveAbort(AbortUnderWay)
	m.OwnerOf("demo/web2", "u2").LeaveAbort(AbortStuck)
	require.Equal(t, AbortUnderWay, m.OwnerOf("demo/web", "u1").Abort())
	m.OwnerOf("demo/web", "u3")
	require.Equal(t, NoAbort, m.Find("demo/web").Abort())
	m.Forget("demo/web")
	require.Nil(t, m.Find("demo/web"))
	require.Equal(t, AbortStuck, m.Find("demo/web2").Abort())
}
