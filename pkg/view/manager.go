package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// marks maps the labels and annotations that tools set on the objects they apply to the name of the tool.
var marks = map[string]string{
	"argocd.argoproj.io/tracking-id":                   "Argo CD",
	"argocd.argoproj.io/instance":                      "Argo CD",
	"kustomize.toolkit.fluxcd.io/name":                 "Flux",
	"helm.toolkit.fluxcd.io/name":                      "Flux",
	"meta.helm.sh/release-name":                        "Helm",
	"kubectl.kubernetes.io/last-applied-configuration": KubectlApply,
}

// KubectlApply is the name of the tool that applies files on the client's side.
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

// ApplierOf returns the field manager that applies the template on the server's side; empty if there is none.
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
