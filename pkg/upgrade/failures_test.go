package upgrade

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

func TestEveryWriteMayFail(t *testing.T) {
	for name, failure := range map[string]error{"internal": internal, "conflict": conflict, "lost": errors.New("connection reset")} {
		for n := range 9 {
			t.Run(fmt.Sprintf("%s %d", name, n), func(t *testing.T) {
				w := newWorld(t, "a", "b")
				w.starts("v1.0.0")
				requests, failed := 0, false
				w.refuse = func(string) error {
					if requests++; requests == n+1 {
						failed = true
						return failure
					}
					return nil
				}
				w.starts("v1.1.0")
				require.Equal(t, "v1.1.0", w.recorded()["version"])
				w.lose("a")
				w.starts("v1.0.0")
				require.Equal(t, "v1.0.0", w.recorded()["version"])
				require.Equal(t, w.get("a").Status.UpdateRevision, w.get("a").Status.CurrentRevision)
				require.EqualValues(t, 5, w.ledger("a").Seq)
				require.Empty(t, w.get("a").Annotations)
				require.True(t, failed)
				for _, event := range w.events() {
					require.NotContains(t, event, "SnapshotRejected")
				}
			})
		}
	}
}

func TestRejectedSnapshot(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.starts("v1.0.0")
	w.refuse = func(write string) error {
		if write == "patch manifestworkreplicasets a" {
			return invalid
		}
		return nil
	}
	w.starts("v1.1.0")
	require.NotContains(t, w.get("a").Annotations, workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0")
	require.Contains(t, w.get("b").Annotations, workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0")
	require.Equal(t, "v1.1.0", w.recorded()["version"])
	said := strings.Join(w.events(), "\n")
	require.Contains(t, said, "Warning SnapshotRejected the upgrade continues without a snapshot of this object: patching ManifestWorkReplicaSet default/a: ")
	require.Contains(t, said, "1 snapshots of ManifestWorkReplicaSets were taken, 1 were rejected")
}

// A write that keeps failing delays the other objects for at most 2 minutes, even if a tenant changes its object so often that each write
// by the hub conflicts.
func TestSnapshotThatFailsForLong(t *testing.T) {
	for name, failure := range map[string]error{"internal": internal, "conflict": conflict} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b")
			w.starts("v1.0.0")
			tries := 0
			w.refuse = func(write string) error {
				if write == "patch manifestworkreplicasets a" {
					tries++
					w.clock.Step(50 * time.Second)
					return failure
				}
				return nil
			}
			w.starts("v1.1.0")
			require.Equal(t, 4, tries, "at 50, 100, 150 and 200 seconds: two minutes after the first failure")
			require.Equal(t, "v1.1.0", w.recorded()["version"])
			require.Contains(t, w.get("b").Annotations, workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0")
			require.Contains(t, strings.Join(w.events(), "\n"), "SnapshotRejected")
		})
	}
}

// A failure that has passed is forgotten: if another failure follows minutes later, no object is skipped.
func TestFailureThatPassed(t *testing.T) {
	w := newWorld(t, "a")
	r, a := w.runner("v1.1.0"), &plan.Object{ManifestWorkReplicaSet: w.get("a")}
	require.Error(t, r.settle(t.Context(), a, conflict))
	require.NoError(t, r.settle(t.Context(), a, nil))
	w.clock.Step(3 * time.Minute)
	require.Error(t, r.settle(t.Context(), a, conflict), "the write is tried again")
	w.clock.Step(3 * time.Minute)
	require.NoError(t, r.settle(t.Context(), a, conflict))
}
