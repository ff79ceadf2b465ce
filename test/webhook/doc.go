// Package webhook tests the admission webhook as it runs on a hub: the real binary, with the operator's arguments, and with only the
// permissions of the operator's ServiceAccount. A real kube-apiserver calls it over TLS, according to the operator's
// ValidatingWebhookConfiguration and to this project's.
package webhook
