package placement

import "time"

// Hold keeps a cluster from new revisions.
type Hold struct {
	// Reason is why the cluster is held; empty if a window is closed.
	Reason string
	// Opens is the time at which the next window opens; zero for a hold, which has no end.
	Opens time.Time
}

// Holds reports whether the hold has not ended.
func (h Hold) Holds(now time.Time) bool { return h.Opens.IsZero() || now.Before(h.Opens) }
