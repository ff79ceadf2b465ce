package plugin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/manifest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/window"
)

// simulateOptions holds the flags of the simulate command.
type simulateOptions struct {
	file             string
	output           output
	clusters, groups []string
	windows          []string
	apply, budget    time.Duration
	spread           float64
	slow             string
	slowFactor       float64
	fail, hang       string
	offline, held    string
	first            bool
	runs             int
	seed             uint64
}

// defaultClusters is the number of clusters of a Placement.
const defaultClusters = "100"

func newSimulate(o *options) *cobra.Command {
	flags := &simulateOptions{}
	cmd := &cobra.Command{
		Use: "simulate -f FILE", GroupID: groupAhead, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Simulate the rollout of a manifest many times, and show what would change the result",
		Long: "Simulate the rollout of a manifest many times, without a hub.\n" +
			"The hub's own decision code runs against a simulated fleet and clock. The result shows how long the rollout takes, and how many\n" +
			"clusters run a bad revision before an abort. Then one change to the manifest is tried at a time, on the same clusters.\n" +
			"The same seed and number of runs give the same result.",
		Example: `  # 1,000 clusters, 5% of which fail
  kubectl mwrs simulate -f web.yaml --clusters 1000 --fail 5%

  # Decision groups: 5 clusters as a canary, 20, and the rest
  kubectl mwrs simulate -f web.yaml --clusters 1000 --groups canary:5,20,rest

  # Two Placements of different sizes
  kubectl mwrs simulate -f web.yaml --clusters test=20 --clusters production=500`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.simulate(cmd.Context(), flags) },
	}
	f := cmd.Flags()
	f.StringVarP(&flags.file, "filename", "f", "", "File with the ManifestWorkReplicaSet; - reads from standard input")
	flags.output.addFlag(cmd)
	f.StringArrayVar(&flags.clusters, "clusters", nil,
		"Number of clusters of each Placement, or NAME=NUMBER for one Placement (default "+defaultClusters+")")
	f.StringArrayVar(&flags.groups, "groups", nil,
		"Sizes of the decision groups, such as 5,20,rest or canary:5,rest, or NAME=SIZES for one Placement")
	f.DurationVar(&flags.apply, "apply", 0,
		"Median time until a cluster succeeds (default 1m, or a tenth of the shortest progressDeadline if that is less)")
	f.Float64Var(&flags.spread, "spread", 0.5, "Spread of these times: standard deviation of their logarithm; 0 for none")
	f.StringVar(&flags.slow, "slow", "5%", "Share of slow clusters")
	f.Float64Var(&flags.slowFactor, "slow-factor", 5, "How many times as long a slow cluster needs")
	f.StringVar(&flags.fail, "fail", "2%", "Share of clusters on which the workload breaks; they report Degraded if a rule requires it")
	f.StringVar(&flags.hang, "hang", "0%", "Share of clusters that report neither success nor Degraded")
	f.StringVar(&flags.offline, "offline", "0%", "Share of clusters whose agents are offline")
	f.StringVar(&flags.held, "held", "0%", "Share of clusters on hold")
	f.StringArrayVar(&flags.windows, "window", nil, "Windows of all clusters, such as \"Europe/Berlin Mon-Fri 22:00-05:00\", "+
		"or NAME=WINDOWS for one Placement; the rollout begins now")
	f.BoolVar(&flags.first, "first", false, "Simulate the first rollout: there is no revision to return to")
	f.IntVar(&flags.runs, "runs", 200, "Maximum number of runs")
	f.DurationVar(&flags.budget, "budget", 10*time.Second, "Time for all runs: half of it for the manifest, half for the changes")
	f.Uint64Var(&flags.seed, "seed", 1, "Seed of the random numbers")
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

// simulation is the result of the simulate command.
type simulation struct {
	Object string           `json:"object"`
	Seed   uint64           `json:"seed"`
	Took   string           `json:"took"`
	Notes  []string         `json:"notes,omitempty"`
	Result forecast.Summary `json:"result"`
	// Changes are the results of the manifest with one change at a time.
	Changes []change `json:"changes"`
}

// change is the result with one change, and the result of the same runs without it.
type change struct {
	Change  string           `json:"change"`
	Result  forecast.Summary `json:"result"`
	Without forecast.Summary `json:"without"`
}

func (o *options) simulate(ctx context.Context, flags *simulateOptions) error {
	switch {
	case flags.runs < 1 || flags.runs > maxRuns:
		return fmt.Errorf("--runs is %d: use a number from 1 to %d", flags.runs, maxRuns)
	case flags.budget <= 0:
		return fmt.Errorf("--budget is %s: use a duration above zero, such as 10s", flags.budget)
	}
	set, err := o.manifest(flags.file)
	if err != nil {
		return err
	}
	in, err := flags.input(set, o.now())
	if err != nil {
		return err
	}
	if err := in.Validate(); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // A run creates a lot of short-lived garbage.
	found, err := o.runAll(ctx, in, flags)
	if err != nil {
		return err
	}
	if flags.output.isSet() {
		return flags.output.print(o, found)
	}
	return o.printSimulation(in, found)
}

