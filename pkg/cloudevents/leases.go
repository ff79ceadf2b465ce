package cloudevents

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Leases reports, from the API server, which clusters are available, independently of their work agents.
type Leases struct {
	client kubernetes.Interface
	clock  clock.PassiveClock

	mu sync.Mutex
	// seen holds the last result for each cluster.
	seen map[string]readLease
}

type readLease struct {
	at                time.Time
	available, exists bool
}

// NewLeases returns new Leases.
func NewLeases(client kubernetes.Interface, clk clock.PassiveClock) *Leases {
	return &Leases{client: client, clock: clk, seen: map[string]readLease{}}
}

// Available reports whether the registration agent of a cluster renews its Lease, and whether there is a Lease. If the Lease can't be read,
// it counts as one that is not renewed.
func (l *Leases) Available(ctx context.Context, cluster string) (available, exists bool) {
	now := l.clock.Now()
	l.mu.Lock()
	seen, known := l.seen[cluster]
	l.mu.Unlock()
	if known && now.Sub(seen.at) < leaseFreshness {
		return seen.available, seen.exists
	}
	lease, err := l.client.CoordinationV1().Leases(cluster).Get(ctx, clusterLease, metav1.GetOptions{})
	seen = readLease{at: now, exists: !apierrors.IsNotFound(err)}
	if err == nil && lease.Spec.RenewTime != nil {
		every := defaultLease
		if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil && *seconds > 0 {
			every = time.Duration(*seconds) * time.Second
		}
		seen.available = now.Sub(lease.Spec.RenewTime.Time) < leaseGrace*every
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[cluster] = seen
	return seen.available, seen.exists
}
