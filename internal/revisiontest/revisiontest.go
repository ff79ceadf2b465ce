// Package revisiontest changes the records of ControllerRevisions in tests.
package revisiontest

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Amend changes the record of a ControllerRevision.
func Amend(object *appsv1.ControllerRevision, change func(*revision.Record)) {
	if err := revision.Amend(object, change); err != nil {
		panic(err) // Only times after the year 9999 can't be encoded.
	}
}
