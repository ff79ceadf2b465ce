package forecast

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/window"
)

const (
	// Settle is the time for which the hub must see a success before that success counts: the default of the hub's flag --success-settle.
	Settle = 3 * time.Second
	// Report is the time that an agent takes to report that the objects of a revision exist.
	Report = 10 * time.Second
	// MaxClusters bounds the size of a simulated fleet.
	MaxClusters = 100_000
)

// Input is a rollout to simulate.
type Input struct {
	// ReplicaSet has the template, the placementRefs and their strategies. It must not be changed.
	ReplicaSet *workv1alpha1.ManifestWorkReplicaSet
	// Placements are the selected clusters of each Placement, by name. No cluster is in two Placements.
	Placements map[string]*placement.Placement
	// Windows are the windows of all clusters of a Placement, by its name; Begin is the time at which the rollout begins.
	Windows map[string]window.Windows
	Begin   time.Time
	// First is true for a first rollout: no cluster has an older revision.
	First  bool
	Agents Agents
	Rules  Rules
	// Resolution is the interval at which the simulated hub reads the reports. Zero means a third of Agents.Apply, or exact times if
	// Agents.Spread is zero. Each report moves to the nearest read, so the mean does not change.
	Resolution time.Duration
	// Settle is the hub's --success-settle; zero for its default.
	Settle time.Duration
	// Seed selects the random numbers.
	Seed uint64
}

// Rules are the condition rules in the template.
type Rules struct {
	// Progressing is true if a rule makes the agents report Progressing: then a cluster succeeds when its workload does. Otherwise a cluster
	// succeeds as soon as its objects exist.
	Progressing bool
	// Degraded is true if a rule makes the agents report Degraded.
	Degraded bool
}

// RulesOf returns the rules in a template.
func RulesOf(template *workv1.ManifestWorkSpec) Rules {
	return Rules{Progressing: HasRule(template, workv1.ManifestProgressing), Degraded: revision.ReportsDegraded(template)}
}

// HasRule reports whether a template has a rule for a condition.
func HasRule(template *workv1.ManifestWorkSpec, condition string) bool {
	return slices.ContainsFunc(template.ManifestConfigs, func(config workv1.ManifestConfigOption) bool {
		return slices.ContainsFunc(config.ConditionRules, func(rule workv1.ConditionRule) bool { return rule.Condition == condition })
	})
}

// AllGated reports whether every cluster has a success gate.
func (in *Input) AllGated() bool {
	for i := range in.ReplicaSet.Spec.PlacementRefs {
		ref := &in.ReplicaSet.Spec.PlacementRefs[i]
		for g := range in.Placements[ref.Name].Groups {
			if !gated(&ref.RolloutStrategy, &in.Placements[ref.Name].Groups[g]) {
				return false
			}
		}
	}
	return true
}

// gated reports whether the clusters of a decision group have a success gate that is enforced.
func gated(strategy *workv1alpha1.RolloutStrategy, group *placement.Group) bool {
	s := placement.Strategy{Gates: strategy.SuccessGates}
	return len(s.GatesOf(group, true)) > 0
}

// Agents is the model of the clusters and their agents. Shares are between 0 and 1.
type Agents struct {
	// Apply is the median time from the write of a revision to the report of its success. The times are log-normal.
	Apply time.Duration
	// Spread is the standard deviation of the logarithm of these times: about two thirds of the clusters are within a factor of e^Spread of
	// the median. Zero gives each cluster the same time.
	Spread float64
	// Slow is the share of clusters that need SlowFactor times as long.
	Slow       float64
	SlowFactor float64
	// Fail is the share of clusters on which the new revision breaks the workload. They report Degraded if the template has a rule for it,
	// and otherwise no success.
	Fail float64
	// Hang is the share of clusters on which the new revision neither succeeds nor degrades.
	Hang float64
	// Offline is the share of clusters whose agents report nothing and apply nothing.
	Offline float64
	// Held is the share of clusters on hold.
	Held float64
	// Fates sets the fate of single clusters, by name. The shares do not apply to these clusters.
	Fates map[string]Fate
}

