package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/plugin/internal/mask"
	"github.com/open-cluster-management-io/work-rollback/pkg/view"
)

// externalDiff is the environment variable that names the diff program. kubectl diff uses the same variable.
const externalDiff = "KUBECTL_EXTERNAL_DIFF"

func newDiff(o *options) *cobra.Command {
	from, to := int64(0), int64(0)
	cmd := &cobra.Command{
		Use: "diff NAME", GroupID: groupSee, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short: "Compare the templates of two revisions, object by object",
		Long: "Compare the templates of two revisions, object by object. The values of Secrets are masked.\n" +
			"The exit code is 1 if they differ, and 2 for an error. Set " + externalDiff + " to use another program instead of `diff -u -N`.",
		Example: `  # Compare the current revision with the template in the spec
  kubectl mwrs diff web

  # Compare two revisions
  kubectl mwrs diff web --from 5 --to 6`,
		RunE: func(cmd *cobra.Command, args []string) error { return failed(o.diff(cmd.Context(), args[0], from, to)) },
	}
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

func (o *options) diff(ctx context.Context, name string, from, to int64) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	before, after, err := o.templates(ctx, c, name, from, to)
	if err != nil {
		return err
	}
	return o.compare(ctx, before, after)
}

// templates returns the templates of two revisions. Zero stands for the current revision, and for the template in the spec.
func (o *options) templates(ctx context.Context, c *clients, name string, from, to int64) (before, after json.RawMessage, err error) {
	objects, err := o.readSet(ctx, c, name, historyStep(c))
	if err != nil {
		return nil, nil, err
	}
	if from == 0 {
		at := slices.IndexFunc(view.Revisions(objects), func(r view.Revision) bool { return r.Current })
		if at < 0 {
			return nil, nil, errors.New("there is no current revision; set --from")
		}
		from = view.Revisions(objects)[at].Number
	}
	if before, err = templateOf(objects, from); err != nil {
		return nil, nil, err
	}
	if to != 0 {
		after, err = templateOf(objects, to)
	} else {
		after, err = json.Marshal(objects.ReplicaSet.Spec.ManifestWorkTemplate)
	}
	return before, after, err
}

// defaultDiff is the diff program and its arguments.
var defaultDiff = []string{"diff", "-u", "-N"}

// compare prints the differences between two templates. The user's environment names the program.
func (o *options) compare(ctx context.Context, before, after json.RawMessage) error {
	command := strings.Fields(os.Getenv(externalDiff))
	if len(command) == 0 {
		return o.compareWith(ctx, defaultDiff, before, after)
	}
	own := *o
	own.Out, own.ErrOut = plain.Raw(o.Out), plain.Raw(o.ErrOut) // The user's program may color its output. The files are filtered.
	return own.compareWith(ctx, command, before, after)
}

func (o *options) compareWith(ctx context.Context, command []string, before, after json.RawMessage) error {
	older, err := partsOf(before)
	if err != nil {
		return err
	}
	newer, err := partsOf(after)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kubectl-mwrs-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeParts(dir, older, newer); err != nil {
		return err
	}
	program := exec.CommandContext(ctx, command[0], append(slices.Clone(command[1:]), "before", "after")...)
	program.Dir, program.Stdout, program.Stderr = dir, o.Out, o.ErrOut
	err = program.Run()
	var exited *exec.ExitError
	if errors.As(err, &exited) && exited.ExitCode() == 1 {
		return &exitError{code: 1}
	}
	return err
}

// part is an object of a template, or the rest of the template.
type part struct {
	partID
	content map[string]any
}

// partID identifies an object as an agent does: the API version is no part of it. nth counts the objects of one identity, which only
// templates from before the webhook's check have.
type partID struct {
	group, kind, namespace, name string
	nth                          int
}

// remainder identifies what a template has beside its objects.
var remainder = partID{}

// partsOf returns the parts of a template in its order, the rest first.
func partsOf(template json.RawMessage) ([]part, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(template, &content); err != nil { // Integers stay exact.
		return nil, err
	}
	manifests, _, err := unstructured.NestedSlice(content, "workload", "manifests")
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "workload", "manifests")
	parts, seen := []part{{content: content}}, map[partID]int{}
	for _, manifest := range manifests {
		object, ok := manifest.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("a manifest is not an object: it is a %T", manifest)
		}
		u := unstructured.Unstructured{Object: object}
		id := partID{group: u.GroupVersionKind().Group, kind: u.GetKind(), namespace: u.GetNamespace(), name: u.GetName()}
		seen[id]++
		id.nth = seen[id]
		parts = append(parts, part{id, object})
	}
	return parts, nil
}

// title returns what a part is called.
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

// unsafeInFile matches the characters that a file name does not keep, and maxTitle is how many characters of a title it has.
var unsafeInFile = regexp.MustCompile(`[^A-Za-z0-9-]+`)

const maxTitle = 100

// file returns the name of the file of a part. The number makes it unique: names of objects can be too long for a file, have characters
// that no file may have, or differ only in these.
func (id partID) file(number int) string {
	title := unsafeInFile.ReplaceAllString(id.title(), ".")
	return fmt.Sprintf("%03d.%s.yaml", number, title[:min(len(title), maxTitle)])
}

// writeParts writes the parts of two templates into the directories before and after. A part has the same file name in both.
func writeParts(dir string, older, newer []part) error {
	sides := []struct {
		name  string
		parts map[partID]map[string]any
	}{{"before", map[partID]map[string]any{}}, {"after", map[partID]map[string]any{}}}
	var order []partID
	for side, parts := range [][]part{newer, older} {
		of := sides[1-side].parts
		for _, p := range parts {
			of[p.partID] = p.content
			if side == 0 || sides[1].parts[p.partID] == nil {
				order = append(order, p.partID)
			}
		}
	}
	for _, side := range sides {
		if err := os.Mkdir(filepath.Join(dir, side.name), 0o700); err != nil {
			return err
		}
	}
	for number, id := range order {
		before, after := mask.Pair(sides[0].parts[id], sides[1].parts[id])
		for i, content := range []map[string]any{before, after} {
			side := sides[i]
			if side.parts[id] == nil {
				continue
			}
			text, err := yamlOf(content)
			if err != nil {
				return err
			}
			titled := fmt.Sprintf("# %s\n%s", plain.Line(id.title()), plain.Text(string(text)))
			if err := os.WriteFile(filepath.Join(dir, side.name, id.file(number)), []byte(titled), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}
