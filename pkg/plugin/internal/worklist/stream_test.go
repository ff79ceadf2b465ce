package worklist

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
)

// walked returns the works and the resource version of a list that arrives from a reader.
func walked(from io.Reader) (items []string, version string, err error) {
	s := &stream{from: from, send: func(p page) error {
		if p.first != len(items) {
			return fmt.Errorf("page at %d after %d works", p.first, len(items))
		}
		for _, item := range p.items {
			items = append(items, string(item))
		}
		return nil
	}}
	meta, err := s.list()
	return items, meta.ResourceVersion, err
}

// TestStream: a list has the same works however it arrives, and wherever its metadata stands.
func TestStream(t *testing.T) {
	long := `{"x":"` + strings.Repeat(`\"}`, chunk) + `"}` // Longer than a chunk.
	for text, want := range map[string][]string{
		`{"metadata":{"resourceVersion":"7"},"items":[]}`:                                            nil,
		`{"items":[{"a":1},` + long + `, {"b":[]} ],"metadata":{"resourceVersion":"7"}}`:             {`{"a":1}`, long, `{"b":[]}`},
		` { "kind" : "List" , "n":12,"items" : [ {} , {} ] , "metadata" : {"resourceVersion":"7"} }`: {`{}`, `{}`},
	} {
		for _, from := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
			items, version, err := walked(from)
			require.NoError(t, err)
			require.Equal(t, want, items)
			require.Equal(t, "7", version)
		}
	}
}

// TestBrokenStream: a list that ends too early, or is no list, is an error.
func TestBrokenStream(t *testing.T) {
	const whole = `{"items":[{"a":"b"},{}],"metadata":{"resourceVersion":"7"}}`
	for end := range len(whole) {
		_, _, err := walked(strings.NewReader(whole[:end]))
		require.ErrorIs(t, err, errBroken, whole[:end])
	}
	for _, text := range []string{`[]`, `{"items":7}`, `{"items":[{} {}]}`, `{"items":[{}]x`, `{"metadata":[]}`, `{1}`} {
		_, _, err := walked(strings.NewReader(text))
		require.Error(t, err, text)
	}
	_, _, err := walked(iotest.ErrReader(io.ErrClosedPipe))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// TestReadWhole: a whole list is read without a limit, in its order. An error of the API server keeps its reason.
func TestReadWhole(t *testing.T) {
	const n = 1000
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("labelSelector") != "a=b" || r.URL.Query().Has("limit") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"items":[`)
		for i := range n {
			_, _ = fmt.Fprintf(w, `%s{"metadata":{"name":"web","namespace":"c%d"},"spec":{}}`, map[bool]string{true: ","}[i > 0], i)
		}
		_, _ = fmt.Fprint(w, `],"metadata":{"resourceVersion":"7"}}`)
	}))
	t.Cleanup(server.Close)
	client := workclient.NewForConfigOrDie(&rest.Config{Host: server.URL}).WorkV1().RESTClient()
	works, version, err := Read(t.Context(), client, "a=b", true)
	require.NoError(t, err)
	require.Equal(t, "7", version)
	require.Len(t, works, n)
	for i := range works {
		require.Equal(t, fmt.Sprintf("c%d", i), works[i].Cluster())
	}
	_, _, err = Read(t.Context(), client, "c=d", true)
	require.True(t, apierrors.IsForbidden(err), err)
}
