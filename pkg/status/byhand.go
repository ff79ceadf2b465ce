package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// AbortSetBy returns the field manager that set status.abortedTime. It is empty if no user set the field, if the manager is unknown, or if
// the manager is this hub, which also manages status.updateRevision.
func AbortSetBy(managed []metav1.ManagedFieldsEntry) string {
	hub, setter := "", ""
	for i := range managed {
		entry := &managed[i]
		if revision.OwnsField(entry, "f:status", "f:updateRevision") {
			hub = entry.Manager
		}
		if revision.OwnsField(entry, "f:status", "f:abortedTime") {
			setter = entry.Manager
		}
	}
	if setter == hub {
		return ""
	}
	return setter
}
