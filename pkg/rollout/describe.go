package rollout

import (
	"fmt"
	"strings"
)

// describeFailed says which clusters failed, in which way, and how many failures are tolerated.
func (f *fleet) describeFailed() string {
	var late, looping []string
	mandatory := false
	for i := range f.members {
		m := &f.members[i]
		switch {
		case m.phase != PhaseFailed:
			continue
		case m.looping:
			looping = append(looping, m.cluster)
		default:
			late = append(late, m.cluster)
		}
		mandatory = mandatory || f.strategy.isMandatory(&f.groups[m.group])
	}
	allowed := "maxFailures is " + f.strategy.maxFailures.String()
	if mandatory {
		allowed = "a mandatory decision group tolerates no failure"
	}
	var parts []string
	if len(late) > 0 {
		parts = append(parts, fmt.Sprintf("%s: not successful within progressDeadline %s%s", f.failed(late), f.strategy.deadline, f.describeRefused()))
	}
	if len(looping) > 0 {
		parts = append(parts, fmt.Sprintf("%s: not settled within %s", f.failed(looping), 2*(f.strategy.deadline+f.strategy.minSuccessTime)))
	}
	return strings.Join(append(parts, allowed), ", ")
}

// failed counts clusters that failed, of all that count for the ref, and names the first of them.
func (f *fleet) failed(clusters []string) string {
	all := "1 cluster"
	if len(f.members) != 1 {
		all = fmt.Sprintf("%d clusters", len(f.members))
	}
	return fmt.Sprintf("%d of %s failed (%s)", len(clusters), all, first(clusters))
}

// namesShown bounds the clusters that a message names: a message is for a person, and a condition's may hold 32 KiB.
const namesShown = 5

// Names counts clusters and names the first of them.
func Names(clusters []string) string {
	if len(clusters) == 1 {
		return "1 cluster (" + clusters[0] + ")"
	}
	return fmt.Sprintf("%d clusters (%s)", len(clusters), first(clusters))
}

// first names the first of some clusters.
func first(clusters []string) string {
	if len(clusters) <= namesShown {
		return strings.Join(clusters, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(clusters[:namesShown], ", "), len(clusters)-namesShown)
}
