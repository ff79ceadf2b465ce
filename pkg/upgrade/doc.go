// Package upgrade keeps the state of ManifestWorkReplicaSets before a newer version of the hub reconciles them, and restores what was
// lost when an older version is back. A Runner does it once, in the leader, before the controller of ManifestWorkReplicaSets starts (R33
// to R38). What is done is decided in package plan.
//
// It writes annotations and statuses of ManifestWorkReplicaSets, numbers and annotations of ControllerRevisions, and the ConfigMap that
// holds the version. It has no client of ManifestWorks.
package upgrade
