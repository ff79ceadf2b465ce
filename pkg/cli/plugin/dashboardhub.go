package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// dashboardHub is the hub as the dashboard sees it.
type dashboardHub struct {
	o       *options
	clients *clients
	all     bool

	mu      sync.Mutex
	since   time.Time
	problem string
	// back is closed when the API server can be reached again.
	back chan struct{}
}

func newDashboardHub(o *options, c *clients, all bool) *dashboardHub {
	return &dashboardHub{o: o, clients: c, all: all, back: make(chan struct{})}
}

// in returns the clients for a namespace.
func (h *dashboardHub) in(namespace string) *clients {
	c := *h.clients
	c.namespace = namespace
	return &c
}

// Scope implements dashboard.Hub.
func (h *dashboardHub) Scope() string {
	if h.all {
		return "all namespaces"
	}
	return "namespace " + h.clients.namespace
}

// The interval between checks of the connection to the API server, and the time limit of each check.
const (
	contactEvery  = 2 * time.Second
	contactWithin = 5 * time.Second
)

// watchContact checks the connection to the API server repeatedly, until the context ends.
func (h *dashboardHub) watchContact(ctx context.Context) {
	ticker := time.NewTicker(contactEvery)
	defer ticker.Stop()
	for {
		asked, cancel := context.WithTimeout(ctx, contactWithin)
		err := h.clients.kube.Discovery().RESTClient().Get().AbsPath("/version").Do(asked).Error()
		cancel()
		if ctx.Err() != nil {
			return
		}
		h.noteContact(err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// noteContact notes the result of a request. Any answer of the API server except an overload shows that the server is reachable.
func (h *dashboardHub) noteContact(err error) {
	var answered apierrors.APIStatus
	here := err == nil || errors.As(err, &answered) && answered.Status().Code < 500
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case here && !h.since.IsZero():
		h.since, h.problem = time.Time{}, ""
		close(h.back)
		h.back = make(chan struct{})
	case !here:
		if h.since.IsZero() {
			h.since = h.o.now()
		}
		h.problem = err.Error()
	}
}

// Contact implements dashboard.Hub.
func (h *dashboardHub) Contact() (since time.Time, problem string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.since, h.problem
}

// seenAt returns the time at which the objects were as they are read: now, or when the API server could be reached last. Otherwise, the
// Lease of a hub that runs would look late.
func (h *dashboardHub) seenAt() time.Time {
	if since, _ := h.Contact(); !since.IsZero() {
		return since
	}
	return h.o.now()
}

func (h *dashboardHub) returned() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.back
}

// List implements dashboard.Hub.
func (h *dashboardHub) List(ctx context.Context) dashboard.Followed[[]view.Row] {
	c := h.in(h.clients.namespace)
	if h.all {
		c.namespace = metav1.NamespaceAll
	}
	never := func([]view.Row) bool { return false }
	return follows(ctx, h, never, func(ctx context.Context, changed chan struct{}) (read[[]view.Row], error) {
		f, err := followSets(ctx, c, changed, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return func() ([]view.Row, error) {
			if ready, err := f.ready(); !ready {
				return nil, cmp.Or(err, error(dashboard.ErrNotReady))
			}
			return f.rows(), nil
		}, nil
	})
}

// Follow implements dashboard.Hub.
func (h *dashboardHub) Follow(ctx context.Context, namespace, name string) dashboard.Followed[*view.Objects] {
	c := h.in(namespace)
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	lacks := func(o *view.Objects) bool { return o != nil && len(o.Missing) > 0 }
	return follows(ctx, h, lacks, func(ctx context.Context, changed chan struct{}) (read[*view.Objects], error) {
		f := newFollower(h.o, c, set)
		f.changed = changed
		if err := f.start(ctx); err != nil {
			return nil, err
		}
		return func() (*view.Objects, error) {
			switch ready, err := f.ready(); {
			case err != nil:
				return nil, err
			case !ready:
				return nil, dashboard.ErrNotReady
			}
			objects, err := f.objects(h.seenAt())
			if errors.Is(err, errDeleted) {
				return nil, dashboard.ErrDeleted
			}
			return objects, err
		}, nil
	})
}

// Report implements dashboard.Hub.
func (h *dashboardHub) Report(ctx context.Context, namespace, name string) ([]byte, error) {
	return h.o.reportPage(ctx, h.in(namespace), name)
}

// specTemplate returns the template in the spec.
func specTemplate(set *workv1alpha1.ManifestWorkReplicaSet) (json.RawMessage, error) {
	data, err := json.Marshal(set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, fmt.Errorf("encoding the template of %s/%s: %w", set.Namespace, set.Name, err)
	}
	return data, nil
}
