package plugin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

func newExport(o *options) *cobra.Command {
	number := int64(0)
	cmd := o.named(&cobra.Command{
		Use: "export NAME", GroupID: groupSee,
		Short: "Print the manifest without server fields, to commit to Git",
		Long: "Print the manifest without server fields, to commit to Git.\n" +
			"Labels and annotations by which Argo CD, Flux, Helm or kubectl claim the object are left out.",
		Example: `  # Print the manifest
  kubectl mwrs export web

  # Print the manifest with the template of revision 6, to commit it
  kubectl mwrs export web --to-revision 6 > web.yaml`,
	}, func(ctx context.Context, c *clients, name string) error { return o.export(ctx, c, name, number) })
	o.revisionFlag(cmd, &number, "to-revision", "Use the template and the change cause of this revision instead of those in the object")
	return cmd
}

func (o *options) export(ctx context.Context, c *clients, name string, number int64) error {
	objects, err := o.readSet(ctx, c, name, historyStep(c))
	if err != nil {
		return err
	}
	template, cause, err := exported(objects, number) // The metadata is still complete: the UID identifies the object's own revisions.
	if err != nil {
		return err
	}
	set := objects.ReplicaSet
	labels, annotations := view.Unmarked(set)
	delete(annotations, workv1alpha1.AnnotationChangeCause)
	set.TypeMeta = metav1.TypeMeta{APIVersion: workv1alpha1.SchemeGroupVersion.String(), Kind: "ManifestWorkReplicaSet"}
	set.ObjectMeta = metav1.ObjectMeta{Name: set.Name, Namespace: set.Namespace, Labels: labels, Annotations: annotations}
	if cause != "" {
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, workv1alpha1.AnnotationChangeCause, cause)
	}
	set.Status = workv1alpha1.ManifestWorkReplicaSetStatus{}
	manifest, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	if err != nil {
		return err
	}
	delete(manifest, "status")
	if template != nil {
		manifest["spec"].(map[string]any)["manifestWorkTemplate"] = template
	}
	return o.printYAML(manifest)
}

// exported returns the template of a revision and its change cause. For zero, which stands for the spec, the template is nil.
func exported(objects *view.Objects, number int64) (template map[string]any, cause string, err error) {
	if number == 0 {
		return nil, objects.ReplicaSet.Annotations[workv1alpha1.AnnotationChangeCause], nil
	}
	stored, r, err := templateOf(objects, number)
	if err != nil {
		return nil, "", err
	}
	if err := utiljson.Unmarshal(stored, &template); err != nil { // Integers stay exact.
		return nil, "", fmt.Errorf("revision %d: %w", number, err)
	}
	return template, r.ChangeCause, nil
}
