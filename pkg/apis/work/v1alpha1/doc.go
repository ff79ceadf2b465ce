// Package v1alpha1 holds the ManifestWorkReplicaSet API that this hub serves: a
// superset of Open Cluster Management's own v1alpha1 types. Every upstream field
// keeps its JSON name, default and validation, so that an object that passes
// upstream's CRD passes this one, and a client that knows only upstream's types
// reads and writes it as before.
//
// +k8s:deepcopy-gen=package,register
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=work.open-cluster-management.io
package v1alpha1
