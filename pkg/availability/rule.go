package availability

import (
	"fmt"
	"time"

	clusterv1 "open-cluster-management.io/api/cluster/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/window"
)

// Rule determines when rollouts may start on a ManagedCluster. The zero Rule always allows them.
type Rule struct {
	// Held is true if the cluster is on hold; Hold is the reason. Windowed is true if rollouts may start only in Windows.
	Held, Windowed bool
	Hold, Windows  string
}

// ruleOf returns the rule of a ManagedCluster. An annotation takes precedence over the ClusterClaim with the same meaning.
func ruleOf(cluster *clusterv1.ManagedCluster) (r Rule) {
	r.Hold, r.Held = valueOf(cluster, workv1alpha1.AnnotationHold, workv1alpha1.ClaimHold)
	r.Windows, r.Windowed = valueOf(cluster, workv1alpha1.AnnotationWindow, workv1alpha1.ClaimWindow)
	return r
}

// valueOf returns the value of an annotation or, without it, of a ClusterClaim. It cuts off a value that is too long, but leaves one byte
// more than allowed, so that the value is still recognized as too long.
func valueOf(cluster *clusterv1.ManagedCluster, annotation, claim string) (value string, exists bool) {
	value, exists = cluster.Annotations[annotation]
	for i := range cluster.Status.ClusterClaims {
		if c := &cluster.Status.ClusterClaims[i]; !exists && c.Name == claim {
			value, exists = c.Value, true
		}
	}
	return value[:min(len(value), window.MaxText+1)], exists
}

// trimRule copies the rule of a ManagedCluster to another ManagedCluster, as annotations.
func trimRule(to, from *clusterv1.ManagedCluster) {
	rule := ruleOf(from)
	set := func(exists bool, annotation, value string) {
		if exists {
			if to.Annotations == nil {
				to.Annotations = map[string]string{}
			}
			to.Annotations[annotation] = value
		}
	}
	set(rule.Held, workv1alpha1.AnnotationHold, rule.Hold)
	set(rule.Windowed, workv1alpha1.AnnotationWindow, rule.Windows)
}

// maxReason is the maximum length of the reason for a hold in messages, in bytes.
const maxReason = 256

// At returns the hold of a cluster at a time, and the time at which the hold changes by itself; zero if it never does.
// Windows that can't be read count as a hold.
func (r Rule) At(now time.Time) (hold placement.Hold, held bool, changes time.Time) {
	if r.Held {
		reason := revision.Shortened(plain.Line(r.Hold), maxReason)
		if reason == "" {
			reason = "no reason given"
		}
		return placement.Hold{Reason: reason}, true, time.Time{}
	}
	if !r.Windowed {
		return placement.Hold{}, false, time.Time{}
	}
	windows, err := window.Parse(r.Windows)
	if err != nil {
		return placement.Hold{Reason: revision.Shortened(fmt.Sprintf("its windows can't be read: %v", err), maxReason)}, true, time.Time{}
	}
	open, changes := windows.At(now)
	if open {
		return placement.Hold{}, false, changes
	}
	return placement.Hold{Opens: changes.UTC()}, true, changes
}
