package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// dashboardHub is the dashboard's access to the hub.
type dashboardHub struct {
	o       *options
	clients *clients
	all     bool

	mu      sync.Mutex
	since   time.Time
	problem string
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
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		asked, cancel := context.WithTimeout(ctx, contactWithin)
		defer cancel()
		err := h.clients.kube.Discovery().RESTClient().Get().AbsPath("/version").Do(asked).Error()
		if ctx.Err() == nil {
			h.noteContact(err)
		}
	}, contactEvery)
}

// noteContact records the result of a request. Any response from the API server except an overload shows that the server is reachable.
func (h *dashboardHub) noteContact(err error) {
	var answered apierrors.APIStatus
	here := err == nil || errors.As(err, &answered) && answered.Status().Code < 500
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case here && !h.since.IsZero():
		h.since, h.problem = time.Time{}, ""
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

// seenAt returns the time of the state that the objects show: now, or the last time when the API server was reachable. With the current
// time, the Lease of a running hub would look late during an outage.
func (h *dashboardHub) seenAt() time.Time {
	if since, _ := h.Contact(); !since.IsZero() {
		return since
	}
	return h.o.now()
}

// List implements dashboard.Hub.
func (h *dashboardHub) List(ctx context.Context) dashboard.Followed[[]view.Row] {
	c := h.in(h.clients.namespace)
	if h.all {
		c.namespace = metav1.NamespaceAll
	}
	f := followSets(ctx, c, metav1.ListOptions{})
	return followed(f, func() ([]view.Row, error) { return f.rows(), nil })
}

// Follow implements dashboard.Hub.
func (h *dashboardHub) Follow(ctx context.Context, namespace, name string) dashboard.Followed[*view.Objects] {
	f := follow(ctx, h.in(namespace), name)
	return followed(f, func() (*view.Objects, error) {
		objects, err := f.objects(h.seenAt())
		if errors.Is(err, errDeleted) {
			err = dashboard.ErrDeleted
		}
		return objects, err
	})
}

// followed returns a function that reads from a follower. While the informers are incomplete, the function returns the last complete state.
func followed[T any](f *follower, read func() (T, error)) dashboard.Followed[T] {
	var last, none T
	err := dashboard.ErrNotReady
	return func() (T, error) {
		switch ready, problem := f.ready(); {
		case problem != nil:
			last, err = none, problem
		case ready:
			last, err = read()
		}
		return last, err
	}
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
