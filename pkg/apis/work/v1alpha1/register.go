package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group that this package extends.
const GroupName = "work.open-cluster-management.io"

var (
	// SchemeGroupVersion is the group and version of the types in this package.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// ManifestWorkReplicaSetKind is the kind in owner references and events.
	ManifestWorkReplicaSetKind = SchemeGroupVersion.WithKind("ManifestWorkReplicaSet")

	// ManifestWorkReplicaSetResource is the resource for dynamic clients.
	ManifestWorkReplicaSetResource = SchemeGroupVersion.WithResource("manifestworkreplicasets")

	// SchemeBuilder collects the functions that add this package's types to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds this package's types to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &ManifestWorkReplicaSet{}, &ManifestWorkReplicaSetList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
