package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

func newHistory(o *options) *cobra.Command {
	number, to := int64(0), &output{}
	cmd := o.named(&cobra.Command{
		Use: "history NAME", GroupID: groupSee,
		Short: "Show the revisions, or the template of one revision",
		Example: `  # Show all revisions
  kubectl mwrs history web

  # Print the template of revision 6
  kubectl mwrs history web --revision 6`,
	}, func(ctx context.Context, c *clients, name string) error { return o.history(ctx, c, name, number, to) })
	o.revisionFlag(cmd, &number, "revision", "Print the template of this revision")
	to.addFlag(cmd, "name")
	return cmd
}

func (o *options) history(ctx context.Context, c *clients, name string, number int64, to *output) error {
	objects, err := o.readSet(ctx, c, name, historyStep(c))
	if err != nil {
		return err
	}
	if number == 0 {
		for _, missing := range objects.Missing {
			o.notef("note: no permission to %s: only the revisions in status.revisions are shown\n", missing)
		}
		revisions := view.Revisions(objects)
		if !to.isSet() {
			return o.printTable(o.revisionTable(revisions))
		}
		names := make([]string, len(revisions))
		for i := range revisions {
			names[i] = "controllerrevision.apps/" + revisions[i].Name
		}
		return to.print(o, revisions, names...)
	}
	template, r, err := templateOf(objects, number)
	if err != nil {
		return err
	}
	for i := range r.Approvals {
		o.notef("note: %s\n", r.Approvals[i].Text())
	}
	if to.format == "name" {
		return errors.New("-o name applies to the list of revisions: omit --revision")
	} else if to.isSet() {
		return to.print(o, template)
	}
	return o.printYAML(template)
}

// templateOf returns the template of a revision as JSON, and the revision. Revisions of an earlier object with the same name are not part
// of the history, although they may have the same numbers.
func templateOf(objects *view.Objects, number int64) (json.RawMessage, *view.Revision, error) {
	revisions := view.Revisions(objects)
	at := slices.IndexFunc(revisions, func(r view.Revision) bool { return r.Stored && r.Number == number })
	for _, object := range objects.Revisions {
		if at < 0 || object.Name != revisions[at].Name {
			continue
		}
		var data struct {
			Spec struct {
				Template json.RawMessage `json:"manifestWorkTemplate"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(object.Data.Raw, &data); err != nil || data.Spec.Template == nil {
			return nil, nil, fmt.Errorf("ControllerRevision %s/%s does not contain a template", object.Namespace, object.Name)
		}
		return data.Spec.Template, &revisions[at], nil
	}
	if len(objects.Missing) > 0 {
		return nil, nil, fmt.Errorf("no permission to %s", objects.Missing[0])
	}
	list := plain.Command("kubectl", "mwrs", "history", objects.ReplicaSet.Name)
	return nil, nil, fmt.Errorf("there is no revision %d; see `%s`", number, list)
}
