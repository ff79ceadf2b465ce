package hub

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	workscheme "open-cluster-management.io/api/client/work/clientset/versioned/scheme"
	workv1 "open-cluster-management.io/api/work/v1"
)

const servedWork = `{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"w","namespace":"c1"},` +
	`"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}},"status":{"conditions":[{"type":"Applied"}]}}`

// TestKinds: the kind that is read from the start of an object agrees with the kind from the whole object.
func TestKinds(t *testing.T) {
	for _, data := range []string{
		servedWork,
		`{"kind":"ManifestWork","apiVersion":"work.open-cluster-management.io/v1"}`,
		`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork"}`,
		`{"apiVersion":"work.open-cluster-management.io/v1","items":[],"kind":"ManifestWorkList"}`,
		`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWorkList","items":[]}`,
		`{"kind":"Status","apiVersion":"v1"}`,
		`{}`,
	} {
		expected, err := jsonserializer.DefaultMetaFactory.Interpret([]byte(data))
		require.NoError(t, err, data)
		kind, err := kinds{}.Interpret([]byte(data))
		require.NoError(t, err, data)
		require.Equal(t, expected, kind, data)
	}
	for _, data := range []string{``, `{`, `nonsense`, `{"kind":`} {
		_, err := kinds{}.Interpret([]byte(data))
		require.Error(t, err, data)
	}
}

// FuzzWatchEvent: an event that is split without parsing equals the event that is parsed.
func FuzzWatchEvent(f *testing.F) {
	for _, data := range []string{
		`{"type":"MODIFIED","object":` + servedWork + `}`,
		`{"type":"DELETED","object":` + servedWork + "}\n",
		`{"type":"ADDED","object":{},"type":"MODIFIED"}`,
		`{"type":"ADDED","object":{},"more":{"a":1}}`,
		`{"type":"ADDED","object":"a\",\"object\":"}`,
		`{"type":"BOOKMARK","object":{"kind":"ManifestWork"}}`,
		`{"type":"ERROR","object":{"kind":"Status"}}`,
		`{"object":{},"type":"ADDED"}`,
		`{"type":"ADDED"}`, `{"type":"`, `{}`, ``,
	} {
		f.Add([]byte(data))
	}
	usual := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, workscheme.Scheme, workscheme.Scheme, jsonserializer.SerializerOptions{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var expected, got metav1.WatchEvent
		_, kind, err := usual.Decode(data, nil, &expected)
		decoded, gotKind, gotErr := eventSerializer{usual}.Decode(data, nil, &got)
		if gotErr != nil {
			require.Error(t, err)
			return
		}
		if err != nil || !json.Valid(got.Object.Raw) {
			// No frame of a watch looks like this. The decoder of the object reports the error.
			require.False(t, json.Valid(data) && json.Valid(got.Object.Raw), "%s", got.Object.Raw)
			return
		}
		require.Same(t, &got, decoded)
		require.Equal(t, expected.Type, got.Type)
		require.Equal(t, string(bytes.TrimSpace(expected.Object.Raw)), string(bytes.TrimSpace(got.Object.Raw)))
		require.Equal(t, kind.Kind, gotKind.Kind)
	})
}

// TestWorkClientset decodes the answers from an API server: works, lists of them, and each kind of watch event.
func TestWorkClientset(t *testing.T) {
	var work workv1.ManifestWork
	require.NoError(t, json.Unmarshal([]byte(servedWork), &work))
	status := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`
	changed := strings.ReplaceAll(servedWork, `"name":"a"`, `"name":"b"`)
	bookmark := `{"kind":"ManifestWork","apiVersion":"work.open-cluster-management.io/v1","metadata":{"resourceVersion":"7"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != rest.DefaultKubernetesUserAgent() { // It is the manager of the fields that the client writes.
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer := servedWork
		switch {
		case r.URL.Query().Has("watch"):
			answer = strings.Join([]string{
				`{"type":"ADDED","object":` + servedWork + `}`, `{"type":"MODIFIED","object":` + changed + `}`, `{"type":"BOOKMARK","object":` + bookmark + `}`, `{"type":"ERROR","object":` + status + `}`,
				"{\n  \"type\": \"DELETED\",\n  \"object\": " + servedWork + "\n}", `{"type":"ADDED","object":` + servedWork[:60],
			}, "\n")
		case strings.HasSuffix(r.URL.Path, "/expired"):
			w.WriteHeader(http.StatusGone)
			answer = status
		case strings.HasSuffix(r.URL.Path, "/manifestworks"):
			answer = `{"apiVersion":"work.open-cluster-management.io/v1","items":[` + servedWork + `],"kind":"ManifestWorkList","metadata":{"resourceVersion":"8"}}`
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	clients, err := newWorkClientset(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	works := clients.WorkV1().ManifestWorks("c1")

	got, err := works.Get(t.Context(), "w", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, work.Spec, got.Spec)
	_, err = works.Get(t.Context(), "expired", metav1.GetOptions{})
	require.True(t, apierrors.IsResourceExpired(err), err)
	list, err := works.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "8", list.ResourceVersion)
	require.Len(t, list.Items, 1)
	require.Equal(t, work.Status, list.Items[0].Status)

	watcher, err := works.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	t.Cleanup(watcher.Stop)
	events := map[watch.EventType]runtime.Object{}
	for event := range watcher.ResultChan() {
		events[event.Type] = event.Object
	}
	require.Len(t, events, 5)
	require.Equal(t, work.Spec, events[watch.Added].(*workv1.ManifestWork).Spec)
	require.Contains(t, string(events[watch.Modified].(*workv1.ManifestWork).Spec.Workload.Manifests[0].Raw), `"name":"b"`)
	require.Equal(t, work.Status, events[watch.Deleted].(*workv1.ManifestWork).Status)
	require.Equal(t, "7", events[watch.Bookmark].(*workv1.ManifestWork).ResourceVersion)
	require.Equal(t, metav1.StatusReasonExpired, events[watch.Error].(*metav1.Status).Reason)
}
