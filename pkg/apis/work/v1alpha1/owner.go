package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// MaxOwnerLabelLength is the maximum length of "<namespace>.<name>", which is a label value.
const MaxOwnerLabelLength = validation.LabelValueMaxLength

// OwnerLabelValue returns the value of LabelReplicaSet on the objects that a ManifestWorkReplicaSet owns.
func OwnerLabelValue(namespace, name string) string {
	return namespace + "." + name
}

// ParseOwnerLabelValue splits the value of LabelReplicaSet at its first dot: a namespace contains no dot, but a name may. It returns false
// for a value that OwnerLabelValue can't return.
func ParseOwnerLabelValue(value string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(value, ".")
	return namespace, name, ok && namespace != "" && name != ""
}

// OwnerHash returns the value of LabelOwnerHash, as ocm#1684 defines it: the first 16 bytes of the SHA-256 digest of
// "<namespace>/<name>", in hexadecimal.
func OwnerHash(namespace, name string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + name))
	return hex.EncodeToString(sum[:16])
}

// RevisionLabelValue returns the value of LabelReplicaSet on the ControllerRevisions of an owner: OwnerLabelValue, or OwnerHash if
// OwnerLabelValue is longer than a label value may be.
func RevisionLabelValue(namespace, name string) string {
	if value := OwnerLabelValue(namespace, name); len(value) <= MaxOwnerLabelLength {
		return value
	}
	return OwnerHash(namespace, name)
}

// WorkSelector returns a label selector of the ManifestWorks that a hub writes for an owner. A work has LabelReplicaSet
// if OwnerLabelValue fits.
func WorkSelector(namespace, name string) string {
	if value := OwnerLabelValue(namespace, name); len(value) <= MaxOwnerLabelLength {
		return LabelReplicaSet + "=" + value
	}
	return LabelOwnerHash + "=" + OwnerHash(namespace, name)
}

// OwnerOf returns the ManifestWorkReplicaSet that owns a ManifestWork or ControllerRevision. LabelOwnerHash decides if it is the hash of
// AnnotationOwner. Otherwise, LabelReplicaSet decides. On a ControllerRevision, LabelReplicaSet may hold the hash of its controller.
func OwnerOf(object metav1.Object) (namespace, name string, ok bool) {
	labels := object.GetLabels()
	if hash := labels[LabelOwnerHash]; hash != "" {
		namespace, name, ok = strings.Cut(object.GetAnnotations()[AnnotationOwner], "/")
		if ok && hash == OwnerHash(namespace, name) {
			return namespace, name, true
		}
	}
	value := labels[LabelReplicaSet]
	if namespace, name, ok = ParseOwnerLabelValue(value); ok || value == "" {
		return namespace, name, ok
	}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil && value == OwnerHash(object.GetNamespace(), controller.Name) {
		return object.GetNamespace(), controller.Name, true
	}
	return "", "", false
}

// IsOwner reports whether OwnerOf returns this namespace and name.
func IsOwner(namespace, name string, object metav1.Object) bool {
	foundNamespace, foundName, ok := OwnerOf(object)
	return ok && foundNamespace == namespace && foundName == name
}
