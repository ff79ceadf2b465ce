package worklist

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
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

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// TestList: a list has the same works however it arrives, and wherever its metadata stands.
func TestList(t *testing.T) {
	long := `{"x":"` + strings.Repeat(`\"}`, 1<<20) + `"}` // Longer than a buffer.
	for text, want := range map[string][]string{
		`{"metadata":{"resourceVersion":"7"},"items":[]}`:                                            nil,
		`{"metadata":{"resourceVersion":"7"},"items":null}`:                                          nil,
		`{"items":[{"a":1},` + long + `, {"b":[]} ],"metadata":{"resourceVersion":"7"}}`:             {`{"a":1}`, long, `{"b":[]}`},
		` { "kind" : "List" , "n":12,"items" : [ {} , {} ] , "metadata" : {"resourceVersion":"7"} }`: {`{}`, `{}`},
	} {
		for _, from := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
			items, version, err := read(from)
			require.NoError(t, err)
			require.Equal(t, want, items)
			require.Equal(t, "7", version)
		}
	}
}

// read returns the works and the resource version of a list that arrives from a reader.
func read(from io.Reader) (items []string, version string, err error) {
	meta, err := readList(from, func(item json.RawMessage) error {
		items = append(items, string(item))
		return nil
	})
	return items, meta.ResourceVersion, err
}

// TestBrokenList: a list that ends too early, or is no list, is an error.
func TestBrokenList(t *testing.T) {
	const whole = `{"items":[{"a":"b"},{}],"metadata":{"resourceVersion":"7"}}`
	for end := range len(whole) {
		_, _, err := read(strings.NewReader(whole[:end]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, whole[:end])
	}
	for _, text := range []string{`[]`, `{"items":7}`, `{"items":[{} {}]}`, `{"items":[{}]x`, `{"metadata":[]}`, `{1}`, `{"a" 1}`, `{"a":1,}`, `{a:1}`, `7`} {
		_, _, err := read(strings.NewReader(text))
		require.ErrorContains(t, err, "reading a list of ManifestWorks: ", text)
	}
	_, _, err := read(iotest.ErrReader(io.ErrClosedPipe))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, err = readList(strings.NewReader(whole), func(json.RawMessage) error { return io.ErrShortWrite })
	require.ErrorIs(t, err, io.ErrShortWrite)
}

// FuzzList: no answer of an API server makes the plugin panic.
func FuzzList(f *testing.F) {
	f.Add([]byte(`{"items":[{"metadata":{"name":"a\"b"}}],"metadata":{"continue":"x"}}`))
	f.Add([]byte(`{"items":[ {} ,[]],"":null}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		known := &digests{known: map[[sha256.Size]byte]revision.Digest{}}
		_, _ = readList(bytes.NewReader(data), func(item json.RawMessage) error {
			_, err := known.decode(item)
			return err
		})
		_, _ = known.decode(data)
	})
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
