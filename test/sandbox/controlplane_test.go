package sandbox

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
)

var replicaSets = schema.GroupVersionResource{
	Group: "work.open-cluster-management.io", Version: "v1alpha1", Resource: "manifestworkreplicasets",
}

// startHub starts a hub for one test.
func startHub(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	ctx := t.Context()
	env, err := controlplane.NewEnv(ctx, os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, env.Stop(context.Background()))
		require.NoDirExists(t, env.Group.Dir)
	})
	hub, err := env.StartHub(ctx, controlplane.HubOptions{})
	require.NoError(t, err)
	return hub
}

func TestHub(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	ctx := t.Context()

	t.Run("serves ManifestWorkReplicaSets", func(t *testing.T) {
		client, err := dynamic.NewForConfig(hub.RESTConfig())
		require.NoError(t, err)
		list, err := client.Resource(replicaSets).List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, list.Items)
	})

	t.Run("enforces RBAC for other users", func(t *testing.T) {
		config, err := hub.UserConfig("somebody", "some-group")
		require.NoError(t, err)
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		_, err = client.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err), "got %v", err)
	})

	t.Run("keeps its objects after a crash", func(t *testing.T) {
		client, err := kubernetes.NewForConfig(hub.RESTConfig())
		require.NoError(t, err)
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
		_, err = client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		require.NoError(t, err)

		require.NoError(t, hub.Stop())
		require.NoError(t, hub.Start(ctx))

		_, err = client.RbacV1().ClusterRoles().Get(ctx, "kept", metav1.GetOptions{})
		require.NoError(t, err)
	})
}
