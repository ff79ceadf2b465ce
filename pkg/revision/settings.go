package revision

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Settings are the fields of a spec that an older CRD and OCM's own CRD do not have, as recorded on a revision.
type Settings struct {
	// Fields are their values by path.
	Fields map[string]string `json:"fields,omitempty"`
	// Lost is the generation in which the hub found that an older CRD had dropped fields; 0 for none.
	Lost int64 `json:"lost,omitempty"`
}

const (
	preservePath = "spec.preserveResourcesOnDeletion"
	prunePath    = "spec.pruneStrategy"
	windowPath   = "spec.rollbackWindow"
	abortedPath  = "spec.abortedRevisionPolicy"
	refPrefix    = "spec.placementRefs["
	failurePath  = "].rolloutStrategy.failureStrategy"
	skipPath     = "].rolloutStrategy.unavailableClusters"
	gatesPath    = "].rolloutStrategy.successGates"
)

// fieldsOf returns the fields that are set.
func fieldsOf(spec *workv1alpha1.ManifestWorkReplicaSetSpec) map[string]string {
	fields := map[string]string{}
	if ptr.Deref(spec.PreserveResourcesOnDeletion, false) {
		fields[preservePath] = "true"
	}
	if spec.PruneStrategy == workv1alpha1.PruneWhenAvailable {
		fields[prunePath] = string(spec.PruneStrategy)
	}
	if window, err := json.Marshal(spec.RollbackWindow); spec.RollbackWindow != nil && err == nil {
		fields[windowPath] = string(window)
	}
	if policy := spec.AbortedRevisionPolicy; policy != "" && policy != workv1alpha1.RetryAborted {
		fields[abortedPath] = string(policy)
	}
	for i := range spec.PlacementRefs {
		ref := &spec.PlacementRefs[i]
		if ref.RolloutStrategy.FailureStrategy != "" {
			fields[refPrefix+ref.Name+failurePath] = string(ref.RolloutStrategy.FailureStrategy)
		}
		if ref.RolloutStrategy.SkipsUnavailable() {
			fields[refPrefix+ref.Name+skipPath] = string(workv1alpha1.SkipUnavailable)
		}
		if gates := ref.RolloutStrategy.SuccessGates; len(gates) > 0 {
			types := make([]string, len(gates))
			for j := range gates {
				types[j] = gates[j].ConditionType
			}
			fields[refPrefix+ref.Name+gatesPath] = strings.Join(types, ", ")
		}
	}
	return fields
}

// missing returns the recorded fields that a spec does not have, as "path (value)", in order. Fields of a removed placementRef are not
// missing.
func (s *Settings) missing(spec *workv1alpha1.ManifestWorkReplicaSetSpec) []string {
	now, refs := fieldsOf(spec), map[string]bool{}
	for i := range spec.PlacementRefs {
		refs[spec.PlacementRefs[i].Name] = true
	}
	var missing []string
	for _, path := range slices.Sorted(maps.Keys(s.Fields)) {
		ref, ofRef := strings.CutPrefix(path, refPrefix)
		ref, ofFailure := strings.CutSuffix(ref, failurePath)
		ref, ofSkip := strings.CutSuffix(ref, skipPath)
		ref, ofGates := strings.CutSuffix(ref, gatesPath)
		known := slices.Contains([]string{preservePath, prunePath, windowPath, abortedPath}, path) ||
			ofRef && (ofFailure || ofSkip || ofGates) && refs[ref]
		if _, set := now[path]; known && !set {
			missing = append(missing, path+" ("+s.Fields[path]+")")
		}
	}
	return missing
}

// SettingsNote holds the settings to record on a revision of an owner, and the fields that the owner lost.
type SettingsNote struct {
	// Settings are the fields to record; nil if there are none.
	Settings *Settings
	// Lost are the fields that an older CRD dropped. Found is true if the loss was not known before.
	Lost  []string
	Found bool
}

// NoteSettings compares the spec of an owner with the settings recorded on its newest revision. A missing field was removed on purpose,
// unless olderCRD reports that an older CRD is, or was, in place. A loss is recorded until the field is set again, or the spec changes in
// another way under this hub's CRD.
func NoteSettings(owner *workv1alpha1.ManifestWorkReplicaSet, newest *Revision, olderCRD bool) SettingsNote {
	known := Settings{}
	if newest != nil && newest.Settings != nil {
		known = *newest.Settings
	}
	missing := known.missing(&owner.Spec)
	switch {
	case len(missing) == 0:
	case known.Lost == 0 && olderCRD:
		return SettingsNote{Settings: known.lostIn(owner.Generation), Lost: missing, Found: true}
	case known.Lost > 0 && (olderCRD || owner.Generation <= known.Lost):
		return SettingsNote{Settings: known.lostIn(known.Lost), Lost: missing}
	}
	now := Settings{Fields: fieldsOf(&owner.Spec)}
	return SettingsNote{Settings: now.lostIn(0)}
}

// lostIn returns the same fields with the generation in which they were lost, or 0 if they were not lost; nil if there are no fields.
func (s *Settings) lostIn(generation int64) *Settings {
	if len(s.Fields) == 0 {
		return nil
	}
	return &Settings{Fields: s.Fields, Lost: generation}
}

// OlderCRDWas reports whether an object lacks a field that every status of this hub has: an API server with an older CRD has written it
// since.
func OlderCRDWas(status *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	return status.State == "" && len(status.Conditions) > 0
}
