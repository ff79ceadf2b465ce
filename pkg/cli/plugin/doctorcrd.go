package plugin

import (
	"context"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/crds"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

const (
	// operatorVersion is the annotation that the ClusterManager operator compares with its own version before it overwrites a CRD.
	operatorVersion = "operator.open-cluster-management.io/version"
	// guardVersion is later than the version of every operator. deploy/crds/crd-version.yaml sets it.
	guardVersion = "1000.0.0"
	mwrsCRD      = "manifestworkreplicasets." + workv1alpha1.GroupName
)

// crd checks that the CRD is installed, complete and guarded.
func (d *doctor) crd(ctx context.Context) error {
	d.begins("crd-installed", "get customresourcedefinitions")
	installed, err := d.objects.Resource(crdResource).Get(ctx, mwrsCRD, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		d.fail(applyDeploy, "CRD %s does not exist", mwrsCRD)
		return nil
	}
	if err != nil {
		return err
	}
	d.ok("CRD %s exists", mwrsCRD)
	var shipped unstructured.Unstructured
	if err := yaml.Unmarshal(crds.ManifestWorkReplicaSet, &shipped.Object); err != nil {
		return err
	}
	d.check = "crd-complete"
	if lacking := missingFields("", schemaOf(&shipped), schemaOf(installed)); len(lacking) > 0 {
		d.fail(applyDeploy, "the API server drops %s", strings.Join(lacking, ", "))
	} else {
		d.ok("the CRD has every field of this release")
	}
	d.check = "crd-guarded"
	d.guard(installed.GetAnnotations())
	return nil
}

// schemaOf returns the schema of the API version that the hub uses. It is nil if the CRD does not serve that version.
func schemaOf(crd *unstructured.Unstructured) map[string]any {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, item := range versions {
		entry, _ := item.(map[string]any)
		if entry["name"] == workv1alpha1.ManifestWorkReplicaSetResource.Version && entry["served"] == true {
			found, _, _ := unstructured.NestedMap(entry, "schema", "openAPIV3Schema")
			return found
		}
	}
	return nil
}

// missingFields returns the paths of the shipped schema that the installed schema drops. It does not descend into a missing field.
func missingFields(path string, shipped, installed map[string]any) (missing []string) {
	if installed["x-kubernetes-preserve-unknown-fields"] == true {
		return nil
	}
	ours, _ := shipped["properties"].(map[string]any)
	theirs, _ := installed["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		our, _ := ours[name].(map[string]any)
		their, found := theirs[name].(map[string]any)
		if !found {
			missing = append(missing, at)
			continue
		}
		missing = append(missing, missingFields(at, our, their)...)
	}
	for field, suffix := range map[string]string{"items": "[]", "additionalProperties": "[]"} {
		our, _ := shipped[field].(map[string]any)
		their, _ := installed[field].(map[string]any)
		if our != nil {
			missing = append(missing, missingFields(path+suffix, our, their)...)
		}
	}
	return missing
}

// guard checks that neither the ClusterManager operator nor a GitOps tool replaces or deletes the CRD.
func (d *doctor) guard(annotations map[string]string) {
	found, err := version.ParseSemantic(annotations[operatorVersion])
	argo := annotations["argocd.argoproj.io/sync-options"]
	switch {
	case err != nil || found.LessThan(version.MustParseSemantic(guardVersion)):
		d.fail(applyDeploy, "the annotation %s is %q: the ClusterManager operator replaces the CRD with its own",
			operatorVersion, annotations[operatorVersion])
	case !strings.Contains(argo, "Prune=false"), !strings.Contains(argo, "Delete=false"),
		annotations["kustomize.toolkit.fluxcd.io/prune"] != "disabled":
		d.warn(applyDeploy, "a GitOps tool may delete the CRD, and every ManifestWorkReplicaSet with it")
	default:
		d.ok("the operator and GitOps tools leave the CRD alone")
	}
}
