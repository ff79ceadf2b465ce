// Package view turns the API objects of a ManifestWorkReplicaSet into a view for users: its state and the causes, its revisions, its
// clusters, and the commands to run next. It is pure: the result depends only on the API objects and the time.
//
// The clusters come from rollout.Explain, which the hub's own conditions also use. Some facts are known only to the hub process, such as
// how long it has watched an agent. The view assumes that the hub has watched long enough.
package view
