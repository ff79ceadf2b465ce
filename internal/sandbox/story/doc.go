// Package story plays the demo on a sandbox: a version that rolls out, a broken one that is aborted, a good one, and an undo. Each step
// ends when the API objects of the hub and of each managed cluster prove it. If they do not within the time limit, the story fails.
package story
