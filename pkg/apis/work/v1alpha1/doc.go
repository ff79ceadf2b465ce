// Package v1alpha1 holds the ManifestWorkReplicaSet API that this hub serves: a superset of Open Cluster Management's own v1alpha1 types.
// Every upstream field keeps its JSON name, default and validation. So an object that is valid under upstream's CRD is valid under this
// CRD, and clients that know only upstream's types still work.
//
// +k8s:deepcopy-gen=package,register
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=work.open-cluster-management.io
package v1alpha1
