package status

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAbortSetBy: the user who set status.abortedTime, if the API server reports it.
func TestAbortSetBy(t *testing.T) {
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}
	}
	hub := entry("work", `{"f:status":{"f:conditions":{},"f:updateRevision":{}}}`)
	for name, tc := range map[string]struct {
		managed []metav1.ManagedFieldsEntry
		want    string
	}{
		"nobody":               {managed: []metav1.ManagedFieldsEntry{hub}},
		"no managed fields":    {},
		"a person":             {managed: []metav1.ManagedFieldsEntry{hub, entry("kubectl-patch", `{"f:status":{"f:abortedTime":{}}}`)}, want: "kubectl-patch"},
		"this hub":             {managed: []metav1.ManagedFieldsEntry{entry("work", `{"f:status":{"f:abortedTime":{},"f:updateRevision":{}}}`)}},
		"a person, at first":   {managed: []metav1.ManagedFieldsEntry{entry("edit", `{"f:status":{"f:abortedTime":{}}}`)}, want: "edit"},
		"what can't be read":   {managed: []metav1.ManagedFieldsEntry{hub, entry("x", `[]`), entry("y", `{`), {Manager: "z"}}},
		"a field of that name": {managed: []metav1.ManagedFieldsEntry{hub, entry("x", `{"f:spec":{"f:abortedTime":{}}}`)}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, AbortSetBy(tc.managed)) })
	}
}
