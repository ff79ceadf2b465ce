package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/hostiletest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// strangers is an API server with one ManifestWorkReplicaSet, whose texts are untrusted.
type strangers struct {
	set       *workv1alpha1.ManifestWorkReplicaSet
	revisions *appsv1.ControllerRevisionList
	placement *clusterv1beta1.Placement
	decisions *clusterv1beta1.PlacementDecisionList
	works     *workv1.ManifestWorkList
}

func (s *strangers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Warning", `299 - "`+mime.BEncoding.Encode("utf-8", warning)+`"`)
	var answer any
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/manifestworkreplicasets"):
		answer = &workv1alpha1.ManifestWorkReplicaSetList{
			TypeMeta: metav1.TypeMeta{APIVersion: workv1alpha1.SchemeGroupVersion.String(), Kind: "ManifestWorkReplicaSetList"},
			Items:    []workv1alpha1.ManifestWorkReplicaSet{*s.set},
		}
	case strings.Contains(path, "/manifestworkreplicasets/"):
		answer = s.set
	case strings.HasSuffix(path, "/controllerrevisions"):
		answer = s.revisions
	case strings.Contains(path, "/placements/"):
		answer = s.placement
	case strings.HasSuffix(path, "/placementdecisions"):
		answer = s.decisions
	case strings.HasSuffix(path, "/manifestworks"):
		answer = s.works
	default:
		w.WriteHeader(http.StatusForbidden)
		answer = metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden,
			Code: http.StatusForbidden, Message: "no" + hostiletest.Text,
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// warning is a warning of a webhook. client-go drops warnings with control characters.
const warning = "surprise \u202e\u2066\u200b\ufeff\u2028\u2029\u00ad"

// newStrangers returns a rollout in which one cluster of two has failed. A function changes the texts of each object.
func newStrangers(t *testing.T, state workv1alpha1.State, fill func(object any)) *strangers {
	begin := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	set := &workv1alpha1.ManifestWorkReplicaSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: workv1alpha1.SchemeGroupVersion.String(), Kind: "ManifestWorkReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u1", Generation: 1, CreationTimestamp: begin},
	}
	s := &strangers{set: set}
	templateOf := func(value string) *workv1.ManifestWorkSpec {
		manifest, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web" + hostiletest.Text},
			"data": map[string]string{"x": value + hostiletest.Text},
		})
		require.NoError(t, err)
		return &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: manifest}}}}}
	}
	var hashes []string
	s.revisions = &appsv1.ControllerRevisionList{}
	for i, value := range []string{"one", "two"} {
		template := templateOf(value)
		hash := revision.ComputeHash(template, nil)
		stored, err := revision.New(set, template, hash, int64(i+1))
		require.NoError(t, err)
		hashes, s.revisions.Items = append(hashes, hash), append(s.revisions.Items, *stored)
		set.Spec.ManifestWorkTemplate = *template
	}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "p"}}
	set.Status.State, set.Status.CurrentRevision, set.Status.UpdateRevision = state, hashes[0], hashes[1]
	set.Status.Failures = []workv1alpha1.ClusterFailure{{Cluster: "c1", Placement: "p", Since: begin, Reason: "Degraded", Message: "crash loop"}}
	set.Status.Summary.Total = 2
	if state == workv1alpha1.StateAborted {
		set.Status.AbortedTime = &begin
	}
	set.Status.Conditions = []metav1.Condition{
		{Type: workv1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: "Stalled", Message: "it stalls", LastTransitionTime: begin},
	}
	s.placement = &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}}
	s.placement.Status.NumberOfSelectedClusters = 2
	decision := clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Name: "p-1", Namespace: "default", Labels: map[string]string{clusterv1beta1.PlacementLabel: "p", clusterv1beta1.DecisionGroupNameLabel: "canary"},
	}}
	s.works = &workv1.ManifestWorkList{TypeMeta: metav1.TypeMeta{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWorkList"}}
	for i, cluster := range []string{"c1", "c2"} {
		decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
		s.works.Items = append(s.works.Items, workv1.ManifestWork{
			ObjectMeta: metav1.ObjectMeta{
				Name: "web-u1", Namespace: cluster, Generation: 1, CreationTimestamp: begin,
				Labels: map[string]string{
					workv1alpha1.LabelReplicaSet: workv1alpha1.OwnerLabelValue("default", "web"), workv1alpha1.LabelControllerHash: hashes[1-i],
					workv1alpha1.LabelPlacement: "p",
				},
				Annotations: map[string]string{workv1alpha1.AnnotationAppliedAt: begin.Format(time.RFC3339Nano)},
			},
			Spec: *templateOf([]string{"two", "one"}[i]),
			Status: workv1.ManifestWorkStatus{Conditions: []metav1.Condition{
				{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: begin, Reason: "R", Message: "m"},
				{Type: workv1.WorkDegraded, Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: begin, Reason: "R", Message: "m"},
			}},
		})
	}
	s.decisions = &clusterv1beta1.PlacementDecisionList{Items: []clusterv1beta1.PlacementDecision{decision}}
	for _, object := range []any{set, s.placement, &s.decisions.Items[0], &s.revisions.Items[0], &s.revisions.Items[1], &s.works.Items[0], &s.works.Items[1]} {
		fill(object)
	}
	return s
}

// structural matches the texts that connect the objects. They are filled one by one; all other texts are filled at the same time.
var structural = regexp.MustCompile(`^TypeMeta|^ObjectMeta\.(UID|ResourceVersion|Finalizers|OwnerReferences)|^ObjectMeta\.Labels\[(\]|[^]]*(hash|replicaset))|^ObjectMeta\.Annotations\[(\]|[^]]*(appliedAt|applied-at))|` +
	`Revision$|Hash$|^Status\.State|Conditions\.(Type|Status)|^Spec\.ManifestWorkTemplate|Strategy|Deadline|MinSuccessTime|^Status\.Revisions\.Name`)

// look runs the commands that only read, and checks their output.
func look(t *testing.T, what string, s *strangers, commands ...[]string) {
	t.Helper()
	kubeconfig, _ := serve(t, s)
	for _, args := range commands {
		_, out, errs := mwrs(t, "", append(args, "--kubeconfig", kubeconfig)...)
		printed := out + "\n" + errs
		if args[0] == "report" {
			printed = strings.ReplaceAll(printed, "\n", " ") // A page has no lines.
		}
		hostiletest.Check(t, what+strings.Join(args, " "), printed)
	}
}

// TestStrangersTexts: no command prints an untrusted text of an object unchanged, or as a separate line.
func TestStrangersTexts(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "true")
	commands := [][]string{
		{"get", "web"}, {"clusters", "web"}, {"clusters", "web", "-o", "wide"}, {"clusters", "web", "-o", "name"}, {"why", "web", "c1"},
		{"why", "web", "c1" + hostiletest.Text}, {"history", "web"}, {"list"}, {"list", "-A"}, {"plan", "web"}, {"diff", "web"}, {"report", "web"},
		{"status", "web", "--timeout", "100ms"}, {"undo", "web"}, {"abort", "web"}, {"retry", "web", "c9"}, {"pause", "web"}, {"doctor"},
		{"diff", "web", "--from", "7"}, {"export", "web", "--to-revision", "9"},
	}
	s := newStrangers(t, workv1alpha1.StateStalled, func(object any) { hostiletest.Fill(object, structural) })
	kubeconfig, _ := serve(t, s)
	code, out, errs := mwrs(t, "", "get", "web", "--kubeconfig", kubeconfig)
	require.Zero(t, code, errs)
	for _, part := range []string{`crash loop'" ::error`, "c1'", `it stalls'" ::error`} {
		require.Contains(t, out, part, "the texts are on the screen")
	}
	require.Equal(t, 1, strings.Count(errs, "Warning: surprise "), errs)
	kubeconfig, _ = serve(t, newStrangers(t, workv1alpha1.StateStalled, func(any) {}))
	code, out, _ = mwrs(t, "", "diff", "web", "--from", "1", "--kubeconfig", kubeconfig)
	require.Equal(t, 1, code)
	require.Contains(t, out, `two`, "the difference is on the screen")
	for _, state := range []workv1alpha1.State{workv1alpha1.StateStalled, workv1alpha1.StateAborted, workv1alpha1.StateRollingOut} {
		look(t, string(state)+" ", newStrangers(t, state, func(object any) { hostiletest.Fill(object, structural) }), commands...)
		look(t, string(state)+" all ", newStrangers(t, state, func(object any) { hostiletest.Fill(object, regexp.MustCompile(`^TypeMeta`)) }), commands...)
	}
	seen := map[string]bool{}
	newStrangers(t, workv1alpha1.StateStalled, func(object any) {
		for _, path := range hostiletest.Paths(object) {
			if path = fmt.Sprintf("%T.", object) + path; structural.MatchString(strings.SplitN(path, ".", 3)[2]) && !seen[path] {
				seen[path] = true
			}
		}
	})
	for path := range seen {
		s := newStrangers(t, workv1alpha1.StateStalled, func(object any) {
			if rest, ours := strings.CutPrefix(path, fmt.Sprintf("%T.", object)); ours && !strings.HasPrefix(rest, "TypeMeta") {
				hostiletest.FillOne(object, rest)
			}
		})
		look(t, path+" ", s, []string{"get", "web"})
	}
}

