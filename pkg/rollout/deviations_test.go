package rollout_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	handler "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// deviation is a kind of case in which sdk-go's handler and this package give different answers. docs/concepts/rollout.md counts them.
type deviation struct {
	name     string
	applies  func(*rolloutCase) bool
	examples []example
}

// example is a case in which the answers are known to differ. If a release of sdk-go changes its answer, TestHandlerDeviations fails. Then
// remove the deviation, correct the page, and check whether this package can delegate more to the handler.
type example struct {
	ref      placement.Ref
	clusters []reported
	handler  string
	hub      string
}

// states reads clusters such as "c1 Progressing 10m, c2 ToApply, c3 Progressing undated, c4 Progressing 1m left".
func states(text string) []reported {
	statuses := map[string]handler.RolloutStatus{
		"absent": absent, "ToApply": handler.ToApply, "Progressing": handler.Progressing, "Succeeded": handler.Succeeded,
		"Failed": handler.Failed, "TimeOut": handler.TimeOut, "Skip": handler.Skip,
	}
	var all []reported
	for cluster := range strings.SplitSeq(text, ", ") {
		words := strings.Fields(cluster)
		r := reported{cluster: words[0], status: statuses[words[1]]}
		for _, word := range words[2:] {
			switch word {
			case "undated":
				r.undated = true
			case "left":
				r.left = true
			default:
				r.age, _ = time.ParseDuration(word)
			}
		}
		all = append(all, r)
	}
	return all
}

// numbered returns the names of clusters.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("c%02d", i)
	}
	return names
}

// limited is a ref with a deadline of 5 minutes.
func limited(options ...rt.RefOption) placement.Ref {
	return rt.Ref("p1", append(slices.Clone(options), rt.Deadline("5m"))...)
}

func (a answer) String() string {
	if a.Err {
		return "error"
	}
	var parts []string
	if len(a.Started) > 0 {
		parts = append(parts, "starts "+strings.Join(a.Started, " "))
	}
	if len(a.Failed) > 0 {
		parts = append(parts, "failed "+strings.Join(a.Failed, " "))
	}
	if a.TooMany {
		parts = append(parts, "too many")
	}
	return strings.Join(parts, "; ")
}

