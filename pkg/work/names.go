package work

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Names returns the names that a work of this hub may have, in the order in which they are tried: the owner's own name, a name derived
// from the owner's namespace and name, and a name that contains the owner's UID. Each name is the same in every process and pass, so a
// second attempt finds the work that the first attempt created.
func Names(owner metav1.Object) []string {
	hasher := fnv.New32a()
	_, _ = hasher.Write([]byte(owner.GetNamespace() + "/" + owner.GetName()))
	return []string{
		owner.GetName(),
		owner.GetName() + "-" + rand.SafeEncodeString(fmt.Sprint(hasher.Sum32())),
		owner.GetName() + "-" + string(owner.GetUID()),
	}
}

const (
	// generatedSuffix is the number of characters that an API server appends to metadata.generateName.
	generatedSuffix = 5
	// generatedAlphabet contains the characters of the names that apimachinery generates.
	generatedAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	// generatedPrefix is the number of characters of metadata.generateName that an API server keeps.
	generatedPrefix = 63 - generatedSuffix
)

// IsName reports whether a work of this owner can have a name, either from this hub or from OCM's hub. Up to OCM 1.2, OCM's hub uses the
// owner's name. Since 1.3, it uses the owner's name as metadata.generateName.
func IsName(owner metav1.Object, name string) bool {
	if name == owner.GetName() || slices.Contains(Names(owner), name) {
		return true
	}
	prefix := owner.GetName()
	suffix, found := strings.CutPrefix(name, prefix[:min(len(prefix), generatedPrefix)])
	return found && len(suffix) == generatedSuffix && strings.Trim(suffix, generatedAlphabet) == ""
}

// HasOwner reports whether a work has an owner label, of any value.
func HasOwner(work metav1.Object) bool {
	if _, labelled := work.GetLabels()[workv1alpha1.LabelReplicaSet]; labelled {
		return true
	}
	_, _, owned := workv1alpha1.OwnerOf(work)
	return owned
}

// LostOwner reports whether a work without an owner label still belongs to this owner: it has a name that this owner's works can have, the
// hash of one of the owner's revisions, and the time of the hub's write.
func LostOwner(owner metav1.Object, work *workv1.ManifestWork, isRevision func(hash string) bool) bool {
	if HasOwner(work) || !IsName(owner, work.Name) {
		return false
	}
	w := Work{Object: work}
	_, written := w.AppliedAt()
	return written && w.Hash() != "" && isRevision(w.Hash())
}
