package upgrade

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

func TestWithoutTheRight(t *testing.T) {
	for _, verb := range []string{"get", "create", "patch"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t, "a")
			if verb == "patch" {
				w.starts("v0.9.0")
			}
			w.refuse = func(write string) error {
				if strings.HasPrefix(write, verb+" configmaps") {
					return forbidden
				}
				return nil
			}
			w.starts("v1.0.0")
			said := w.events()
			require.Len(t, said, 1)
			require.Contains(t, said[0], "Warning SnapshotsUnavailable the hub cannot record its version")
			require.Contains(t, said[0], "apply this release's Role and binding (deploy/base)")
			w.state(metrics.UpgradeUnavailable)
		})
	}
}

func TestWithoutTheNamespace(t *testing.T) {
	w := newWorld(t, "a")
	w.refuse = func(write string) error {
		if write == "create configmaps" {
			return apierrors.NewNotFound(corev1.Resource("namespaces"), hubNamespace)
		}
		return nil
	}
	w.starts("v1.0.0")
	w.state(metrics.UpgradeUnavailable)
}

// If the API server rejects a write of the ConfigMap, for example because of a policy, the hub reports it, and rollouts do not wait.
func TestRejectedRecord(t *testing.T) {
	denied := apierrors.NewBadRequest(`admission webhook "labels.example.com" denied the request: no owner`)
	for _, verb := range []string{"create", "patch"} {
		for _, rejection := range []error{invalid, denied} {
			t.Run(verb+" "+string(apierrors.ReasonForError(rejection)), func(t *testing.T) {
				w := newWorld(t, "a")
				if verb == "patch" {
					w.starts("v0.9.0")
				}
				w.refuse = func(write string) error {
					if strings.HasPrefix(write, verb+" configmaps") {
						return rejection
					}
					return nil
				}
				w.starts("v1.0.0")
				said := w.events()
				require.Len(t, said, 1)
				require.Contains(t, said[0], "Warning SnapshotsUnavailable the hub cannot record its version")
				require.Contains(t, said[0], rejection.Error())
				w.state(metrics.UpgradeUnavailable)
			})
		}
	}
}

// A ConfigMap that a user creates or deletes in the meantime is read again.
func TestRecordThatChangesMeanwhile(t *testing.T) {
	for verb, answer := range map[string]error{
		"create": apierrors.NewAlreadyExists(resources, plan.ConfigMap), "patch": apierrors.NewNotFound(resources, plan.ConfigMap),
	} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t, "a")
			if verb == "patch" {
				w.starts("v0.9.0")
			}
			answered := false
			w.refuse = func(write string) error {
				if answered || !strings.HasPrefix(write, verb+" configmaps") {
					return nil
				}
				answered = true
				return answer
			}
			w.starts("v1.0.0")
			require.True(t, answered)
			require.Equal(t, "v1.0.0", w.recorded()["version"])
			w.state(metrics.UpgradeRecorded)
		})
	}
}
