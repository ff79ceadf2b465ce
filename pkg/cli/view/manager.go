package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// marks maps labels and annotations to the name of the tool that claims an object with them. It omits labels and annotations with which a
// user configures a tool, such as a sync wave.
var marks = map[string]string{
	"argocd.argoproj.io/tracking-id":                   "Argo CD",
	"argocd.argoproj.io/installation-id":               "Argo CD",
	"argocd.argoproj.io/instance":                      "Argo CD",
	"kustomize.toolkit.fluxcd.io/name":                 "Flux",
	"kustomize.toolkit.fluxcd.io/namespace":            "Flux",
	"helm.toolkit.fluxcd.io/name":                      "Flux",
	"helm.toolkit.fluxcd.io/namespace":                 "Flux",
	"meta.helm.sh/release-name":                        "Helm",
	"meta.helm.sh/release-namespace":                   "Helm",
	"kubectl.kubernetes.io/last-applied-configuration": KubectlApply,
}

// managedBy is a label with which Helm claims an object, together with Helm's annotations, if the value is Helm. Charts set this label too,
// so the label alone does not prove that Helm manages the object.
const managedBy = "app.kubernetes.io/managed-by"

// Unmarked returns the labels and annotations of an object, without the claims of tools and without the hub's snapshots.
func Unmarked(set *workv1alpha1.ManifestWorkReplicaSet) (labels, annotations map[string]string) {
	marked := func(key, value string) bool {
		return marks[key] != "" || key == managedBy && value == "Helm" || strings.HasPrefix(key, workv1alpha1.AnnotationSnapshotPrefix)
	}
	labels, annotations = maps.Clone(set.Labels), maps.Clone(set.Annotations)
	maps.DeleteFunc(labels, marked)
	maps.DeleteFunc(annotations, marked)
	return labels, annotations
}

// KubectlApply is the name of the tool that applies files with client-side apply.
const KubectlApply = "kubectl apply"

// ManagerOf returns the tool that manages the template and would overwrite other changes. It is empty if there is no such tool.
func ManagerOf(set *workv1alpha1.ManifestWorkReplicaSet) string {
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		if set.Annotations[key] != "" || set.Labels[key] != "" {
			return marks[key]
		}
	}
	if applier := ApplierOf(set); applier != "" {
		return fmt.Sprintf("the field manager %q (server-side apply)", applier)
	}
	return ""
}

// ApplierOf returns the field manager that applies the template with server-side apply; empty if there is none.
func ApplierOf(set *workv1alpha1.ManifestWorkReplicaSet) string {
	for i := range set.ManagedFields {
		entry := &set.ManagedFields[i]
		applies := entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
		if applies && entry.FieldsV1 != nil && strings.Contains(string(entry.FieldsV1.Raw), `"f:manifestWorkTemplate"`) {
			return entry.Manager
		}
	}
	return ""
}
