// Package crds embeds the CustomResourceDefinitions of this hub, so that binaries and tests install exactly the files
// that `make generate` wrote.
package crds

import (
	_ "embed" // for ManifestWorkReplicaSet
)

// ManifestWorkReplicaSet is the YAML of the ManifestWorkReplicaSet CRD.
//
//go:embed work.open-cluster-management.io_manifestworkreplicasets.crd.yaml
var ManifestWorkReplicaSet []byte
