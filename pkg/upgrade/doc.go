// Package upgrade saves the state of ManifestWorkReplicaSets before a newer version of the hub reconciles them, and restores lost state
// when an older version returns. A Runner does this once, in the leader, before the controller of ManifestWorkReplicaSets starts (R33 to
// R38). Package plan makes the decisions.
//
// It writes annotations and statuses of ManifestWorkReplicaSets, numbers and annotations of ControllerRevisions, and the ConfigMap that
// holds the version. It has no client of ManifestWorks.
package upgrade
