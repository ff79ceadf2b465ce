// Package webhooks embeds the webhook configurations of this hub that the ClusterManager operator does not have.
package webhooks

import (
	_ "embed" // for ReplicaSets
)

// ReplicaSets is the YAML of the ValidatingWebhookConfiguration for ManifestWorkReplicaSets.
//
//go:embed manifestworkreplicasets.yaml
var ReplicaSets []byte
