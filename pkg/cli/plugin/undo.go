package plugin

import (
	"cmp"
	"encoding/json"
	"strings"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// printChange prints what an undo would change.
func (o *options) printChange(set, undone *workv1alpha1.ManifestWorkReplicaSet) error {
	before, err := specTemplate(set)
	if err != nil {
		return err
	}
	after, err := specTemplate(undone)
	if err != nil {
		return err
	}
	text, err := plainDiff(before, after)
	if err != nil {
		return err
	}
	out := newPrinter(o.Out, screen{})
	const cause = workv1alpha1.AnnotationChangeCause
	if was, is := set.Annotations[cause], undone.Annotations[cause]; was != is {
		out.printf("change cause: %s, now %s\n", orDash(is), orDash(was))
	}
	out.printf("changes to the template in the spec:\n")
	out.text(cmp.Or(text, "none\n"))
	return out.err
}

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// undoPatch returns the patch that restores a template and the change cause of its revision. It applies only to the version of the object
// that was read.
func undoPatch(set *workv1alpha1.ManifestWorkReplicaSet, template json.RawMessage, cause string) ([]operation, error) {
	patch := []operation{
		{Op: "test", Path: "/metadata/resourceVersion", Value: set.ResourceVersion},
		{Op: "replace", Path: "/spec/manifestWorkTemplate", Value: template},
	}
	const key, path = workv1alpha1.AnnotationChangeCause, "/metadata/annotations"
	switch {
	case set.Annotations[key] == cause:
	case cause == "":
		patch = append(patch, operation{Op: "remove", Path: path + "/" + escaped(key)})
	case set.Annotations == nil:
		patch = append(patch, operation{Op: "add", Path: path, Value: map[string]string{key: cause}})
	default:
		patch = append(patch, operation{Op: "add", Path: path + "/" + escaped(key), Value: cause})
	}
	applied, err := appliedOperation(set, template, cause)
	if applied != nil {
		patch = append(patch, *applied)
	}
	return patch, err
}

// escaped escapes a key for use in a JSON pointer.
func escaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
