package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// kindOfSets is the kind of a ManifestWorkReplicaSet, which an API server always sends.
var kindOfSets = metav1.TypeMeta{APIVersion: workv1alpha1.SchemeGroupVersion.String(), Kind: "ManifestWorkReplicaSet"}

// oneHub is an API server with one object and its revisions.
type oneHub struct {
	set       *workv1alpha1.ManifestWorkReplicaSet
	revisions []appsv1.ControllerRevision
	patches   []string
	lease     *coordinationv1.Lease
	// list replaces the list of objects, and items the objects of the list.
	list  string
	items []workv1alpha1.ManifestWorkReplicaSet
	// metadata has the items of lists of metadata, by the ends of their paths.
	metadata map[string]string
	// reads are the reads of whole objects, and dryRuns are the values of dryRun in the patches.
	reads, dryRuns []string
	noting         sync.Mutex
	// refuses returns the status code with which the hub rejects the next read of the object; zero if it does not.
	refuses func() int
}

// note records requests from the hub. It locks, because a client that watches sends several requests at the same time.
func (h *oneHub) note(seen *[]string, what ...string) {
	h.noting.Lock()
	defer h.noting.Unlock()
	*seen = append(*seen, what...)
}

func (h *oneHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	reply := func(value any) { _ = json.NewEncoder(w).Encode(value) }
	status := func(code int, reason string) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`, reason, code, reason)
	}
	query := r.URL.Query()
	metadata := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
	if !metadata && r.Method == http.MethodGet {
		h.note(&h.reads, r.URL.String())
	}
	switch {
	case metadata:
		_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[%s]}`,
			h.metadata[r.URL.Path[strings.LastIndex(r.URL.Path, "/"):]])
	case r.Method == http.MethodPatch:
		h.note(&h.dryRuns, query["dryRun"]...)
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		h.note(&h.patches, body.String())
		if query.Get("dryRun") == "" {
			reply(h.set)
			return
		}
		after, err := h.patched(r.Header.Get("Content-Type"), body.Bytes())
		if err != nil {
			status(http.StatusUnprocessableEntity, "Invalid")
			return
		}
		_, _ = w.Write(after)
	case query.Get("sendInitialEvents") != "":
		status(http.StatusUnprocessableEntity, "Invalid")
	case query.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/manifestworkreplicasets") && h.list != "":
		_, _ = fmt.Fprint(w, h.list)
	case strings.HasSuffix(r.URL.Path, "/manifestworkreplicasets"):
		list := &workv1alpha1.ManifestWorkReplicaSetList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: h.items}
		if h.items == nil {
			list.Items = []workv1alpha1.ManifestWorkReplicaSet{*h.set}
		}
		list.APIVersion, list.Kind = workv1alpha1.SchemeGroupVersion.String(), "ManifestWorkReplicaSetList"
		reply(list)
	case strings.HasSuffix(r.URL.Path, "/manifestworkreplicasets/web"):
		if h.refuses != nil {
			if code := h.refuses(); code != 0 {
				status(code, strings.ReplaceAll(http.StatusText(code), " ", ""))
				return
			}
		}
		reply(h.set)
	case strings.HasSuffix(r.URL.Path, "/controllerrevisions"):
		reply(&appsv1.ControllerRevisionList{Items: h.revisions})
	case strings.HasSuffix(r.URL.Path, "/leases/work-manager-lock") && h.lease != nil:
		reply(h.lease)
	default:
		status(http.StatusForbidden, "Forbidden")
	}
}

// patched returns the object as a patch would leave it.
func (h *oneHub) patched(contentType string, patch []byte) ([]byte, error) {
	before, err := json.Marshal(h.set)
	if err != nil {
		return nil, err
	}
	if contentType == string(types.MergePatchType) {
		return jsonpatch.MergePatch(before, patch)
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	return decoded.Apply(before)
}

// run runs the plugin against the hub. When it returns, the hub no longer serves requests, so the test may change the
// objects.
func (h *oneHub) run(t *testing.T, args ...string) (code int, out, failed string) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	return mwrs(t, "", append(args, "--kubeconfig", kubeconfigFor(t, server.URL))...)
}

