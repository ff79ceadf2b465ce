// Package story plays the demo on a sandbox: a version that rolls out, a broken version that is aborted, a good version, and an undo. Each
// step ends when the API objects of the hub and of each managed cluster prove its result. If they do not prove it within the time limit,
// the story fails.
package story