var deviations = []deviation{
	{"a cluster that is no longer selected", func(c *rolloutCase) bool { return c.any(func(r *reported) bool { return r.left }) }, []example{{
		ref: limited(rt.Progressive(1), rt.Clusters("c2")), clusters: states("c1 Progressing 1m left, c2 absent"),
		handler: "starts c2", hub: "",
	}}},
	{"a cluster without a transition time", func(c *rolloutCase) bool {
		return c.any(func(r *reported) bool {
			return r.undated && (c.timedOut(r) || c.onTheWay(r) || r.status == handler.Succeeded && c.soak() > 0)
		})
	}, []example{{
		ref: limited(rt.Progressive(1), rt.Clusters("c1", "c2")), clusters: states("c1 Progressing 1h undated, c2 absent"),
		handler: "", hub: "failed c1; too many",
	}}},
	{"a negative limit", func(c *rolloutCase) bool {
		return slices.ContainsFunc(c.sizes(), func(s intstr.IntOrString) bool { return s.Type == intstr.Int && s.IntVal < 0 })
	}, []example{
		{ref: limited(rt.Progressive(-1), rt.Clusters("c1", "c2")), handler: "starts c1 c2", hub: "error"},
		{ref: limited(rt.Progressive(1), rt.MaxFailures(-1), rt.Clusters("c1", "c2")), handler: "starts c1", hub: "error"},
	}},
	{"a limit that is not a number or percentage", func(c *rolloutCase) bool {
		return (c.ref.Strategy.Type == clusterv1alpha1.All || c.hasMandatory()) && slices.ContainsFunc(c.sizes(), func(s intstr.IntOrString) bool {
			return s.Type == intstr.String && !strings.HasSuffix(s.StrVal, "%")
		})
	}, []example{
		{ref: limited(rt.All(), rt.MaxFailures("3"), rt.Clusters("c1", "c2")), handler: "starts c1 c2", hub: "error"},
		{ref: limited(rt.Progressive("3"), rt.Mandatory("a"), rt.Group("a", "c1"), rt.Group("b", "c2")), handler: "starts c1", hub: "error"},
	}},
	{"percentages in floating point", roundsWrong, []example{{
		ref:     limited(rt.Progressive("28%"), rt.Clusters(numbered(25)...)),
		handler: "starts " + strings.Join(numbered(8), " "), hub: "starts " + strings.Join(numbered(7), " "),
	}}},
	{"decision group indices with a gap", func(c *rolloutCase) bool {
		groups := c.ref.Placement.Groups
		return slices.ContainsFunc(groups, func(g placement.Group) bool { return int(g.Index) >= len(groups) && len(g.Clusters) > 0 })
	}, []example{{
		ref:     limited(rt.PerGroup(), rt.GroupAt(0, "a", "c1"), rt.GroupAt(5, "f", "c2")),
		handler: "", hub: "starts c2", clusters: states("c1 Succeeded 1m, c2 absent"),
	}}},
	{"maxFailures with type All", func(c *rolloutCase) bool {
		return c.ref.Strategy.Type == clusterv1alpha1.All && c.tooMany()
	}, []example{{
		ref: limited(rt.All(), rt.Clusters("c1", "c2")), clusters: states("c1 Progressing 10m, c2 absent"),
		handler: "starts c2; failed c1", hub: "failed c1; too many",
	}}},
	{"maxFailures above the number of clusters", tolerantOfAll, []example{{
		ref: limited(rt.Progressive(1), rt.MaxFailures(20), rt.Clusters("c1", "c2")), clusters: states("c1 Progressing 10m, c2 absent"),
		handler: "failed c1; too many", hub: "starts c2; failed c1",
	}}},
	{"a TimeOut in a mandatory group", func(c *rolloutCase) bool {
		return c.any(func(r *reported) bool { return r.status == handler.TimeOut && c.isMandatory(r) })
	}, []example{{
		ref:      limited(rt.Progressive(1), rt.MaxFailures(1), rt.Mandatory("a"), rt.Group("a", "c1"), rt.Group("b", "c2")),
		clusters: states("c1 TimeOut 1h, c2 absent"), handler: "starts c2; failed c1", hub: "failed c1; too many",
	}}},
	{"the rest beside mandatory groups", func(c *rolloutCase) bool {
		return c.hasMandatory() && (c.any((*reported).waits) || c.tooMany()) &&
			c.any(func(r *reported) bool { return !c.isMandatory(r) && (c.onTheWay(r) || c.timedOut(r)) })
	}, []example{
		{
			ref:      limited(rt.Progressive(2), rt.Mandatory("a"), rt.Group("a", "c1"), rt.Group("b", "c2", "c3")),
			clusters: states("c1 Succeeded 1h, c2 Progressing 1m, c3 absent"), handler: "", hub: "starts c3",
		},
		{
			ref:      limited(rt.Progressive(1), rt.MaxFailures(1), rt.Mandatory("a"), rt.Group("a", "c1"), rt.Group("b", "c2", "c3")),
			clusters: states("c1 Succeeded 1h, c2 Progressing 10m, c3 absent"), handler: "failed c2", hub: "starts c3; failed c2",
		},
	}},
	{"clusters behind a full batch", behindFullBatch, []example{
		{
			ref:      limited(rt.Progressive(1), rt.Clusters("c1", "c2")),
			clusters: states("c1 ToApply, c2 Progressing 1m"), handler: "starts c1", hub: "",
		},
		{
			ref:      limited(rt.Progressive(1), rt.Clusters("c1", "c2")),
			clusters: states("c1 ToApply, c2 Progressing 10m"), handler: "starts c1", hub: "failed c2; too many",
		},
	}},
	{"clusters without a ManifestWork", func(c *rolloutCase) bool {
		first := slices.IndexFunc(c.clusters, func(r reported) bool { return r.status == absent })
		return c.ref.Strategy.Type == clusterv1alpha1.Progressive && first >= 0 &&
			slices.ContainsFunc(c.clusters[first:], func(r reported) bool { return r.status == handler.ToApply })
	}, []example{{
		ref: limited(rt.Progressive(1), rt.Clusters("c1", "c2")), clusters: states("c1 absent, c2 ToApply"), handler: "starts c2", hub: "starts c1",
	}}},
	{"a cluster that waits before the failures", func(c *rolloutCase) bool {
		return !c.grouped() && c.tooMany() && c.any(func(r *reported) bool { return r.status == handler.ToApply })
	}, []example{{
		ref:      limited(rt.Progressive(2), rt.Clusters("c1", "c2")),
		clusters: states("c1 ToApply, c2 Progressing 10m"), handler: "starts c1; failed c2; too many", hub: "failed c2; too many",
	}}},
	{"failures in decision groups", func(c *rolloutCase) bool {
		return c.grouped() && c.any(c.failure) && (c.any((*reported).waits) || c.tooMany() && c.any(c.onTheWay))
	}, []example{
		{ // The group has failed, but its other clusters are started.
			ref: limited(rt.PerGroup(), rt.Group("a", "c1", "c2")), clusters: states("c1 Progressing 10m, c2 absent"),
			handler: "starts c2; failed c1; too many", hub: "failed c1; too many",
		},
		{ // The next group has failed.
			ref: limited(rt.PerGroup(), rt.Group("a", "c1"), rt.Group("b", "c2")), clusters: states("c1 absent, c2 Progressing 10m"),
			handler: "starts c1; failed c2", hub: "failed c2; too many",
		},
		{ // A tolerated failure makes up for a cluster in flight.
			ref:      limited(rt.PerGroup(), rt.MaxFailures(1), rt.Group("a", "c1", "c2"), rt.Group("b", "c3")),
			clusters: states("c1 Progressing 10m, c2 Progressing 1m, c3 absent"),
			handler:  "starts c3; failed c1", hub: "failed c1",
		},
		{ // A tolerated degraded cluster has time until its deadline.
			ref:      limited(rt.PerGroup(), rt.MaxFailures(1), rt.Group("a", "c1"), rt.Group("b", "c2")),
			clusters: states("c1 Failed 1m, c2 absent"), handler: "starts c2", hub: "",
		},
	}},
	{"a cluster in flight in a later decision group", func(c *rolloutCase) bool {
		first, found := c.firstGroup(func(r *reported) bool { return r.waits() })
		onTheWay, any := c.firstGroup(c.onTheWay)
		return found && any && (c.inOrder() || c.mandatoryGroup(first)) && c.turn(first) <= c.turn(onTheWay) && c.turn(first) > 0
	}, []example{{
		ref:      limited(rt.PerGroup(), rt.Group("a", "c1"), rt.Group("b", "c2", "c3")),
		clusters: states("c1 Succeeded 1h, c2 Progressing 1m, c3 absent"), handler: "", hub: "starts c3",
	}}},
}