// mwrs runs the plugin with a text as standard input.
func mwrs(t *testing.T, in string, args ...string) (code int, out, failed string) {
	t.Helper()
	var o, e bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code = Run(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(in), Out: &o, ErrOut: &e})
	return code, o.String(), e.String()
}

func templateWith(version string) *workv1.ManifestWorkSpec {
	return templateOfObject(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"x"},"data":{"version":%q}}`, version))
}

func (h *oneHub) dashboard(t *testing.T) *dashboardHub {
	t.Helper()
	_, host := serve(t, h)
	c, err := newClients(&rest.Config{Host: host}, "default")
	require.NoError(t, err)
	return &dashboardHub{o: &options{now: time.Now}, clients: c, all: true}
}

// templateOfObject returns a template with one object.
func templateOfObject(raw string) *workv1.ManifestWorkSpec {
	return &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{
		Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}},
	}}
}

// newOneHub returns a hub on which v1 was rolled out, and then v2. Both are complete.
func newOneHub(t *testing.T) *oneHub {
	t.Helper()
	begin := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	set := &workv1alpha1.ManifestWorkReplicaSet{
		TypeMeta:   kindOfSets,
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "new", ResourceVersion: "5", Generation: 2, CreationTimestamp: begin},
		Spec:       workv1alpha1.ManifestWorkReplicaSetSpec{ManifestWorkTemplate: *templateWith("v2")},
	}
	h := &oneHub{set: set}
	for i, version := range []string{"v1", "v2"} {
		hash := revision.ComputeHash(templateWith(version), nil)
		made, err := revision.New(set, templateWith(version), hash, int64(i+1))
		require.NoError(t, err)
		revisiontest.Amend(made, func(r *revision.Record) { r.Ended = begin.Add(time.Duration(i) * time.Minute) })
		made.CreationTimestamp = begin
		h.revisions = append(h.revisions, *made)
		set.Status.CurrentRevision, set.Status.UpdateRevision = hash, hash
	}
	set.Status.State, set.Status.ObservedGeneration = workv1alpha1.StateComplete, 2
	return h
}

// TestUndoWithARevisionOfAnEarlierObject: an earlier object with this name left a revision 1. The history ignores it (revision.NewHistory).
func TestUndoWithARevisionOfAnEarlierObject(t *testing.T) {
	h := newOneHub(t)
	earlier := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "earlier"}}
	left, err := revision.New(earlier, templateWith("of the earlier object"), revision.ComputeHash(templateWith("of the earlier object"), nil), 1)
	require.NoError(t, err)
	left.OwnerReferences = nil // It was deleted with --cascade=orphan.
	h.revisions = append([]appsv1.ControllerRevision{*left}, h.revisions...)
	code, out, failed := h.run(t, "undo", "web", "--yes")
	require.Zero(t, code, failed)
	require.Contains(t, out, "undo requested")
	require.Contains(t, out, "The spec has the template of revision 1 again.")
	require.Len(t, h.patches, 1)
	require.Contains(t, h.patches[0], `"version":"v1"`)
}

// TestStatusWhileTheServerFails: an outage after the first read does not end the wait. Any other error does.
func TestStatusWhileTheServerFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// codes are the status codes of the reads. The last code applies to all further reads.
		codes       []int
		code, reads int
		failed      string
	}{
		"forbidden":                   {[]int{http.StatusForbidden}, 1, 1, "Error from server (Forbidden): Forbidden\n"},
		"an outage at first":          {[]int{http.StatusServiceUnavailable}, 1, 1, "Error from server (ServiceUnavailable): ServiceUnavailable\n"},
		"an outage later":             {[]int{0, http.StatusServiceUnavailable, http.StatusServiceUnavailable, 0}, 0, 4, "note: ServiceUnavailable\n"},
		"forbidden later":             {[]int{0, http.StatusForbidden}, 1, 3, "Error from server (Forbidden): Forbidden\n"},
		"deleted while status waited": {[]int{0, http.StatusNotFound}, 1, 3, "error: manifestworkreplicasets \"web\" was deleted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, reads := newOneHub(t), 0
			h.refuses = func() int {
				reads++
				h.set.Status.State = workv1alpha1.StateComplete
				if reads == 1 {
					h.set.Status.State = workv1alpha1.StateRollingOut
				}
				return c.codes[min(reads, len(c.codes))-1]
			}
			code, out, failed := h.run(t, "status", "web", "--timeout", "1m")
			require.Equal(t, c.code, code, out+failed)
			require.Equal(t, c.failed, failed)
			require.Equal(t, c.reads, reads)
		})
	}
}

// TestStatusBeforeTheHub: the status is older than a change that the hub has not seen.
func TestStatusBeforeTheHub(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *oneHub)
		code   int
	}{
		"paused, with a new template": {func(h *oneHub) { h.set.Spec.Paused, h.set.Spec.ManifestWorkTemplate = true, *templateWith("v3") }, exitPaused},
		"deleted":                     {func(h *oneHub) { h.set.DeletionTimestamp = ptr.To(metav1.Now()) }, 1},
		"retried": {func(h *oneHub) { // A retry does not change the generation.
			h.set.Generation, h.set.Status.State = 2, workv1alpha1.StateAborted
			h.set.Status.CurrentRevision = h.revisions[0].Labels[workv1alpha1.LabelControllerHash]
		}, exitTimeout},
	} {
		h := newOneHub(t)
		h.set.Generation = 3
		c.change(h)
		code, out, _ := h.run(t, "status", "web", "--timeout", "2s")
		require.Equal(t, c.code, code, "%s: %s", name, out)
	}
}

// TestExportOfARevision: export finds the template and the change cause of a revision of the object, and omits the fields that tools and
// the hub set.
func TestExportOfARevision(t *testing.T) {
	h := newOneHub(t)
	h.revisions[0].Annotations[workv1alpha1.AnnotationChangeCause] = "image 1"
	h.set.Labels = map[string]string{
		"team": "shop", "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
		"argocd.argoproj.io/instance": "web", "app.kubernetes.io/managed-by": "Helm",
	}
	h.set.Annotations = map[string]string{
		workv1alpha1.AnnotationChangeCause: "image 2", "argocd.argoproj.io/tracking-id": "web:x", "meta.helm.sh/release-name": "web",
		"meta.helm.sh/release-namespace": "default", "argocd.argoproj.io/sync-wave": "5", "kubectl.kubernetes.io/last-applied-configuration": "{}",
		workv1alpha1.AnnotationSnapshotPrefix + "v1": "{}",
	}
	code, out, failed := h.run(t, "export", "web", "--to-revision", "1")
	require.Zero(t, code, failed)
	require.Contains(t, out, "version: v1")
	require.NotContains(t, out, "uid")
	require.Contains(t, out, "  annotations:\n    argocd.argoproj.io/sync-wave: \"5\"\n    kubernetes.io/change-cause: image 1\n  labels:\n    team: shop\n")

	code, out, failed = h.run(t, "export", "web")
	require.Zero(t, code, failed)
	require.Contains(t, out, "  annotations:\n    argocd.argoproj.io/sync-wave: \"5\"\n    kubernetes.io/change-cause: image 2\n  labels:\n    team: shop\n")

	code, out, failed = h.run(t, "export", "web", "--to-revision", "2")
	require.Zero(t, code, failed)
	require.NotContains(t, out, "change-cause", "revision 2 has none")
}

// TestActionsOnADeletedObject: an object whose finalizers are left after the hub has finished is Deleting on every screen, whatever its
// status says. Every action is refused, also with --dry-run, and no alarm is raised.
func TestActionsOnADeletedObject(t *testing.T) {
	h := newOneHub(t)
	at := metav1.NewTime(time.Now().Add(-time.Hour))
	h.set.DeletionTimestamp, h.set.Finalizers = &at, []string{"example.com/backup"}
	h.set.Status.State, h.set.Spec.Paused = workv1alpha1.StateRollingOut, true
	for _, args := range [][]string{
		{"undo", "web", "--yes"}, {"undo", "web", "--to-revision", "1", "--allow-aborted", "--allow-managed"}, {"undo", "web", "--dry-run=server"},
		{"abort", "web", "--yes"}, {"retry", "web"}, {"retry", "web", "c1"}, {"pause", "web"}, {"resume", "web"}, {"approve", "web", "--yes"},
	} {
		code, out, failed := h.run(t, args...)
		require.Equal(t, 1, code, out)
		require.Contains(t, failed, `manifestworkreplicasets "web" is being deleted: no action can change its rollout`, args)
	}
	require.Empty(t, h.patches)
	const left = "the hub has finished: the object stays until its other finalizers are removed: example.com/backup"
	_, out, failed := h.run(t, "get", "web")
	require.Contains(t, out, "default/web   Deleting for 60m")
	require.Contains(t, out, "why      "+left)
	require.NotContains(t, out+failed, "no hub has acted")
	require.NotContains(t, out, "kubectl mwrs")
	_, out, failed = h.run(t, "list")
	require.Regexp(t, `web +Deleting `, out)
	require.Empty(t, failed)
	code, out, failed := h.run(t, "status", "web")
	require.Equal(t, 1, code)
	require.Equal(t, "Deleting: "+left+"\n", out)
	require.Contains(t, failed, "is being deleted")

	h.set.Finalizers = append(h.set.Finalizers, workv1alpha1.Finalizer)
	_, out, _ = h.run(t, "get", "web")
	require.Contains(t, out, "no hub has acted", "the hub has not finished")
	require.NotContains(t, out, left)
}

// TestUndoDryRun: a server dry run prints what the undo would change.
func TestUndoDryRun(t *testing.T) {
	h := newOneHub(t)
	h.revisions[0].Annotations[workv1alpha1.AnnotationChangeCause] = "image 1"
	code, out, failed := h.run(t, "undo", "web", "--dry-run=server")
	require.Zero(t, code, failed)
	require.Contains(t, out, "undo to the template of revision 1 is valid (server dry run)\nchange cause: image 1, now -\nchanges to the template in the spec:\n--- before: ")
	require.Contains(t, out, "\n-  version: v2\n+  version: v1\n")

	h.set.Spec.ManifestWorkTemplate = *templateWith("v1")
	h.set.Annotations = map[string]string{workv1alpha1.AnnotationChangeCause: "image 1"}
	code, out, failed = h.run(t, "undo", "web", "--to-revision", "1", "--dry-run=server")
	require.Zero(t, code, failed)
	require.Contains(t, out, "(server dry run)\nchanges to the template in the spec:\nnone\n")
}

// TestPauseSuspendsAborts: the command reports this to the user who pauses.
func TestPauseSuspendsAborts(t *testing.T) {
	h := newOneHub(t)
	h.set.Status.CurrentRevision = h.revisions[0].Labels[workv1alpha1.LabelControllerHash]
	h.set.Status.State = workv1alpha1.StateRollingOut
	for i := range h.revisions {
		h.set.Status.Revisions = append(h.set.Status.Revisions, workv1alpha1.RevisionStatus{
			Hash: h.revisions[i].Labels[workv1alpha1.LabelControllerHash], Revision: h.revisions[i].Revision,
		})
	}
	_, out, failed := h.run(t, "pause", "web")
	require.Contains(t, out, "Aborts are suspended: deadlines keep running, and an abort that is due on resume happens at once.", failed)
	shown, err := h.dashboard(t).Preview(t.Context(), &dashboard.Action{Namespace: "default", Name: "web", Verb: view.VerbPause}, &view.Objects{})
	require.NoError(t, err)
	require.Contains(t, shown.Then, "Aborts are suspended")
	h.set.Spec.Paused = true
	_, out, failed = h.run(t, "abort", "web", "--yes")
	require.Contains(t, out, "The rollout is paused: nothing happens until it is resumed. Then: The hub keeps revision 1, ", failed)
	template := h.set.Spec.ManifestWorkTemplate
	h.set.Spec.ManifestWorkTemplate = *templateWith("v3")
	h.set.Status.Summary.Total, h.set.Status.Summary.DesiredTotal = 1, 3
	_, out, failed = h.run(t, "abort", "web", "--yes")
	require.Contains(t, out, "It also writes revision 1 to 2 clusters with another revision or no ManifestWork.", failed)
	require.Contains(t, out, "It then rolls out the template in the spec, which is newer.", failed)
	h.set.Spec.ManifestWorkTemplate, h.set.Status.Summary = template, workv1alpha1.ManifestWorkReplicaSetSummary{}

	at := metav1.NewTime(time.Now())
	h.set.Spec.Paused, h.set.Status.AbortedTime, h.set.Status.State = false, &at, workv1alpha1.StateAborting
	_, out, failed = h.run(t, "pause", "web")
	require.Contains(t, out, "The abort stops where it is.", failed)
}

// TestDashboardUndoOfATemplateThatWasNotShown: the user confirmed the difference from v2 to v1. Meanwhile, another user changed the spec to
// v3, a fix.
func TestDashboardUndoOfATemplateThatWasNotShown(t *testing.T) {
	h := newOneHub(t)
	d := h.dashboard(t)
	action := &dashboard.Action{Namespace: "default", Name: "web", Verb: view.VerbUndo}
	shown, err := d.Preview(t.Context(), action, &view.Objects{})
	require.NoError(t, err)
	require.Contains(t, shown.Diff, "-  version: v2")
	h.set.Spec.ManifestWorkTemplate, h.set.ResourceVersion, h.set.Generation = *templateWith("v3"), "6", 3
	action.Generation = shown.Generation
	_, err = d.Act(t.Context(), action, shown.Question)
	require.Empty(t, h.patches)
	require.ErrorIs(t, err, dashboard.ErrChanged)

	shown, err = d.Preview(t.Context(), action, &view.Objects{})
	require.NoError(t, err)
	action.Generation = shown.Generation
	_, err = d.Act(t.Context(), action, shown.Question)
	require.NoError(t, err)
	require.Len(t, h.patches, 1)
}

// TestListWithAnObjectThatCannotBeDecoded: the CRD accepts "5 minutes". The object of one tenant must not hide the objects of the others.
func TestListWithAnObjectThatCannotBeDecoded(t *testing.T) {
	const item = `{"apiVersion":"work.open-cluster-management.io/v1alpha1","kind":"ManifestWorkReplicaSet","metadata":{"name":"web","namespace":%q},` +
		`"spec":{"placementRefs":[{"name":"p","rolloutStrategy":{"type":"All","all":{"minSuccessTime":%q}}}]},"status":{"state":"Stalled"}}`
	h := &oneHub{list: fmt.Sprintf(`{"apiVersion":"work.open-cluster-management.io/v1alpha1","kind":"ManifestWorkReplicaSetList",`+
		`"metadata":{"resourceVersion":"1"},"items":[`+item+","+item+"]}", "shop", "5m", "tenant", "5 minutes")}
	rows := h.dashboard(t).List(t.Context())
	code, out, failed := h.run(t, "list", "-A")
	require.Zero(t, code, failed)
	require.Regexp(t, `shop +web +Stalled`, out)
	require.Regexp(t, `tenant +web +Stalled`, out)
	require.Eventually(t, func() bool {
		shown, err := rows()
		return err == nil && len(shown) == 2
	}, time.Minute, 10*time.Millisecond)
}
