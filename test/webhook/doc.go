// Package webhook tests the admission webhook as it runs on a hub: the real binary, started with the operator's arguments and with no
// more rights than the operator's service account has, behind a real kube-apiserver that calls it over TLS by the operator's own
// ValidatingWebhookConfiguration, and by ours.
package webhook
