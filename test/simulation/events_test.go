package simulation

import (
	"fmt"
	"maps"
	"slices"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// counts returns the number of events of each reason.
func counts(events []string) map[string]int {
	n := map[string]int{}
	for _, reason := range events {
		n[reason]++
	}
	return n
}

// checkEvents compares the events of a story in which one write failed with those of a story without faults: no event is repeated, and at
// most one is missing, about the write whose result was not known.
func checkEvents(calm, got []string, fault Fault) error {
	wanted, told := counts(calm), counts(got)
	missing := 0
	for _, reason := range slices.Sorted(maps.Keys(wanted)) {
		if told[reason] > wanted[reason] {
			return fmt.Errorf("%d events %s instead of %d", told[reason], reason, wanted[reason])
		}
		missing += wanted[reason] - told[reason]
	}
	for _, reason := range slices.Sorted(maps.Keys(told)) {
		if wanted[reason] == 0 {
			return fmt.Errorf("event %s, and none in a calm life", reason)
		}
	}
	if resumed := workv1alpha1.EventResumed; told[resumed] < wanted[resumed] {
		missing-- // The same status also records that the rollout of an edited template began.
	}
	unknown := fault == KilledAfter || fault == Lost
	if missing > 1 || (missing > 0 && !unknown) {
		return fmt.Errorf("events %v instead of %v", told, wanted)
	}
	return nil
}
