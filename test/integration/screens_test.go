package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/goldentest"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/agents"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// TestScreens compares the exact output of the commands that show a rollout, in each state. Read a changed file as an administrator would.
func TestScreens(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*testing.T) screens{
		"first-rollout": firstRolloutScreens,
		"rolling-out":   rollingOutScreens,
		"groups":        groupScreens,
		"soaking":       soakingScreens,
		"stalled":       stalledScreens,
		"aborting":      abortingScreens,
		"aborted":       abortedScreens,
		"offline":       offlineScreens,
		"restored":      restoredScreens,
		"paused":        pausedScreens,
		"handing-over":  handoverScreens,
		"deleting":      deletingScreens,
		"complete":      completeScreens,
		"tolerated":     toleratedScreens,
		"invalid":       invalidScreens,
		"no-works":      func(t *testing.T) screens { return withoutRightScreens(t, "manifestworks") },
		"no-revisions":  func(t *testing.T) screens { return withoutRightScreens(t, "controllerrevisions") },
		"broker":        brokerScreens,
		"older-crd":     olderCRDScreens,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t)
			goldentest.Equal(t, "screens/"+name+".txt", s.play(), unordered)
		})
	}
}

func firstRolloutScreens(t *testing.T) screens {
	f := newFleet(t, 8)
	f.place("p1", f.clusters)
	for _, cluster := range []string{"c2", "c3", "c4", "c5", "c6"} {
		f.agentsReport(cluster, "v1", hangs)
	}
	f.create("v1", ref("p1", progressive(5, "10m", 0, abortAll)))
	f.has("c6", "v1")
	return screens{fleet: f, about: "c2"}
}

func rollingOutScreens(t *testing.T) screens {
	f := rolledOut(t, 6, progressive(2, "10m", 1, abortAll))
	nextSecond(t)
	f.agentsReport("c2", "v2", hangs)
	f.agentsReport("c3", "v2", degrades)
	f.because("image 2")
	f.update("v2")
	f.has("c3", "v2")
	return screens{fleet: f, about: "c3"}
}

func groupScreens(t *testing.T) screens {
	f := newFleet(t, 6)
	f.place("canary", []string{"c1"})
	f.place("production", []string{"c2", "c3"}, []string{"c4", "c5", "c6"})
	f.create("v1", ref("canary", all("10m", 0, abortAll)), ref("production", perGroup("10m", 0)))
	f.complete()
	nextSecond(t)
	f.agentsReport("c3", "v2", hangs)
	f.update("v2")
	f.has("c3", "v2")
	return screens{fleet: f, about: "c5"}
}

func soakingScreens(t *testing.T) screens {
	f := rolledOut(t, 3, progressive(2, "10m", 0))
	nextSecond(t)
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs[0].RolloutStrategy.Progressive.MinSuccessTime = metav1.Duration{Duration: time.Hour}
		mwrs.Spec.ManifestWorkTemplate = template("v2")
	})
	f.has("c2", "v2")
	return screens{fleet: f, about: "c2"}
}

func stalledScreens(t *testing.T) screens {
	f := rolledOut(t, 4, progressive(1, "10s", 0))
	nextSecond(t)
	f.agentsReport("c2", "v2", degrades)
	f.because("image 2")
	f.update("v2")
	f.stalled()
	return screens{fleet: f, about: "c2"}
}

// abortingScreens returns the screens of an abort whose writes to c2 fail.
func abortingScreens(t *testing.T) screens {
	f := rolledOut(t, 4, progressive(1, "6s", 0, abortAll))
	nextSecond(t)
	f.agentsReport("c2", "v2", hangs)
	f.update("v2")
	f.has("c2", "v2")
	f.obstruct("c2")
	f.aborting()
	f.has("c1", "v1")
	eventually(t, "all clusters but c2 have confirmed, and its cause is known", func() error {
		if text := message(f.get(), workv1alpha1.ConditionProgressing); !strings.Contains(text, "confirmed by 3 of 4 clusters; writes of 1 ManifestWork keep failing") {
			return errors.New(text)
		}
		return nil
	})
	return screens{fleet: f, about: "c2"}
}

// offlineScreens returns the screens of an abort that an agent has not confirmed.
func offlineScreens(t *testing.T) screens {
	f := rolledOut(t, 4, progressive(1, "3s", 0, abortAll))
	nextSecond(t)
	f.agentsReport("c1", "v2", hangs)
	f.agentsReport("c1", "v1", silent)
	f.update("v2")
	f.aborted()
	f.has("c1", "v1")
	return screens{fleet: f, about: "c1"}
}

func abortedScreens(t *testing.T) screens {
	f := rolledOut(t, 4, progressive(1, "3s", 0, abortAll))
	nextSecond(t)
	f.agentsReport("c2", "v2", hangs)
	f.because("image 2")
	f.update("v2")
	f.aborted()
	return screens{fleet: f, about: "c2"}
}

func restoredScreens(t *testing.T) screens {
	s := abortedScreens(t)
	s.ok("status", "web", "--wait-restored")
	nextSecond(t)
	s.ok("undo", "web", "--yes", "--wait")
	s.complete()
	return s
}

func pausedScreens(t *testing.T) screens {
	f := rolledOut(t, 4, progressive(1, "10m", 0))
	nextSecond(t)
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	f.ok("pause", "web")
	eventually(t, "the pause is observed", func() error {
		if set := f.get(); set.Status.State != workv1alpha1.StatePaused {
			return errors.New(describe(set))
		}
		return nil
	})
	return screens{fleet: f, about: "c3"}
}

