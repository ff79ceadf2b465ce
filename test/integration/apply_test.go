package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// After a forced undo of a template that kubectl applies, the next apply of a file removes all fields that the file does not have, and
// requires no additional flags.
func TestApplyAfterUndo(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"client": nil, "server": {"--server-side"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 1)
			f.place("p1", f.clusters)
			apply := func(version, cause string, change func(*workv1.ManifestWorkSpec)) {
				mwrs := &workv1alpha1.ManifestWorkReplicaSet{
					TypeMeta:   metav1.TypeMeta{APIVersion: workv1alpha1.SchemeGroupVersion.String(), Kind: "ManifestWorkReplicaSet"},
					ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace},
				}
				if cause != "" {
					mwrs.Annotations = map[string]string{workv1alpha1.AnnotationChangeCause: cause}
				}
				mwrs.Spec.ManifestWorkTemplate = template(version)
				change(&mwrs.Spec.ManifestWorkTemplate)
				mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("p1", all("1m", 0))}
				content, err := yaml.Marshal(mwrs)
				require.NoError(t, err)
				file := filepath.Join(t.TempDir(), "web.yaml")
				require.NoError(t, os.WriteFile(file, content, 0o600))
				f.kubectl(append([]string{"apply", "-f", file}, flags...)...)
			}
			apply("v1", "image 1", func(template *workv1.ManifestWorkSpec) {
				template.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
			})
			f.complete()
			apply("v2", "", func(*workv1.ManifestWorkSpec) {})
			f.complete()
			require.Nil(t, f.get().Spec.ManifestWorkTemplate.DeleteOption)
			f.ok("pause", f.name)
			f.ok("undo", f.name, "--yes", "--allow-managed")
			require.NotNil(t, f.get().Spec.ManifestWorkTemplate.DeleteOption)
			require.Equal(t, "image 1", f.get().Annotations[workv1alpha1.AnnotationChangeCause])
			apply("v3", "", func(*workv1.ManifestWorkSpec) {})
			mwrs := f.get()
			require.Nil(t, mwrs.Spec.ManifestWorkTemplate.DeleteOption, "no file has it any more")
			require.NotContains(t, mwrs.Annotations, workv1alpha1.AnnotationChangeCause, "no file has it any more")
			require.True(t, mwrs.Spec.Paused, "an apply takes over an undo, and not a pause")
			f.ok("resume", f.name)
			f.complete()
			f.everywhere("v3")
		})
	}
}
