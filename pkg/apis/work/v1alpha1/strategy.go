package v1alpha1

// SkipsUnavailable reports whether rollouts pass over unavailable clusters.
func (s *RolloutStrategy) SkipsUnavailable() bool { return s.UnavailableClusters == SkipUnavailable }

// SkipsUnavailable reports whether a placementRef passes over unavailable clusters.
func (s *ManifestWorkReplicaSetSpec) SkipsUnavailable() bool {
	for i := range s.PlacementRefs {
		if s.PlacementRefs[i].RolloutStrategy.SkipsUnavailable() {
			return true
		}
	}
	return false
}
