package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// says waits until a condition has a reason and a message that holds all of these.
func (f *fleet) says(conditionType, reason string, words ...string) {
	f.t.Helper()
	eventually(f.t, conditionType+" says "+strings.Join(words, ", "), func() error {
		mwrs := f.get()
		condition := meta.FindStatusCondition(mwrs.Status.Conditions, conditionType)
		if condition == nil || condition.Reason != reason || condition.ObservedGeneration != mwrs.Generation {
			return fmt.Errorf("%s", describe(mwrs))
		}
		for _, word := range words {
			if !strings.Contains(condition.Message, word) {
				return fmt.Errorf("%q is missing in: %s", word, condition.Message)
			}
		}
		return nil
	})
}

// R9: a name that is too long for the owner label is refused, and can be deleted.
func TestOwnerLabelOver63Characters(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.name = strings.Repeat("n", 60)
	f.place("p1", []string{"c1"})
	f.create("v1", ref("p1", all("20s", 0)))
	f.says(workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonInvalidManifestWorkName, "63")
	f.quiet()
	list, err := f.w.works.WorkV1().ManifestWorks(f.cluster("c1")).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
	f.delete()
	eventually(t, "it is gone", func() error {
		list, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("it is there")
		}
		return err
	})
}
