package rule

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const (
	retry    = "object.metadata.?annotations[?'" + workv1alpha1.AnnotationRetry + "']"
	oldRetry = "oldObject.metadata.?annotations[?'" + workv1alpha1.AnnotationRetry + "']"
	// rfc3339 matches the times that the hub can parse. It also matches days that do not exist in a month.
	rfc3339 = `'^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?` +
		`(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$'`
)

// ChangesRetry is true for updates that change the annotation that requests a retry.
const ChangesRetry = "(" + retry + " != " + oldRetry + ")"

// BadRetry is about a retry annotation that is not a time.
// The policy admits a day that does not exist, such as 2026-02-30.
var BadRetry = Rule{
	Text: "%q is not a time, so nothing would be retried: use the current time in RFC 3339, for example 2026-11-25T10:00:00Z",
	Checks: []Check{{
		Holds: retry + ".optMap(v, v.matches(" + rfc3339 + ")).orValue(true) || (oldObject != null && !" + ChangesRetry + ")",
		Field: "'metadata.annotations[" + workv1alpha1.AnnotationRetry + "]'",
		Args:  []string{cut(retry + ".orValue('')")},
	}},
}
