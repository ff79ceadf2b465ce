package plugin

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// Preview implements dashboard.Hub. It makes the checks that the action will make.
func (h *dashboardHub) Preview(ctx context.Context, action *dashboard.Action, shown *view.Objects) (*dashboard.Preview, error) {
	c := h.in(action.Namespace)
	if action.Verb == view.VerbUndo {
		return h.previewUndo(ctx, c, action, shown)
	}
	set, err := c.replicaSets().Get(ctx, action.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	switch action.Verb {
	case view.VerbAbort:
		err = view.Abortable(set)
	case view.VerbRetry:
		_, _, err = plannedRetry(set, action.Clusters)
	case view.VerbPause, view.VerbResume:
		err = pausable(set, action.Verb == view.VerbPause)
	default:
		err = fmt.Errorf("verb %q is unknown; use undo, abort, retry, pause or resume", action.Verb)
	}
	if err != nil {
		return nil, err
	}
	objects := &view.Objects{ReplicaSet: set, Works: shown.Works, Now: h.o.now()}
	return &dashboard.Preview{Effect: view.EffectOf(objects, action.Verb, nil, action.Clusters)}, nil
}

func (h *dashboardHub) previewUndo(
	ctx context.Context, c *clients, action *dashboard.Action, shown *view.Objects,
) (*dashboard.Preview, error) {
	flags := &undoOptions{number: action.Revision, Allowed: action.Allowed}
	objects, target, err := h.o.undoTarget(ctx, c, action.Name, flags)
	if err != nil {
		return nil, err
	}
	before, err := specTemplate(objects.ReplicaSet)
	if err != nil {
		return nil, err
	}
	after, err := templateOf(objects, target.Number)
	if err != nil {
		return nil, err
	}
	diff, err := plainDiff(before, after)
	objects.Works = shown.Works
	return &dashboard.Preview{
		Effect: view.EffectOf(objects, view.VerbUndo, target, nil), Diff: diff, Generation: objects.ReplicaSet.Generation,
	}, err
}

// Act implements dashboard.Hub.
func (h *dashboardHub) Act(ctx context.Context, action *dashboard.Action, confirmed string) (string, error) {
	preview, err := h.Preview(ctx, action, &view.Objects{})
	if err != nil {
		return "", err
	}
	if plain.Text(preview.Question) != confirmed || action.Verb == view.VerbUndo && preview.Generation != action.Generation {
		return "", dashboard.ErrChanged
	}
	var out bytes.Buffer
	quiet, c := *h.o, h.in(action.Namespace)
	quiet.Out = &out
	quiet.unchanged = func(set *workv1alpha1.ManifestWorkReplicaSet) error {
		if action.Verb == view.VerbUndo {
			if set.Generation != action.Generation {
				return dashboard.ErrChanged
			}
			return nil
		}
		objects := &view.Objects{ReplicaSet: set, Now: h.o.now()}
		if plain.Text(view.EffectOf(objects, action.Verb, nil, action.Clusters).Question) != confirmed {
			return dashboard.ErrChanged
		}
		return nil
	}
	switch action.Verb {
	case view.VerbUndo:
		// The number is that of the preview, so that a rollout that begins in between changes nothing.
		err = quiet.undoAt(ctx, c, action.Name, &undoOptions{number: preview.Revision, Allowed: action.Allowed})
	case view.VerbAbort:
		err = quiet.abortAt(ctx, c, action.Name, &abortOptions{reason: action.Reason})
	case view.VerbRetry:
		err = quiet.retryAt(ctx, c, action.Name, slices.Clone(action.Clusters), &actOptions{})
	default:
		err = quiet.setPausedAt(ctx, c, action.Name, action.Verb, &actOptions{})
	}
	return strings.TrimSpace(out.String()), err
}
