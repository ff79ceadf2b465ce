// Package dashboard tests the page of `kubectl mwrs dashboard` in a real Chromium, against a real etcd, kube-apiserver and hub with
// simulated agents.
package dashboard
