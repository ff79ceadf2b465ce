// Package story plays the demo on a sandbox: a version that rolls out, one that is broken and is taken back,
// one that is good, and an undo. Every step ends when the API objects of the hub and of each managed cluster
// prove it, and fails when they don't in time.
package story
