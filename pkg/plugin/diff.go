package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	cmd.Flags().Int64Var(&from, "from", 0, "The older revision (default: the current revision)")
	cmd.Flags().Int64Var(&to, "to", 0, "The newer revision (default: the template in the spec)")
	return cmd
}

// failed returns an error with exit code 2, because 1 means that the templates differ. It returns an error with its own exit code
// unchanged.
func failed(err error) error {
	var coded *exitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return &exitError{code: 2, message: "error: " + err.Error()}
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
	older, err := filesOf(before)
	if err != nil {
		return err
	}
	newer, err := filesOf(after)
	if err != nil {
		return err
	}
	for name, object := range older {
		masked, other := mask.Pair(object, newer[name])
		if older[name] = masked; other != nil {
			newer[name] = other
		}
	}
	for name, object := range newer {
		if older[name] == nil {
			_, newer[name] = mask.Pair(nil, object)
		}
	}
	dir, err := os.MkdirTemp("", "kubectl-mwrs-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for side, files := range map[string]map[string]map[string]any{"before": older, "after": newer} {
		if err := write(filepath.Join(dir, side), files); err != nil {
			return err
		}
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

// filesOf returns the objects of a template by file name. The rest of the template is in template.yaml.
func filesOf(template json.RawMessage) (map[string]map[string]any, error) {
	var rest map[string]any
	if err := utiljson.Unmarshal(template, &rest); err != nil { // Integers stay exact.
		return nil, err
	}
	manifests, _, err := unstructured.NestedSlice(rest, "workload", "manifests")
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(rest, "workload", "manifests")
	files := map[string]map[string]any{"template.yaml": rest}
	for _, manifest := range manifests {
		object, ok := manifest.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("a manifest is not an object: it is a %T", manifest)
		}
		u := unstructured.Unstructured{Object: object}
		parts := []string{u.GroupVersionKind().Group, u.GetKind(), u.GetNamespace(), u.GetName()}
		name := strings.ReplaceAll(strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "."), "/", "_")
		files[name+".yaml"] = object
	}
	return files, nil
}

func write(dir string, files map[string]map[string]any) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range files {
		text, err := yamlOf(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(plain.Text(string(text))), 0o600); err != nil {
			return err
		}
	}
	return nil
}
