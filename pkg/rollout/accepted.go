package rollout

import (
	"strconv"
	"strings"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// storedOtherwise is why a work gets AnnotationAccepted.
const storedOtherwise = "what the API server made of it is recorded"

// AskedFor returns the value of AnnotationAccepted that a write of a spec puts on a work: the requested spec, and the generation that the
// write makes. If the hub dies before it sees the stored spec, its successor has this information.
func AskedFor(asked revision.Digest, generation int64) string {
	return string(asked) + "/" + strconv.FormatInt(generation, 10)
}

// Accepted returns the value of AnnotationAccepted if the API server stored a different spec than the hub requested: the SHA-256 digests of
// both. It is empty for a work that was stored as requested.
func (w *Work) Accepted() string {
	if w.AcceptedAs == "" || w.Digest == "" || w.AcceptedAs == w.Digest {
		return ""
	}
	return string(w.AcceptedAs) + "/" + string(w.Digest)
}

// Noted returns the digest of the spec that a hub requested, if the work's annotation marks its current spec as the API server's version of
// that; empty otherwise. A spec that somebody edits has another digest and another generation. A write that does not change the stored spec
// makes no new generation. A user who may edit a work can also forge its annotations. That changes only the hub's view of one cluster, like
// an agent's false report.
func (w *Work) Noted() (asked revision.Digest, how Note) {
	value := w.Object.Annotations[workv1alpha1.AnnotationAccepted]
	at := strings.LastIndexByte(value, '/')
	if at <= 0 || w.Digest == "" {
		return "", NoNote
	}
	asked, stored := revision.Digest(value[:at]), value[at+1:]
	if stored == string(w.Digest) {
		return asked, NotedContent
	}
	generation, err := strconv.ParseInt(stored, 10, 64)
	if spec := w.SpecGeneration(); err == nil && (spec == generation || spec == generation-1) {
		return asked, NotedGeneration
	}
	return "", NoNote
}

// Note is the meaning of AnnotationAccepted for a work.
type Note string

// The notes.
const (
	// NoNote means that it does not apply to the current spec of the work.
	NoNote Note = ""
	// NotedContent means that it has the digest of the work's current spec.
	NotedContent Note = "Content"
	// NotedGeneration means that it has the generation of the work.
	NotedGeneration Note = "Generation"
)