// runAll plays the runs of the manifest and of each change, within the budget. A run that the end of the budget interrupts does not count.
func (o *options) runAll(ctx context.Context, in *forecast.Input, flags *simulateOptions) (*simulation, error) {
	begin, workers := o.now(), runtime.GOMAXPROCS(0)
	until := func(end time.Time) func() bool { return func() bool { return ctx.Err() == nil && o.now().Before(end) } }
	alive := until(begin.Add(flags.budget))
	base, err := forecast.Runs(in, flags.runs, workers, until(begin.Add(flags.budget/2)), alive)
	if err := cmp.Or(context.Cause(ctx), err); err != nil {
		return nil, err
	}
	set := in.ReplicaSet
	found := &simulation{
		Object: set.Namespace + "/" + set.Name, Seed: flags.seed, Notes: notesOf(in), Result: forecast.Summarize(base), Changes: []change{},
	}
	variants := forecast.Variants(in)
	for i, variant := range variants {
		left := flags.budget - o.now().Sub(begin)
		end := o.now().Add(left / time.Duration(len(variants)-i))
		results, err := forecast.Runs(variant.Input, len(base), workers, until(end), alive)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && !alive():
			continue // There was no time for this change.
		case err != nil:
			return nil, err
		}
		found.Changes = append(found.Changes, change{
			Change: variant.Change, Result: forecast.Summarize(results), Without: forecast.Summarize(base[:len(results)]),
		})
	}
	found.Took = o.now().Sub(begin).Round(100 * time.Millisecond).String()
	return found, nil
}

// notesOf returns notes about results that the template hides from the hub, a deadline that healthy clusters miss, and the assumptions
// about gates.
func notesOf(in *forecast.Input) (notes []string) {
	switch {
	case in.Rules.Progressing, in.AllGated():
	case in.Rules.Degraded:
		notes = append(notes, "the template has no condition rule for Progressing: a cluster that hangs counts as a success")
	default:
		notes = append(notes, "the template has no condition rules: a cluster succeeds as soon as its objects exist, "+
			"even if the workload is broken")
	}
	deadline, name := forecast.ShortestDeadline(in.ReplicaSet.Spec.PlacementRefs)
	if deadline > 0 && deadline <= in.Agents.Apply && in.Rules.Progressing {
		notes = append(notes, fmt.Sprintf("half of the healthy clusters fail, too: they need longer than the progressDeadline of %s in "+
			"placement %s; use a smaller --apply than %s", deadline, name, in.Agents.Apply))
	}
	return append(notes, gateNotes(in.ReplicaSet.Spec.PlacementRefs)...)
}

// gateNotes returns notes about the assumptions about approvals and success gates, whose times cannot be known.
func gateNotes(refs []workv1alpha1.LocalPlacementReference) (notes []string) {
	var groups, gates []string
	for i := range refs {
		strategy := &refs[i].RolloutStrategy
		for g := range strategy.Groups {
			if group := &strategy.Groups[g]; group.Approval == workv1alpha1.ApprovalRequired {
				groups = append(groups, plain.Line(group.Label()))
			}
		}
		for g := range strategy.SuccessGates {
			if gate := &strategy.SuccessGates[g]; gate.Enforces() && !slices.Contains(gates, gate.ConditionType) {
				gates = append(gates, gate.ConditionType)
			}
		}
	}
	if len(groups) > 0 {
		notes = append(notes, "each group that needs an approval is approved at once ("+strings.Join(groups, ", ")+
			"): add the time that users need")
	}
	for _, gate := range gates {
		notes = append(notes, "success gate "+plain.Line(gate)+" is True when a healthy cluster succeeds, and never if the cluster "+
			"fails or hangs: the simulation can't evaluate the gate itself")
	}
	return notes
}

// maxRuns bounds the memory of the results.
const maxRuns = 100_000

// defaultApply is the default of --apply. The default is at most the shortest deadline divided by deadlineShare.
const (
	defaultApply  = time.Minute
	deadlineShare = 10
)

// applyTime returns the value of --apply, or its default.
func (f *simulateOptions) applyTime(refs []workv1alpha1.LocalPlacementReference) time.Duration {
	if f.apply != 0 {
		return f.apply
	}
	if deadline, _ := forecast.ShortestDeadline(refs); deadline > 0 {
		return max(min(defaultApply, deadline/deadlineShare), time.Millisecond)
	}
	return defaultApply
}

// manifest reads the only ManifestWorkReplicaSet of a file.
func (o *options) manifest(file string) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	switch sets, err := o.setsOf(file); {
	case err != nil:
		return nil, err
	case len(sets) > 1:
		return nil, fmt.Errorf("%s: there are several ManifestWorkReplicaSets in the file: use a file with one of them", file)
	case len(sets) == 1:
		return sets[0], nil
	}
	return nil, fmt.Errorf("%s: there is no ManifestWorkReplicaSet in the file", file)
}

