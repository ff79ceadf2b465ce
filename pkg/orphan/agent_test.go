package orphan

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"pgregory.net/rapid"
)

// object is the object of a manifest on a cluster.
type object struct {
	there, owned, refuses, finished bool
	// unknown is true if the cluster does not currently know the kind.
	unknown bool
}

// cluster is a ManifestWork and an agent that works like OCM's agent: one controller applies the manifests, and another controller checks
// the objects.
type cluster struct {
	work    *workv1.ManifestWork
	objects []object
	// seen is the spec for which the applying controller last ran. It runs only for a different spec, and when it is started.
	seen *workv1.ManifestWorkSpec
}

// apply acts as the agent's applying controller. After a restart, it applies the current spec.
func (c *cluster) apply(restarted bool) {
	if !held(c.work) || (!restarted && c.seen != nil && Equivalent(c.seen, &c.work.Spec)) {
		return
	}
	c.seen = c.work.Spec.DeepCopy()
	if workCompleted(c.work) {
		return
	}
	all := metav1.ConditionTrue
	for i := range c.objects {
		if status := c.applyOne(int32(i)); status == metav1.ConditionFalse { //nolint:gosec // There are few.
			all = status
		}
	}
	set(&c.work.Status.Conditions, workv1.WorkApplied, all, "Applied", "", c.work.Generation)
}

func (c *cluster) applyOne(i int32) metav1.ConditionStatus {
	for int(i) >= len(c.work.Status.ResourceStatus.Manifests) {
		c.work.Status.ResourceStatus.Manifests = append(c.work.Status.ResourceStatus.Manifests, workv1.ManifestCondition{})
	}
	m, o := &c.work.Status.ResourceStatus.Manifests[i], &c.objects[i]
	of := cm(i)
	if o.unknown {
		of.Resource = ""
	}
	if m.ResourceMeta != of { // It keeps the conditions of an object whose metadata is the same.
		*m = workv1.ManifestCondition{ResourceMeta: of}
	}
	status := metav1.ConditionTrue
	strategy := strategyOf(c.work.Spec.ManifestConfigs, &of)
	switch {
	case o.unknown:
		status = metav1.ConditionFalse
	case meta.IsStatusConditionTrue(m.Conditions, workv1.ManifestComplete), strategy == workv1.UpdateStrategyTypeReadOnly:
	case o.refuses && (!o.there || strategy != workv1.UpdateStrategyTypeCreateOnly || o.owned):
		status = metav1.ConditionFalse
	default:
		o.there, o.owned = true, !orphans(&c.work.Spec)
	}
	set(&m.Conditions, workv1.ManifestApplied, status, "Applied", "denied", c.work.Generation)
	return status
}

// look acts as the agent's other controller.
func (c *cluster) look() {
	if !held(c.work) || meta.FindStatusCondition(c.work.Status.Conditions, workv1.WorkApplied) == nil {
		return
	}
	complete, incomplete := 0, 0
	for i := range c.work.Status.ResourceStatus.Manifests {
		m := &c.work.Status.ResourceStatus.Manifests[i]
		c.lookAt(m, c.objects[i])
		if done := meta.FindStatusCondition(m.Conditions, workv1.ManifestComplete); done != nil && done.Status == metav1.ConditionTrue {
			complete++
		} else if done != nil {
			incomplete++
		}
	}
	set(&c.work.Status.Conditions, workv1.WorkAvailable, metav1.ConditionTrue, "Simulated", "", c.work.Generation)
	switch {
	case complete+incomplete == 0:
		meta.RemoveStatusCondition(&c.work.Status.Conditions, workv1.WorkComplete)
	case incomplete > 0:
		set(&c.work.Status.Conditions, workv1.WorkComplete, metav1.ConditionFalse, "ConditionRulesAggregated", "", c.work.Generation)
	default:
		set(&c.work.Status.Conditions, workv1.WorkComplete, metav1.ConditionTrue, "ConditionRulesAggregated", "", c.work.Generation)
	}
}

// lookAt evaluates the rules for one object. If a rule was removed, its condition is removed only if the object exists.
func (c *cluster) lookAt(m *workv1.ManifestCondition, o object) {
	switch {
	case m.ResourceMeta.Resource == "" || o.unknown:
		set(&m.Conditions, workv1.ManifestAvailable, metav1.ConditionUnknown, "IncompleteResourceMeta", "", 0)
		return
	case !o.there:
		set(&m.Conditions, workv1.ManifestAvailable, metav1.ConditionFalse, reasonMissing, "", 0)
		return
	}
	set(&m.Conditions, workv1.ManifestAvailable, metav1.ConditionTrue, "ResourceAvailable", "", 0)
	rule := c.ruleOf(m)
	if rule == nil {
		meta.RemoveStatusCondition(&m.Conditions, workv1.ManifestComplete)
		return
	}
	status := metav1.ConditionFalse
	if o.finished && len(rule.CelExpressions) == 0 {
		status = metav1.ConditionTrue
	}
	set(&m.Conditions, workv1.ManifestComplete, status, "ConditionRuleEvaluated", "", c.work.Generation)
}

func (c *cluster) ruleOf(m *workv1.ManifestCondition) *workv1.ConditionRule {
	for _, option := range c.work.Spec.ManifestConfigs {
		if option.ResourceIdentifier == identify(&m.ResourceMeta) && len(option.ConditionRules) > 0 {
			return &option.ConditionRules[0]
		}
	}
	return nil
}