// TestStrangersFiles: the same for commands that read a file with any name.
func TestStrangersFiles(t *testing.T) {
	s := newStrangers(t, workv1alpha1.StateStalled, func(object any) { hostiletest.Fill(object, structural) })
	kubeconfig, _ := serve(t, s)
	content, err := json.Marshal(s.set)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "::error::x ##[error]y\n::error::z")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Chdir(dir)
	for name, content := range map[string][]byte{"::error::a": content, "b\x1b[2J": []byte("{"), "##[error]c": []byte("kind: X\n")} {
		require.NoError(t, os.WriteFile(name, content, 0o600))
		for _, args := range [][]string{{"lint", "-f", name}, {"lint", "-f", filepath.Join(dir, name)}, {"plan", "-f", name}, {"simulate", "-f", name, "--budget", "1s"}} {
			_, out, errs := mwrs(t, "", append(args, "--kubeconfig", kubeconfig)...)
			require.NotEmpty(t, out+errs, args)
			hostiletest.Check(t, strings.Join(args, " "), out+errs)
			if args[0] == "lint" {
				require.NotContains(t, out+errs, "##[", "%q", args)
			}
		}
	}
}

// TestStrangersInLogs: the same for the loggers of libraries, which may log errors from the API server.
func TestStrangersInLogs(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "true")
	var out bytes.Buffer
	before := log.Writer()
	t.Cleanup(func() {
		log.SetOutput(before)
		klog.ClearLogger()
	})
	LogTo(&out)
	log.Print("standard " + strings.ReplaceAll(hostiletest.Text, "\n", " "))
	klog.Warning("warning " + hostiletest.Text)
	klog.ErrorS(errors.New(hostiletest.Text), "error "+hostiletest.Text, "key", hostiletest.Text)
	for _, word := range []string{"standard", "warning", "error"} {
		require.Contains(t, out.String(), word)
	}
	hostiletest.Check(t, "logs", out.String())
}
