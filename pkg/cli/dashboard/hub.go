package dashboard

import (
	"context"
	"errors"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// Hub is the page's access to a hub. All methods use the user's permissions.
type Hub interface {
	// Scope describes what the list shows, such as "namespace default".
	Scope() string
	// List follows the ManifestWorkReplicaSets until the context ends.
	List(context.Context) Followed[[]view.Row]
	// Follow follows the objects of a ManifestWorkReplicaSet until the context ends.
	Follow(ctx context.Context, namespace, name string) Followed[*view.Objects]
	// Contact returns the time since which the API server has been unreachable, and the error. The time is zero if the server is reachable.
	Contact() (since time.Time, problem string)
	// Preview describes the writes of an action without making them. The objects are the ones that the page shows: they determine how many
	// clusters have a revision.
	Preview(context.Context, *Action, *view.Objects) (*Preview, error)
	// Act performs an action and returns a description of the result. If its question is no longer the question that the user confirmed, Act
	// returns ErrChanged and writes nothing.
	Act(ctx context.Context, action *Action, confirmed string) (string, error)
	// Report returns the report of a ManifestWorkReplicaSet as one HTML page.
	Report(ctx context.Context, namespace, name string) ([]byte, error)
}

// Followed returns the newest state of the objects that a Hub follows. It returns ErrNotReady until the first state is complete, and
// ErrDeleted if the object does not exist. Calls do not overlap.
type Followed[T any] func() (T, error)

// Action is a change that the user requests.
type Action struct {
	Namespace string    `json:"-"`
	Name      string    `json:"-"`
	Verb      view.Verb `json:"verb"`
	// Revision is the number of the revision that an undo restores; zero for the default.
	Revision int64 `json:"revision,omitempty"`
	// Generation is the object's generation for which the user confirmed an undo. The preview showed the difference from that generation's
	// template.
	Generation int64 `json:"generation,omitempty"`
	// Clusters are the clusters of a retry; empty for all failed clusters.
	Clusters []string `json:"clusters,omitempty"`
	// Group is the decision group to approve; empty for the only group that waits.
	Group string `json:"group,omitempty"`
	// Reason is the reason of an abort.
	Reason string `json:"reason,omitempty"`
	// Allowed lists the restrictions of an undo that the user lifted.
	view.Allowed
}

// Preview describes the writes of an action.
type Preview struct {
	view.Effect
	// Diff is the change to the template, with masked Secrets; empty if the template does not change.
	Diff string `json:"diff,omitempty"`
	// Generation is the generation of the object whose template an undo replaces.
	Generation int64 `json:"generation,omitempty"`
}

// The errors of a Hub that the page handles.
var (
	ErrNotReady = errors.New("the objects are being read")
	ErrDeleted  = errors.New("the ManifestWorkReplicaSet does not exist: it was deleted, or its name is wrong")
	ErrChanged  = errors.New("the rollout has changed since you confirmed: nothing was written; read the question again")
)
