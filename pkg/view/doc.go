// Package view turns the API objects of a ManifestWorkReplicaSet into what a person wants to see: its state and the causes, its
// revisions, its clusters, and the commands that come next. It is pure: API objects and the time in, rows out.
//
// The clusters come from rollout.Explain, the source of the hub's own conditions. What only the hub's process knows, such as how long it
// has watched an agent, is assumed to be settled.
package view
