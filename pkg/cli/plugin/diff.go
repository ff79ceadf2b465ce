package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/mask"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

func newDiff(o *options) *cobra.Command {
	from, to := int64(0), int64(0)
	cmd := o.named(&cobra.Command{
		Use: "diff NAME", GroupID: groupSee,
		Short: "Compare the templates of two revisions, object by object",
		Long: "Compare the templates of two revisions, object by object. The values of Secrets are masked.\n" +
			"The exit code is 1 if they differ, and 2 for an error.",
		Example: `  # Compare the current revision with the template in the spec
  kubectl mwrs diff web

  # Compare two revisions
  kubectl mwrs diff web --from 5 --to 6`,
	}, func(ctx context.Context, c *clients, name string) error { return o.diff(ctx, c, name, from, to) })
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return failed(run(cmd, args)) }
	o.revisionFlag(cmd, &from, "from", "The older revision (default: the current revision)")
	o.revisionFlag(cmd, &to, "to", "The newer revision (default: the template in the spec)")
	return cmd
}

// failed returns an error with exit code 2, because 1 means that the templates differ. It returns an error with its own exit code
// unchanged.
func failed(err error) error {
	var coded *exitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return &exitError{code: 2, message: messageOf(err)}
}

func (o *options) diff(ctx context.Context, c *clients, name string, from, to int64) error {
	set, before, after, err := o.templates(ctx, c, name, from, to)
	if err != nil {
		return err
	}
	if err := o.warnIrreversible(set, before, after); err != nil {
		return err
	}
	return o.compare(before, after)
}

// warnIrreversible prints the irreversible effects of a change to the template. It uses the error output, because a program may read the
// output.
func (o *options) warnIrreversible(set *workv1alpha1.ManifestWorkReplicaSet, before, after json.RawMessage) error {
	var from workv1.ManifestWorkSpec
	to := set.DeepCopy()
	to.Spec.ManifestWorkTemplate = workv1.ManifestWorkSpec{}
	if err := cmp.Or(json.Unmarshal(before, &from), json.Unmarshal(after, &to.Spec.ManifestWorkTemplate)); err != nil {
		return err
	}
	for _, warning := range view.Irreversible(&from, to) {
		o.notef("Warning: %s\n", warning)
	}
	return nil
}

// templates returns the object, and the templates of two revisions. A zero in from stands for the current revision, a zero in to for the
// template in the spec.
func (o *options) templates(
	ctx context.Context, c *clients, name string, from, to int64,
) (set *workv1alpha1.ManifestWorkReplicaSet, before, after json.RawMessage, err error) {
	objects, err := o.readSet(ctx, c, name, historyStep(c))
	if err != nil {
		return nil, nil, nil, err
	}
	if from == 0 {
		revisions := view.Revisions(objects)
		at := slices.IndexFunc(revisions, func(r view.Revision) bool { return r.Current })
		if at < 0 {
			return nil, nil, nil, errors.New("there is no current revision; set --from")
		}
		from = revisions[at].Number
	}
	if before, _, err = templateOf(objects, from); err != nil {
		return nil, nil, nil, err
	}
	if to != 0 {
		after, _, err = templateOf(objects, to)
	} else {
		after, err = json.Marshal(objects.ReplicaSet.Spec.ManifestWorkTemplate)
	}
	return objects.ReplicaSet, before, after, err
}

// compare prints the differences between two templates.
func (o *options) compare(before, after json.RawMessage) error {
	text, err := plainDiff(before, after)
	if err != nil || text == "" {
		return err
	}
	out := newPrinter(o.Out, screen{})
	out.text(text)
	return cmp.Or(out.err, error(&exitError{code: 1}))
}

// plainDiff returns the unified diff of two templates, with masked Secrets. It is empty if they do not differ. The objects of the newer
// template come first, in their order. The objects that only the older template has follow.
func plainDiff(before, after json.RawMessage) (string, error) {
	older, had, err := partsOf(before)
	if err != nil {
		return "", err
	}
	newer, has, err := partsOf(after)
	if err != nil {
		return "", err
	}
	removed := slices.DeleteFunc(older, func(id partID) bool {
		_, kept := has[id]
		return kept
	})
	var out strings.Builder
	for _, id := range slices.Concat(newer, removed) {
		was, is := mask.Pair(had[id], has[id])
		older, err := partText(was)
		if err != nil {
			return "", err
		}
		newer, err := partText(is)
		if err != nil {
			return "", err
		}
		title := plain.Line(id.title())
		_, hunks, _ := strings.Cut(string(diff.Diff("before: "+title, older, "after: "+title, newer)), "\n")
		out.WriteString(hunks)
	}
	return out.String(), nil
}

// partText returns a part as text; empty for a part that does not exist.
func partText(content map[string]any) ([]byte, error) {
	if content == nil {
		return nil, nil
	}
	text, err := yamlOf(content)
	return []byte(plain.Text(string(text))), err
}

// partID identifies an object as an agent does, without the API version. nth counts the objects with the same identity. Only templates that
// are older than the webhook's check have such objects.
type partID struct {
	group, kind, namespace, name string
	nth                          int
}

// remainder identifies the rest of a template, without its objects.
var remainder = partID{}

// partsOf returns the parts of a template: the rest of the template, and then its objects in their order.
func partsOf(template json.RawMessage) (ids []partID, parts map[partID]map[string]any, err error) {
	var content map[string]any
	if err := utiljson.Unmarshal(template, &content); err != nil { // Integers stay exact.
		return nil, nil, err
	}
	manifests, _, err := unstructured.NestedSlice(content, "workload", "manifests")
	if err != nil {
		return nil, nil, err
	}
	unstructured.RemoveNestedField(content, "workload", "manifests")
	ids, parts = []partID{remainder}, map[partID]map[string]any{remainder: content}
	seen := map[partID]int{}
	for _, manifest := range manifests {
		object, ok := manifest.(map[string]any)
		if !ok {
			return nil, nil, fmt.Errorf("a manifest is not an object: it is a %T", manifest)
		}
		u := unstructured.Unstructured{Object: object}
		id := partID{group: u.GroupVersionKind().Group, kind: u.GetKind(), namespace: u.GetNamespace(), name: u.GetName()}
		seen[id]++
		id.nth = seen[id]
		ids, parts[id] = append(ids, id), object
	}
	return ids, parts, nil
}

// title returns the title of a part.
func (id partID) title() string {
	if id == remainder {
		return "template"
	}
	kind := strings.TrimSuffix(id.kind+"."+id.group, ".")
	title := kind + " " + strings.TrimPrefix(id.namespace+"/"+id.name, "/")
	if id.nth > 1 {
		title += fmt.Sprintf(" (number %d)", id.nth)
	}
	return title
}
