package integration

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/crds"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plugin"
)

var updateScreens = flag.Bool("update", false, "write the golden screens of the plugin")

// TestScreens: the exact output of the commands that show a rollout, in each state. Read a changed file as an administrator would.
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
		"no-placements": func(t *testing.T) screens { return withoutRightScreens(t, "placements") },
		"no-decisions":  func(t *testing.T) screens { return withoutRightScreens(t, "placementdecisions") },
		"broker":        brokerScreens,
		"older-crd":     olderCRDScreens,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t)
			golden(t, name, s.play())
		})
	}
}

// golden compares screens with those of a file, or writes them into it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "screens", name+".txt")
	if *updateScreens {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(path) //nolint:gosec // A file of this test.
	require.NoError(t, err)
	require.Equal(t, unordered(string(want)), unordered(got), "go test ./test/integration -run %s -update rewrites the screens", t.Name())
}

// screens is a fleet in a state, and the cluster whose story is told. flags are those of each command.
type screens struct {
	*fleet
	about string
	flags []string
}

// play runs the commands and returns what a terminal would show. No command changes the state.
func (s screens) play() string {
	s.t.Helper()
	s.quiet()
	kubeconfig, about := s.rehearsal(), s.cluster(s.about)
	var shown strings.Builder
	show := func(command, out string, code int) {
		fmt.Fprintf(&shown, "$ kubectl mwrs %s\n%s", command, stable(out))
		if code != 0 {
			fmt.Fprintf(&shown, "(exit code %d)\n", code)
		}
		shown.WriteByte('\n')
	}
	exported := ""
	for _, command := range []string{
		"list", "get web", "clusters web -o wide", "why web " + about, "history web", "history web --revision 1", "status web --timeout 5s",
		"diff web", "plan web", "undo web --dry-run=client", "undo web", "abort web --reason tried", "abort web --reason tried --yes",
		"retry web", "retry web " + about, "pause web", "resume web", "export web",
	} {
		out, code := s.run(kubeconfig, "", append(strings.Fields(command), s.flags...))
		show(command, out, code)
		if command == "get web" {
			s.sampled(kubeconfig, out)
		}
		exported = out
	}
	out, code := s.run(kubeconfig, exported, append([]string{"lint", "-f", "-"}, s.flags...))
	show("export web | kubectl mwrs lint -f -", out, code)
	out, code = s.reportScreen(kubeconfig)
	show("report web -o web.html", out, code)
	return shown.String()
}

// run runs a command as a terminal shows it: with the errors in between. All ages are one minute.
func (s screens) run(kubeconfig, in string, args []string, changes ...plugin.Option) (string, int) {
	s.t.Helper()
	var out bytes.Buffer
	code := plugin.Run(s.t.Context(), append(args, "--kubeconfig", kubeconfig, "-n", s.namespace),
		genericiooptions.IOStreams{In: strings.NewReader(in), Out: &out, ErrOut: &out},
		append(changes, plugin.WithAges(func(time.Duration) string { return "1m" }))...)
	return out.String(), code
}

var timestamp = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// unstable are the parts of an output that differ from run to run: the times within the hub's messages, the times of the files that diff
// compares, and the version of the object that an undo is for.
var unstable = []struct {
	part   *regexp.Regexp
	stable string
}{
	{timestamp, "2026-01-01T00:00:00Z"},
	{regexp.MustCompile(`\t20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}`), ""},
	{regexp.MustCompile(`(path: /metadata/resourceVersion\n +value: )"\d+"`), `${1}"1"`},
}

// stable replaces what differs from run to run.
func stable(out string) string {
	for _, u := range unstable {
		out = u.part.ReplaceAllString(out, u.stable)
	}
	return out
}

// unordered sorts the events of the stories and the timelines: which of them came in the same second is a matter of chance.
func unordered(screen string) string {
	var lines, events []string
	story := false
	for line := range strings.Lines(screen) {
		if strings.HasPrefix(line, "$ ") {
			story = strings.HasPrefix(line, "$ kubectl mwrs why ") || strings.HasPrefix(line, "$ kubectl mwrs report ")
		}
		event, isEvent := strings.CutPrefix(line, "    ")
		if story && isEvent {
			events = append(events, strings.TrimPrefix(strings.TrimSpace(event), "1m ago  "))
			continue
		}
		slices.Sort(events)
		lines, events = append(append(lines, events...), line), nil
	}
	return strings.Join(append(lines, events...), "\n")
}

// nextSecond waits for the next second of the clock. Conditions have times of whole seconds: what a screen tells of a condition must not
// depend on whether an update came in the same second.
func nextSecond(t *testing.T) {
	t.Helper()
	begin := time.Now().Unix()
	eventually(t, "the next second", func() error {
		if time.Now().Unix() < begin+1 {
			return errors.New("it is the same second")
		}
		return nil
	})
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

// abortingScreens are those of an abort whose writes to c2 fail.
func abortingScreens(t *testing.T) screens {
	f := rolledOut(t, 4, progressive(1, "6s", 0, abortAll))
	nextSecond(t)
	f.agentsReport("c2", "v2", hangs)
	f.update("v2")
	f.has("c2", "v2")
	f.obstruct("c2")
	f.aborting()
	f.has("c1", "v1")
	eventually(t, "all clusters but c2 have confirmed", func() error {
		if text := message(f.get(), workv1alpha1.ConditionProgressing); !strings.Contains(text, "confirmed by 3 of 4 clusters") {
			return errors.New(text)
		}
		return nil
	})
	return screens{fleet: f, about: "c2"}
}

// offlineScreens are those of an abort that an agent has not confirmed.
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
	nextSecond(t)
	s.ok("undo", "web", "--wait")
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

// In v2, the Deployment has another name: the one of v1 stays until that of v2 is available.
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

// withoutRightScreens are those of a ServiceAccount that may read everything except a resource, of a stalled rollout.
func withoutRightScreens(t *testing.T, resource string) screens {
	s := stalledScreens(t)
	s.grantAllBut(resource)
	s.flags = []string{"--as", "system:serviceaccount:" + s.namespace + ":reader"}
	return s
}

// grantAllBut lets the ServiceAccount "reader" of the fleet's namespace read and watch what the plugin reads, except a resource.
func (f *fleet) grantAllBut(resource string) {
	f.t.Helper()
	f.grant(func(granted string) []string {
		if granted == resource {
			return nil
		}
		return []string{"get", "list", "watch"}
	})
}

// grant gives the ServiceAccount "reader" of the fleet's namespace rights on what the plugin reads.
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
}

func brokerScreens(t *testing.T) screens {
	f, _ := newMQTTFleet(t, "mqtt-screens")
	f.start(progressive(1, "3s", 0))
	nextSecond(t)
	f.roll("v2", false)
	f.stalled()
	return screens{fleet: f.fleet, about: "c1"}
}

// olderCRDScreens are those of a hub whose CRD lacks the newer fields of the status.
func olderCRDScreens(t *testing.T) screens {
	w := privateWorld(t, "screens-older")
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal(crds.ManifestWorkReplicaSet, crd))
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties
	for _, field := range []string{"state", "failures", "rejections", "revisions", "abortedBy", "abortReason"} {
		require.Contains(t, properties, field)
		delete(properties, field)
	}
	older, err := yaml.Marshal(crd)
	require.NoError(t, err)
	require.NoError(t, controlplane.InstallCRDs(t.Context(), w.config, older))
	w.agents = newAgents(w.works, w.history.works)
	go w.agents.poll(t.Context())
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