// hub performs the next step, and reports whether it deletes the ManifestWork.
func (c *cluster) hub() (deletes bool) {
	step := Next(c.work)
	if step.Spec != nil {
		c.work.Spec = *step.Spec.DeepCopy()
		c.work.Generation++
	}
	return step.Action == Delete
}

func (c *cluster) owned() (owned []int) {
	for i, o := range c.objects {
		if o.there && o.owned {
			owned = append(owned, i)
		}
	}
	return owned
}

var strategies = rapid.SampledFrom([]workv1.UpdateStrategyType{"Update", "CreateOnly", "ServerSideApply", "ReadOnly"})

func newCluster(t *rapid.T) *cluster {
	c := &cluster{work: work(silent, unheld)}
	orphaned := rapid.IntRange(0, 4).Draw(t, "template orphans") == 0
	for i := range int32(2) {
		strategy := strategies.Draw(t, "strategy")
		var rules []workv1.ConditionRule
		if rapid.Bool().Draw(t, "completes") {
			rules = append(rules, completion)
		}
		entry(i, strategy, rules...)(c.work)
		c.objects = append(c.objects, object{unknown: !orphaned && rapid.IntRange(0, 9).Draw(t, "unknown") == 0})
	}
	if orphaned {
		orphan(c.work)
	}
	return c
}

// P11, for one cluster: in any order of events, no ManifestWork is deleted while its agent owns an existing object. If the agent can do
// its part, the ManifestWork is eventually deleted.
func TestNoObjectIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		deleting, gone, known := false, false, map[int]bool{}
		act := func(i int) *object { return &c.objects[i] }
		index := rapid.IntRange(0, 1)
		for i, o := range c.objects {
			known[i] = !o.unknown
		}
		t.Repeat(map[string]func(*rapid.T){
			"the agent begins": func(*rapid.T) {
				if !gone {
					c.work.Finalizers = []string{workv1.ManifestWorkFinalizer}
				}
			},
			"the agent applies":   func(*rapid.T) { c.apply(false) },
			"the agent looks":     func(*rapid.T) { c.look() },
			"the agent restarts":  func(*rapid.T) { c.apply(true) },
			"an object finishes":  func(t *rapid.T) { act(index.Draw(t, "object")).finished = true },
			"somebody deletes":    func(t *rapid.T) { o := act(index.Draw(t, "object")); *o = object{unknown: o.unknown} },
			"the cluster refuses": func(t *rapid.T) { act(index.Draw(t, "object")).refuses = rapid.Bool().Draw(t, "refuses") },
			"the discovery fails": func(t *rapid.T) {
				if i := index.Draw(t, "object"); orphans(&c.work.Spec) && known[i] && deleting {
					act(i).unknown = rapid.Bool().Draw(t, "fails")
				}
			},
			"the template changes": func(t *rapid.T) {
				if i := index.Draw(t, "object"); !deleting {
					c.work.Spec.ManifestConfigs[i].UpdateStrategy = &workv1.UpdateStrategy{Type: strategies.Draw(t, "strategy")}
					c.work.Generation++
				}
			},
			"the hub looks": func(t *rapid.T) {
				if gone {
					return
				}
				deleting = true
				if gone = c.hub(); gone && held(c.work) {
					require.Empty(t, c.owned(), "%+v\n%s", c.objects, yaml(c.work))
				}
			},
			"": func(*rapid.T) {},
		})
		if gone {
			return
		}
		c.work.Finalizers = []string{workv1.ManifestWorkFinalizer}
		for i := range c.objects {
			act(i).refuses, act(i).unknown = false, !known[i]
		}
		for range 6 {
			c.look()
			c.apply(true)
			c.look()
			if gone = c.hub(); gone {
				break
			}
		}
		require.True(t, gone, "%+v\n%s", c.objects, yaml(c.work))
		require.Empty(t, c.owned())
	})
}

func yaml(work *workv1.ManifestWork) string {
	data, err := json.MarshalIndent(work, "", " ")
	return fmt.Sprint(string(data), err)
}

// FuzzNext checks that a step is valid for any ManifestWork and any report from its agent.
func FuzzNext(f *testing.F) {
	for _, w := range []*workv1.ManifestWork{
		work(), work(written), work(workComplete, entry(0, "", completion)), work(deleted), work(unheld, silent), work(unknownKind(0)),
	} {
		data, err := json.Marshal(w)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &workv1.ManifestWork{}
		if json.Unmarshal(data, w) != nil {
			return
		}
		before := w.DeepCopy()
		step := Next(w)
		require.Equal(t, before, w)
		if step.Action == Delete && held(w) && len(w.Spec.Workload.Manifests) > 0 {
			require.True(t, nothingLeft(w, w.Generation) || orphans(&w.Spec) && applied(w, w.Generation) && !completed(w))
		}
		if step.Spec == nil {
			return
		}
		require.Equal(t, w.Spec.Workload, step.Spec.Workload)
		require.Equal(t, w.Spec.Executor, step.Spec.Executor)
		for _, option := range step.Spec.ManifestConfigs {
			require.True(t, len(option.ConditionRules) == 0 || equality.Semantic.DeepEqual(neverComplete(), option.ConditionRules))
		}
		w.Spec = *step.Spec
		w.Generation++
		require.False(t, Next(w).Spec != nil && Next(w).Action == step.Action, "it is written once")
	})
}
