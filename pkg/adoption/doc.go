// Package adoption reads the rollouts of another hub from ManifestWorks: those before this hub knew the object, and those while another
// hub ran in place of this hub.
//
// It is pure. Package lifecycle turns the specs into revisions, and package rollout labels the works (lifecycle/adopt.go,
// rollout/adopt.go).
package adoption