// In v2, the Deployment has another name: v1's Deployment stays until v2's Deployment is available.
func handoverScreens(t *testing.T) screens {
	f := newHanding(t)
	f.begins(f.version("v1", deployment("v1")), deployment("v1"))
	nextSecond(t)
	f.roll(f.version("v2", deployment("v2")))
	f.runs("Deployment v1", "Deployment v2")
	for _, short := range f.clusters {
		f.reported(short, "the new Deployment is not ready", func(status *workv1.ManifestWorkStatus) bool {
			return meta.IsStatusConditionTrue(status.Conditions, workv1.WorkProgressing)
		})
	}
	return screens{fleet: f.fleet, about: "c1"}
}

func deletingScreens(t *testing.T) screens {
	f := rolledOut(t, 3, all("10m", 0))
	nextSecond(t)
	preserve := true
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.PreserveResourcesOnDeletion = &preserve })
	f.complete()
	f.agentsReport("c2", "v1", silent)
	f.delete()
	eventually(t, "the deletion waits for c2", func() error {
		if set := f.get(); meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.ConditionDeleting) == nil {
			return errors.New(describe(set))
		}
		return nil
	})
	return screens{fleet: f, about: "c2"}
}

func completeScreens(t *testing.T) screens {
	f := rolledOut(t, 3, progressive(2, "10m", 0, abortAll))
	nextSecond(t)
	f.because("image 2")
	f.update("v2")
	f.complete()
	return screens{fleet: f, about: "c2"}
}

func toleratedScreens(t *testing.T) screens {
	f := rolledOut(t, 3, all("3s", 1))
	nextSecond(t)
	f.agentsReport("c2", "v2", hangs)
	f.update("v2")
	f.failing(1)
	f.state("", "", "NewManifestWorkAvailable=False", "")
	return screens{fleet: f, about: "c2"}
}

func invalidScreens(t *testing.T) screens {
	f := rolledOut(t, 2, all("10m", 0))
	nextSecond(t)
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate = template("v2")
		mwrs.Spec.PlacementRefs[0].RolloutStrategy.All.ProgressDeadline = "5s5"
	})
	eventually(t, "the spec is invalid", func() error {
		if set := f.get(); set.Status.State != workv1alpha1.StateInvalid {
			return errors.New(describe(set))
		}
		return nil
	})
	return screens{fleet: f, about: "c1"}
}

// withoutRightScreens returns the screens of a stalled rollout for a ServiceAccount that may read everything except a resource.
func withoutRightScreens(t *testing.T, resource string) screens {
	s := stalledScreens(t)
	s.grantAllBut(resource)
	s.flags = []string{"--as", "system:serviceaccount:" + s.namespace + ":reader"}
	return s
}

// grantAllBut lets the ServiceAccount "reader" in the fleet's namespace read and watch all resources that the plugin reads, except one.
func (f *fleet) grantAllBut(resource string) {
	f.t.Helper()
	f.grant(func(granted string) []string {
		if granted == resource {
			return nil
		}
		return []string{"get", "list", "watch"}
	})
}

// grant gives the ServiceAccount "reader" in the fleet's namespace permissions on the resources that the plugin reads.
func (f *fleet) grant(verbs func(resource string) []string) {
	f.t.Helper()
	rbac, name := f.w.kube.RbacV1(), f.namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for group, resources := range map[string][]string{
		workv1alpha1.GroupName: {"manifestworkreplicasets", "manifestworks"}, "apps": {"controllerrevisions"},
		"cluster.open-cluster-management.io": {"placements", "placementdecisions"},
	} {
		for _, granted := range resources {
			if allowed := verbs(granted); allowed != nil {
				role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{granted}, Verbs: allowed})
			}
		}
	}
	_, err := rbac.ClusterRoles().Create(f.t.Context(), role, metav1.CreateOptions{})
	require.NoError(f.t, err)
	_, err = rbac.ClusterRoleBindings().Create(f.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: f.namespace, Name: "reader"}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			await.Allowed(f.t, f.w.kube, "system:serviceaccount:"+f.namespace+":reader", authorizationv1.ResourceAttributes{
				Verb: verb, Group: rule.APIGroups[0], Resource: rule.Resources[0],
			})
		}
	}
}

func brokerScreens(t *testing.T) screens {
	f, _ := newMQTTFleet(t, "mqtt-screens")
	f.start(progressive(1, "3s", 0))
	nextSecond(t)
	f.roll("v2", false)
	f.stalled()
	return screens{fleet: f.fleet, about: "c1"}
}

// olderCRDScreens returns the screens of a hub whose CRD lacks the status fields that OCM's CRD lacks.
func olderCRDScreens(t *testing.T) screens {
	w := privateWorld(t, "screens-older")
	require.NoError(t, controlplane.InstallCRDs(t.Context(), w.config, olderCRD(t, ownFields...)))
	w.agents = agents.New(w.works)
	go w.agents.Poll(t.Context(), pollInterval)
	stop := w.startManager(context.WithoutCancel(t.Context()), settle)
	t.Cleanup(func() { stop() })
	f := newFleetIn(w, t, 3)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", progressive(1, "3s", 0)))
	f.complete()
	eventually(t, "the older CRD is served", func() error {
		if state := f.get().Status.State; state != "" {
			return fmt.Errorf("state %s", state)
		}
		return nil
	})
	nextSecond(t)
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.stalled()
	require.NotNil(t, meta.FindStatusCondition(f.get().Status.Conditions, workv1alpha1.ConditionProgressing))
	return screens{fleet: f, about: "c1"}
}
