package plugin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func newExport(o *options) *cobra.Command {
	number := int64(0)
	cmd := &cobra.Command{
		Use: "export NAME", GroupID: groupSee, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short: "Print the manifest without server fields, to commit to Git",
		Example: `  # Print the manifest
  kubectl mwrs export web

  # Print the manifest with the template of revision 6, to commit it
  kubectl mwrs export web --to-revision 6 > web.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.export(cmd.Context(), args[0], number) },
	}
	o.revisionFlag(cmd, &number, "to-revision", "Use the template of this revision instead of the one in the spec")
	return cmd
}

// serverMetadata lists the annotations that tools write and that do not belong in a manifest.
var serverMetadata = []string{"kubectl.kubernetes.io/last-applied-configuration"}

func (o *options) export(ctx context.Context, name string, number int64) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	objects, err := o.readSet(ctx, c, name, historyStep(c))
	if err != nil {
		return err
	}
	var template map[string]any // Read while the object is whole: its UID says which revisions are its own.
	if number != 0 {
		stored, err := templateOf(objects, number)
		if err != nil {
			return err
		}
		if err := utiljson.Unmarshal(stored, &template); err != nil { // Integers stay exact.
			return fmt.Errorf("revision %d: %w", number, err)
		}
	}
	set := objects.ReplicaSet
	annotations := set.Annotations
	for _, key := range serverMetadata {
		delete(annotations, key)
	}
	set.TypeMeta = metav1.TypeMeta{APIVersion: workv1alpha1.SchemeGroupVersion.String(), Kind: "ManifestWorkReplicaSet"}
	set.ObjectMeta = metav1.ObjectMeta{Name: set.Name, Namespace: set.Namespace, Labels: set.Labels, Annotations: annotations}
	set.Status = workv1alpha1.ManifestWorkReplicaSetStatus{}
	manifest, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	if err != nil {
		return err
	}
	delete(manifest, "status")
	if number != 0 {
		manifest["spec"].(map[string]any)["manifestWorkTemplate"] = template
	}
	return o.printYAML(manifest)
}
