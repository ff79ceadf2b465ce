package status

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AbortSetBy returns the field manager that set status.abortedTime. It is empty if no user set it, if that is unknown, or if this hub set
// it. This hub is the manager of status.updateRevision.
func AbortSetBy(managed []metav1.ManagedFieldsEntry) string {
	hub, setter := "", ""
	for i := range managed {
		entry := &managed[i]
		if ownsStatus(entry, "f:updateRevision") {
			hub = entry.Manager
		}
		if ownsStatus(entry, "f:abortedTime") {
			setter = entry.Manager
		}
	}
	if setter == hub {
		return ""
	}
	return setter
}

func ownsStatus(entry *metav1.ManagedFieldsEntry, field string) bool {
	var owned struct {
		Status map[string]json.RawMessage `json:"f:status"`
	}
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.Raw, &owned) != nil {
		return false
	}
	_, ok := owned.Status[field]
	return ok
}
