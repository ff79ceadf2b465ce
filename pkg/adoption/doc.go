// Package adoption reads from ManifestWorks what another hub rolled out: before this hub knew the object, or while another hub ran in its
// place (R6).
//
// It is pure. Package lifecycle makes revisions of what it finds, and package rollout labels the works (lifecycle/adopt.go,
// rollout/adopt.go).
package adoption
