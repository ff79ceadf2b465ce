package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// MaxOwnerLabelLength is how long "<namespace>.<name>" may be: what a label value may hold.
const MaxOwnerLabelLength = validation.LabelValueMaxLength

// OwnerLabelValue is the value of LabelReplicaSet on what a ManifestWorkReplicaSet owns.
func OwnerLabelValue(namespace, name string) string {
	return namespace + "." + name
}

// ParseOwnerLabelValue splits the value of LabelReplicaSet at its first dot: a namespace holds none, a name
// may. It reports false for a value that OwnerLabelValue can't have made.
func ParseOwnerLabelValue(value string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(value, ".")
	return namespace, name, ok && namespace != "" && name != ""
}
