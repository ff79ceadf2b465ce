package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// tellsOfTwoHubs waits until the condition Progressing of a complete rollout reports, or no longer reports, that two hubs are installed.
func (f *fleet) tellsOfTwoHubs(wanted bool) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("Progressing reports two hubs: %v", wanted), func() error {
		found := f.get()
		text := message(found, workv1alpha1.ConditionProgressing)
		if strings.Contains(text, "OCM's operator and deploy/chart both run a work hub in namespace "+sandbox.HubNamespace) != wanted {
			return fmt.Errorf("%s", describe(found))
		}
		return nil
	})
	f.complete()
}

// While the ServiceAccounts of OCM's hub and of the chart's hub both exist, the leading hub reports this if it has the permissions of
// deploy/. Without these permissions, it reports nothing and rolls out.
func TestTwoHubs(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "twohubs")
	require.NoError(t, w.fleet.Namespace(t.Context(), sandbox.HubNamespace))
	for _, name := range []string{"clusterrole.yaml", "clusterrolebinding.yaml"} {
		w.apply(t, ocmManifest(t, "cluster-manager/hub/work/"+name))
	}
	objects, err := deploy.Render()
	require.NoError(t, err)
	var role string
	for _, object := range objects {
		if kind := object.GetKind(); strings.HasPrefix(kind, "ClusterRole") || strings.HasPrefix(kind, "Role") {
			content, err := yaml.Marshal(object.Object)
			require.NoError(t, err)
			w.apply(t, string(content))
			if kind == "Role" {
				role = object.GetName()
			}
		}
	}
	accounts := w.kube.CoreV1().ServiceAccounts(sandbox.HubNamespace)
	for _, name := range []string{"work-controller-sa", "work-rollback"} {
		_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	user, err := w.plane.UserConfig("system:serviceaccount:"+sandbox.HubNamespace+":work-controller-sa", "system:serviceaccounts")
	require.NoError(t, err)
	theirs := *w
	theirs.config = unlimited(user)
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)

	stop := theirs.startVersion(t, "v9.0.0")
	f.create("v1", ref("p1", all("None", 0)))
	f.tellsOfTwoHubs(true)
	f.quiet()
	stop()

	require.NoError(t, w.kube.RbacV1().Roles(sandbox.HubNamespace).Delete(t.Context(), role, metav1.DeleteOptions{}))
	stop = theirs.startVersion(t, "v9.0.0")
	f.update("v2")
	f.everywhere("v2")
	f.tellsOfTwoHubs(false)
	stop()
}
