package cloudevents

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

const (
	// clusterLease is the Lease in the namespace of each cluster that its registration agent renews.
	clusterLease = "managed-cluster-lease"
	// defaultLease is the renewal interval if the Lease does not set one. leaseGrace is the number of missed renewals after which OCM calls
	// the cluster unavailable.
	defaultLease = time.Minute
	leaseGrace   = 5
	// leaseFreshness is the time for which a Lease that was read is used.
	leaseFreshness = confirmAfter
)

// maxLeases limits the number of remembered Leases.
const maxLeases = 10000

// Leases reports, from the API server, which clusters are available, independently of their work agents.
type Leases struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
	// read holds the last result for each cluster.
	read *cache.LRUExpireCache
}

type readLease struct{ available, exists bool }

// NewLeases returns new Leases.
func NewLeases(client kubernetes.Interface, clk clock.PassiveClock) *Leases {
	return &Leases{client: client, clock: clk, read: cache.NewLRUExpireCacheWithClock(maxLeases, clk)}
}

// Available reports whether the registration agent of a cluster renews its Lease, and whether there is a Lease. If the Lease can't be read,
// it counts as not renewed.
func (l *Leases) Available(ctx context.Context, cluster string) (available, exists bool) {
	if known, ok := l.read.Get(cluster); ok {
		return known.(readLease).available, known.(readLease).exists
	}
	now := l.clock.Now()
	lease, err := l.client.CoordinationV1().Leases(cluster).Get(ctx, clusterLease, metav1.GetOptions{})
	exists = !apierrors.IsNotFound(err)
	if err == nil && lease.Spec.RenewTime != nil {
		every := defaultLease
		if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil && *seconds > 0 {
			every = time.Duration(*seconds) * time.Second
		}
		available = now.Sub(lease.Spec.RenewTime.Time) < leaseGrace*every
	}
	l.read.Add(cluster, readLease{available, exists}, leaseFreshness)
	return available, exists
}
