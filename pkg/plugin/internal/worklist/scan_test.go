package worklist

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// partsOf returns the parts of a JSON value at each level, by the walk.
func partsOf(t *testing.T, data []byte) any {
	t.Helper()
	var broken error
	var found any
	switch data[space(data, 0)] {
	case '{':
		object := map[string]any{}
		for name, value := range members(data, &broken) {
			object[string(name)] = partsOf(t, value)
		}
		found = object
	case '[':
		array := []any{}
		for value := range elements(data, &broken) {
			array = append(array, partsOf(t, value))
		}
		found = array
	default:
		require.NoError(t, json.Unmarshal(data, &found), string(data))
	}
	require.NoError(t, broken)
	return found
}

// TestWalk: the walk finds what a decoder finds.
func TestWalk(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, ` { } `, `{"a":1}`, `{"a" : [ 1 , -2.5e3,true ,null,"x"] , "b":{"c":{}}}`,
		`{"a":"\"","b":"\\","c":"\\\"}{][","d":"é","e":"\\\\"}`, "{\n\t\"a\":\r\n[[],[{}],[\"]\"]]}",
	} {
		var want any
		require.NoError(t, json.Unmarshal([]byte(text), &want))
		require.Equal(t, want, partsOf(t, []byte(text)), text)
	}
}

// TestBrokenJSON: a walk through broken JSON ends with an error.
func TestBrokenJSON(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":"\"}`, `{"a":[1,{"b":2]`, `[]`, `7`} {
		var broken error
		for range members([]byte(text), &broken) {
			continue // Only the error counts.
		}
		require.Error(t, broken, text)
	}
}

// FuzzWalk: no input makes the walk panic. In valid JSON, it finds what a decoder finds.
func FuzzWalk(f *testing.F) {
	f.Add([]byte(`{"items":[{"metadata":{"name":"a\"b"}}],"metadata":{"continue":"x"}}`))
	f.Add([]byte(`{"items":[ {} ,[]],"":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _ = split(data)
		_, _ = (&digests{known: map[[sha256.Size]byte]revision.Digest{}}).decode(data)
		var want any
		// The walk leaves escape sequences in names as they are.
		if json.Unmarshal(data, &want) != nil || bytes.ContainsRune(data, '\\') || !utf8.Valid(data) {
			return
		}
		require.Equal(t, want, partsOf(t, data))
	})
}