// roundsWrong reports whether a percentage of the clusters is one higher in floating point.
func roundsWrong(c *rolloutCase) bool {
	for _, s := range c.sizes() {
		number, isPercent := strings.CutSuffix(s.StrVal, "%")
		percent, _ := strconv.Atoi(number)
		for _, total := range c.totals() {
			if isPercent && int(math.Ceil(float64(percent)/100*float64(total))) != (percent*total+99)/100 {
				return true
			}
		}
	}
	return false
}

// tolerantOfAll reports whether maxFailures exceeds the number of clusters to which it applies, and one of them failed.
func tolerantOfAll(c *rolloutCase) bool {
	s, groups := c.config().MaxFailures, len(c.ref.Placement.Groups)
	for g, size := range c.totals()[:groups+1] {
		ofGroup := func(r *reported) bool { return c.failure(r) && (g == groups || c.group(r) == g) }
		if c.inOrder() == (g < groups) && s.Type == intstr.Int && s.IntValue() > size && c.any(ofGroup) {
			return true
		}
	}
	return false
}

// behindFullBatch reports whether a cluster takes a slot or has failed, and the clusters before it, in the order of names, fill the batch.
func behindFullBatch(c *rolloutCase) bool {
	if c.ref.Strategy.Type != clusterv1alpha1.Progressive {
		return false
	}
	n := 0
	for i := range c.clusters {
		r := &c.clusters[i]
		if n >= c.batch() && (c.onTheWay(r) || c.failure(r)) {
			return true
		}
		if r.status == handler.ToApply || c.onTheWay(r) {
			n++
		}
	}
	return false
}

// TestHandlerDeviations shows each case in which the answers differ, and checks that the page counts them.
func TestHandlerDeviations(t *testing.T) {
	stopClock(t)
	page, err := os.ReadFile("../../docs/concepts/rollout.md")
	require.NoError(t, err)
	words := strings.Join(strings.Fields(string(page)), " ") // The sentence may wrap.
	require.Contains(t, words, fmt.Sprintf("in %d cases", len(deviations)), "docs/concepts/rollout.md counts the cases")
	for _, d := range deviations {
		t.Run(d.name, func(t *testing.T) {
			for _, e := range d.examples {
				c := &rolloutCase{ref: e.ref, clusters: e.clusters}
				require.True(t, d.applies(c), "the example is none, of\n%s", c)
				require.Equal(t, e.handler, c.handlerAnswers().String(), "sdk-go's handler answers this now; is the deviation gone?\n%s", c)
				require.Equal(t, e.hub, c.hubAnswers().String(), "%s", c)
			}
		})
	}
}