// Validate returns an error if the input cannot be simulated. The error names the field and the remedy.
func (in *Input) Validate() error {
	if err := in.Agents.validate(); err != nil {
		return err
	}
	refs := in.ReplicaSet.Spec.PlacementRefs
	if len(refs) == 0 {
		return errors.New("spec.placementRefs is empty: add at least one Placement")
	}
	if len(refs) > workv1alpha1.MaxPlacementRefs {
		return fmt.Errorf("spec.placementRefs has %d entries: the hub uses at most %d", len(refs), workv1alpha1.MaxPlacementRefs)
	}
	seen, total := map[string]string{}, 0
	for i := range refs {
		path := field.NewPath("spec", "placementRefs").Index(i)
		if errs := placement.ValidateStrategy(path.Child("rolloutStrategy"), &refs[i].RolloutStrategy); len(errs) > 0 {
			return errs.ToAggregate()
		}
		if config := ConfigOf(&refs[i].RolloutStrategy); config != nil && config.MinSuccessTime.Duration > longest {
			return fmt.Errorf("%s.rolloutStrategy: minSuccessTime is %s, and the simulation ends after %s: use a shorter one",
				path, config.MinSuccessTime.Duration, longest)
		}
		placement := in.Placements[refs[i].Name]
		if placement == nil || placement.Selected == 0 {
			return fmt.Errorf("%s.name: no clusters are given for Placement %q", path, refs[i].Name)
		}
		if err := onlyIn(refs[i].Name, placement, seen); err != nil {
			return err
		}
		if !firstRef(refs, i) {
			continue // The first placementRef has all clusters.
		}
		if total += placement.Selected; total > MaxClusters {
			return fmt.Errorf("the fleet has more than %d clusters: simulate fewer", MaxClusters)
		}
		if err := groupsExist(path, &refs[i].RolloutStrategy, placement); err != nil {
			return err
		}
	}
	return nil
}

// firstRef reports whether no earlier placementRef names the same Placement.
func firstRef(refs []workv1alpha1.LocalPlacementReference, i int) bool {
	return !slices.ContainsFunc(refs[:i], func(other workv1alpha1.LocalPlacementReference) bool { return other.Name == refs[i].Name })
}

// onlyIn returns an error if a cluster of a Placement is also in another Placement.
func onlyIn(name string, placement *placement.Placement, seen map[string]string) error {
	for i := range placement.Groups {
		for _, cluster := range placement.Groups[i].Clusters {
			if other, twice := seen[cluster]; twice && other != name {
				return fmt.Errorf("cluster %s is in the Placements %s and %s: give each cluster to one of them", cluster, other, name)
			}
			seen[cluster] = name
		}
	}
	return nil
}

// groupsExist returns an error if the fleet lacks a mandatory or listed group of a strategy.
func groupsExist(path *field.Path, strategy *workv1alpha1.RolloutStrategy, placement *placement.Placement) error {
	if groups := mandatoryGroups(strategy); groups != nil {
		for _, wanted := range groups.MandatoryDecisionGroups {
			if err := groupExists(path, placement, wanted.GroupName, wanted.GroupIndex, "is mandatory"); err != nil {
				return err
			}
		}
	}
	for _, wanted := range strategy.Groups {
		if err := groupExists(path, placement, wanted.GroupName, ptr.Deref(wanted.GroupIndex, 0), "rolloutStrategy.groups lists"); err != nil {
			return err
		}
	}
	return nil
}

func groupExists(path *field.Path, placement *placement.Placement, name string, index int32, why string) error {
	for i := range placement.Groups {
		if g := &placement.Groups[i]; name != "" && g.Name == name || name == "" && g.Index == index {
			return nil
		}
	}
	if name != "" {
		return fmt.Errorf("%s: the fleet has no decision group %q, which %s: add it to --groups as %s:NUMBER",
			path.Child("rolloutStrategy"), name, why, name)
	}
	return fmt.Errorf("%s: the fleet has no decision group with index %d, which %s: name at least %d groups in --groups",
		path.Child("rolloutStrategy"), index, why, index+1)
}

func (a *Agents) validate() error {
	switch {
	case a.Apply <= 0:
		return fmt.Errorf("--apply is %s: use a duration above zero, such as 1m", a.Apply)
	case !(a.Spread >= 0 && a.Spread <= 3):
		return fmt.Errorf("--spread is %g: use a number from 0 to 3, such as 0.5", a.Spread)
	case !(a.SlowFactor >= 1 && a.SlowFactor <= 1000):
		return fmt.Errorf("--slow-factor is %g: use a number from 1 to 1000, such as 5", a.SlowFactor)
	}
	sum := 0.0
	for _, share := range []struct {
		flag  string
		value float64
	}{{"--slow", a.Slow}, {"--fail", a.Fail}, {"--hang", a.Hang}, {"--offline", a.Offline}, {"--held", a.Held}} {
		if !(share.value >= 0 && share.value <= 1) {
			return fmt.Errorf("%s is %g%%: use a share from 0%% to 100%%", share.flag, share.value*100)
		}
		sum += share.value
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("--slow, --fail, --hang, --offline and --held add up to %.4g%%: each cluster counts only once, so use at most 100%%",
			sum*100)
	}
	return nil
}
