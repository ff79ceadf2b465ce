package plugin

import (
	"bytes"
	"context"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// Preview implements dashboard.Hub. It runs the same checks as the action.
func (h *dashboardHub) Preview(ctx context.Context, asked *dashboard.Action, shown *view.Objects) (*dashboard.Preview, error) {
	a, err := h.o.actionOf(ctx, h.in(asked.Namespace), asked, shown.Works)
	if err != nil {
		return nil, err
	}
	preview := &dashboard.Preview{Effect: a.Effect}
	if asked.Verb != view.VerbUndo {
		return preview, nil
	}
	before, err := specTemplate(a.set)
	if err != nil {
		return nil, err
	}
	preview.Generation = a.set.Generation
	preview.Diff, err = plainDiff(before, a.template)
	return preview, err
}

// Act implements dashboard.Hub. The question names the revisions, so it changes if the action would have another effect.
func (h *dashboardHub) Act(ctx context.Context, asked *dashboard.Action, confirmed string) (string, error) {
	var out bytes.Buffer
	quiet := *h.o
	quiet.Out = &out
	_, err := quiet.act(ctx, h.in(asked.Namespace), &actOptions{Action: *asked, unchanged: func(a *action) error {
		if plain.Text(a.Question) != confirmed || asked.Verb == view.VerbUndo && a.set.Generation != asked.Generation {
			return dashboard.ErrChanged
		}
		return nil
	}})
	return strings.TrimSpace(out.String()), err
}