// setsOf reads the ManifestWorkReplicaSets of a file.
func (o *options) setsOf(file string) (sets []*workv1alpha1.ManifestWorkReplicaSet, err error) {
	reader, err := o.open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	for found, err := range manifest.Sets(reader) {
		var set *workv1alpha1.ManifestWorkReplicaSet
		if err == nil {
			set, err = found.Decoded()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// open opens a file, or standard input for -.
func (o *options) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(o.In), nil
	}
	return os.Open(file)
}

// input returns the rollout that the flags describe.
func (f *simulateOptions) input(set *workv1alpha1.ManifestWorkReplicaSet, begin time.Time) (*forecast.Input, error) {
	in := &forecast.Input{
		Begin: begin.UTC().Truncate(time.Second), Windows: map[string]window.Windows{},
		ReplicaSet: set, First: f.first, Seed: f.seed, Rules: forecast.RulesOf(&set.Spec.ManifestWorkTemplate),
		Agents: forecast.Agents{Apply: f.applyTime(set.Spec.PlacementRefs), Spread: f.spread, SlowFactor: f.slowFactor},
	}
	for _, share := range []struct {
		flag, value string
		to          *float64
	}{
		{"--slow", f.slow, &in.Agents.Slow}, {"--fail", f.fail, &in.Agents.Fail}, {"--hang", f.hang, &in.Agents.Hang},
		{"--offline", f.offline, &in.Agents.Offline}, {"--held", f.held, &in.Agents.Held},
	} {
		number, isPercentage := strings.CutSuffix(share.value, "%")
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !isPercentage || math.IsNaN(percent) {
			return nil, fmt.Errorf("%s %q is not a percentage: use a value such as 2%%", share.flag, share.value)
		}
		*share.to = percent / 100
	}
	windows, err := byPlacement(set, "--window", f.windows, "")
	if err != nil {
		return nil, err
	}
	for name, text := range windows {
		if text == "" {
			continue
		}
		if in.Windows[name], err = window.Parse(text); err != nil {
			return nil, fmt.Errorf("--window %q: %w", text, err)
		}
	}
	in.Placements, err = f.placements(set)
	return in, err
}

// placements returns the simulated clusters of each Placement.
func (f *simulateOptions) placements(set *workv1alpha1.ManifestWorkReplicaSet) (map[string]*placement.Placement, error) {
	sizes, err := byPlacement(set, "--clusters", f.clusters, defaultClusters)
	if err != nil {
		return nil, err
	}
	parts, err := byPlacement(set, "--groups", f.groups, "rest")
	if err != nil {
		return nil, err
	}
	placements := map[string]*placement.Placement{}
	for name, text := range sizes {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 || size > forecast.MaxClusters {
			return nil, fmt.Errorf("--clusters %q: use a number from 1 to %d for Placement %q, such as 100 or %s=100",
				text, forecast.MaxClusters, name, name)
		}
		groups, err := groupsOf(parts[name], size)
		if err != nil {
			return nil, err
		}
		placements[name] = forecast.Clusters(name, groups...)
	}
	return placements, nil
}

// byPlacement returns the value of a flag for each Placement: the value from NAME=VALUE, or else the last value without a name, or else the
// default.
func byPlacement(set *workv1alpha1.ManifestWorkReplicaSet, flag string, values []string, otherwise string) (map[string]string, error) {
	named := map[string]string{}
	for _, value := range values {
		name, text, isNamed := strings.Cut(value, "=")
		if !isNamed {
			otherwise = value
			continue
		}
		if !slices.ContainsFunc(set.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool { return ref.Name == name }) {
			return nil, fmt.Errorf("%s %q: the manifest has no placementRef of that name; use a name from spec.placementRefs", flag, value)
		}
		named[name] = text
	}
	for i := range set.Spec.PlacementRefs {
		name := set.Spec.PlacementRefs[i].Name
		if _, set := named[name]; !set {
			named[name] = otherwise
		}
	}
	return named, nil
}

// groupsOf returns the decision groups of a Placement with some clusters.
func groupsOf(text string, total int) ([]forecast.Group, error) {
	var groups []forecast.Group
	rest, left := -1, total
	for i, part := range strings.Split(text, ",") {
		name, size, named := strings.Cut(strings.TrimSpace(part), ":")
		if !named {
			name, size = "", name
		}
		groups = append(groups, forecast.Group{Name: name})
		if size == "rest" && rest < 0 {
			rest = i
			continue
		}
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--groups %q: %q is not a size: use numbers above zero and rest once, such as 5,20,rest or canary:5,rest",
				text, part)
		}
		groups[i].Size = n
		if left -= n; left < 0 {
			return nil, fmt.Errorf("--groups %q has more clusters than the Placement: use at most %d, or a larger --clusters", text, total)
		}
	}
	switch {
	case rest >= 0 && left == 0:
		return nil, fmt.Errorf("--groups %q leaves no cluster for rest: use smaller groups, or a --clusters above %d", text, total)
	case rest >= 0:
		groups[rest].Size = left
	case left > 0:
		return nil, fmt.Errorf("--groups %q leaves %d of %d clusters without a group: add rest", text, left, total)
	}
	return groups, nil
}
