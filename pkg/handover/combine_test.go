package handover

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
)

// spec returns a spec with objects, each written as "group/Kind name" or "group/Kind namespace/name". The version distinguishes two specs.
func spec(version string, objects ...string) *workv1.ManifestWorkSpec {
	s := &workv1.ManifestWorkSpec{}
	for _, o := range objects {
		kind, name, _ := strings.Cut(o, " ")
		group, kind, _ := strings.Cut(kind, "/")
		apiVersion := strings.TrimPrefix(group+"/v1", "/")
		metadata := fmt.Sprintf(`{"name":%q}`, name)
		if namespace, inside, namespaced := strings.Cut(name, "/"); namespaced {
			metadata = fmt.Sprintf(`{"namespace":%q,"name":%q}`, namespace, inside)
		}
		s.Workload.Manifests = append(s.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{
			Raw: fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":%s,"data":{"version":%q}}`, apiVersion, kind, metadata, version),
		}})
	}
	return s
}

// with adds manifestConfigs.
func with(s *workv1.ManifestWorkSpec, configs ...workv1.ManifestConfigOption) *workv1.ManifestWorkSpec {
	s.ManifestConfigs = append(s.ManifestConfigs, configs...)
	return s
}

// config is an entry for "group/resource name" with an update strategy; empty for none.
func config(of string, strategy workv1.UpdateStrategyType) workv1.ManifestConfigOption {
	resource, name, _ := strings.Cut(of, " ")
	group, resource, _ := strings.Cut(resource, "/")
	namespace, inside, namespaced := strings.Cut(name, "/")
	if !namespaced {
		namespace, inside = "", name
	}
	c := workv1.ManifestConfigOption{ResourceIdentifier: workv1.ResourceIdentifier{Group: group, Resource: resource, Namespace: namespace, Name: inside}}
	if strategy != "" {
		c.UpdateStrategy = &workv1.UpdateStrategy{Type: strategy}
	}
	return c
}

func rule(of, condition string) workv1.ManifestConfigOption {
	c := config(of, "")
	c.ConditionRules = []workv1.ConditionRule{{Type: workv1.WellKnownConditionsType, Condition: condition}}
	return c
}

func deleting(s *workv1.ManifestWorkSpec, policy workv1.DeletePropagationPolicyType, rules ...string) *workv1.ManifestWorkSpec {
	s.DeleteOption = &workv1.DeleteOption{PropagationPolicy: policy}
	for _, of := range rules {
		rule := workv1.OrphaningRule(config(of, "").ResourceIdentifier)
		if s.DeleteOption.SelectivelyOrphan == nil {
			s.DeleteOption.SelectivelyOrphan = &workv1.SelectivelyOrphan{}
		}
		s.DeleteOption.SelectivelyOrphan.OrphaningRules = append(s.DeleteOption.SelectivelyOrphan.OrphaningRules, rule)
	}
	return s
}

// entriesIn returns the entries of a combined spec that precede those of the new revision.
func entriesIn(c *Combined) []string {
	var entries []string
	for _, e := range c.Template.ManifestConfigs[:c.entries] {
		id := e.ResourceIdentifier
		name := strings.TrimPrefix(id.Namespace+"/"+id.Name, "/")
		entries = append(entries, fmt.Sprintf("%s/%s %s: %s", id.Group, id.Resource, name, e.UpdateStrategy.Type))
	}
	return entries
}

const (
	update = workv1.UpdateStrategyTypeUpdate
	create = workv1.UpdateStrategyTypeCreateOnly
	apply  = workv1.UpdateStrategyTypeServerSideApply
	read   = workv1.UpdateStrategyTypeReadOnly

	orphan      = workv1.DeletePropagationPolicyTypeOrphan
	selectively = workv1.DeletePropagationPolicyTypeSelectivelyOrphan
)

type combineTest struct {
	to, from      *workv1.ManifestWorkSpec
	kept, entries []string
	notKept       string
}

// keepsY is a test in which ConfigMap a/y of an old revision is kept beside a new revision that has only ConfigMap a/x.
func keepsY(from *workv1.ManifestWorkSpec) combineTest {
	return combineTest{to: spec("2", "/ConfigMap a/x"), from: from, kept: []string{"ConfigMap a/y"}, entries: []string{"/configmaps a/y: Update"}}
}

func (test *combineTest) run(t *testing.T) {
	t.Helper()
	before := [2]*workv1.ManifestWorkSpec{test.to.DeepCopy(), test.from.DeepCopy()}
	got, err := Combine(test.to, test.from, DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, before, [2]*workv1.ManifestWorkSpec{test.to, test.from}, "revisions are never changed")
	if test.notKept == "" {
		require.Empty(t, got.NotKept)
	} else {
		require.Contains(t, strings.Join(got.NotKept, "; "), test.notKept)
	}
	if test.kept == nil {
		require.Nil(t, got.Combined)
		return
	}
	require.NotNil(t, got.Combined)
	require.Equal(t, test.kept, got.Combined.Kept)
	require.Equal(t, test.entries, entriesIn(got.Combined))
	n := len(test.to.Workload.Manifests)
	require.Equal(t, n, got.Combined.Manifests)
	require.Equal(t, test.to.Workload.Manifests, got.Combined.Template.Workload.Manifests[:n], "the kept ones follow")
	require.Equal(t, len(test.kept), len(got.Combined.Template.Workload.Manifests)-n)
	require.Equal(t, test.to, got.Combined.Trim())
}

// Some objects of the old revision stay until the new one is available.
func TestCombine(t *testing.T) {
	for name, test := range map[string]combineTest{
		"the same objects":   {to: spec("2", "/ConfigMap a/x"), from: spec("1", "/ConfigMap a/x")},
		"a new object":       {to: spec("2", "/ConfigMap a/x", "/ConfigMap a/y"), from: spec("1", "/ConfigMap a/x")},
		"a dropped object":   keepsY(spec("1", "/ConfigMap a/x", "/ConfigMap a/y")),
		"in another version": {to: spec("2", "apps/Deployment a/x"), from: spec("1", "apps/Deployment a/x")},
		"in another namespace": {
			to: spec("2", "/ConfigMap b/x"), from: spec("1", "/ConfigMap a/x"), kept: []string{"ConfigMap a/x"}, entries: []string{"/configmaps a/x: Update"},
		},
		"a StatefulSet takes the place of a Deployment": {
			to:   with(spec("2", "apps/StatefulSet a/x"), config("apps/statefulsets a/x", apply)),
			from: with(spec("1", "apps/Deployment a/x"), config("apps/deployments *", create)),
			kept: []string{"Deployment a/x"}, entries: []string{"apps/deployments a/x: Update"},
		},
		"without a namespace": {
			to: spec("2", "/ConfigMap a/x"), from: spec("1", "rbac.authorization.k8s.io/ClusterRole r"),
			kept: []string{"ClusterRole r"}, entries: []string{"rbac.authorization.k8s.io/clusterroles r: Update"},
		},
		"the strategy that it had": {
			to:   with(spec("2", "/ConfigMap a/x"), config("/configmaps */*", read)),
			from: with(spec("1", "/ConfigMap a/y"), config("/configmaps a/z", read), rule("/configmaps a/*", "Degraded"), config("/configmaps a/*", create), config("/configmaps a/y", apply)),
			kept: []string{"ConfigMap a/y"}, entries: []string{"/configmaps a/y: CreateOnly"},
		},
		"twice in the old revision": keepsY(spec("1", "/ConfigMap a/y", "/ConfigMap a/y")),
		"read only":                 {to: spec("2", "/ConfigMap a/x"), from: with(spec("1", "/ConfigMap a/y"), config("/configmaps a/y", read))},
		"orphaned":                  {to: spec("2", "/ConfigMap a/x"), from: deleting(spec("1", "/ConfigMap a/y"), orphan)},
		"selectively":               {to: spec("2", "/ConfigMap a/x"), from: deleting(spec("1", "/ConfigMap a/y"), selectively, "/configmaps a/y")},
		"another one is":            keepsY(deleting(spec("1", "/ConfigMap a/y"), selectively, "/configmaps a/z")),
		"rules without power":       keepsY(deleting(spec("1", "/ConfigMap a/y"), "Foreground", "/configmaps a/y")),
		"a generated name":          {to: spec("2", "/ConfigMap a/x"), from: spec("1", "/ConfigMap a/")},
	} {
		t.Run(name, test.run)
	}
}

// Some objects are still deleted at once, and the result gives the reason.
func TestNotKept(t *testing.T) {
	for name, test := range map[string]combineTest{
		"the new revision orphans everything": {
			to: deleting(spec("2", "/ConfigMap a/x"), orphan), from: spec("1", "/ConfigMap a/y"),
			notKept: "ConfigMap a/y: deleteOption.propagationPolicy of the new revision is Orphan",
		},
		"and drops nothing": {to: deleting(spec("2", "/ConfigMap a/x"), orphan), from: spec("1", "/ConfigMap a/x")},
		"the new revision orphans it": {
			to: deleting(spec("2", "/ConfigMap a/x"), selectively, "/configmaps a/y"), from: spec("1", "/ConfigMap a/y", "/ConfigMap a/z"),
			kept: []string{"ConfigMap a/z"}, entries: []string{"/configmaps a/z: Update"}, notKept: "ConfigMap a/y: deleteOption.selectivelyOrphans",
		},
		"the new revision completes": {
			to: with(spec("2", "batch/Job a/x"), rule("batch/jobs a/x", workv1.WorkComplete)), from: spec("1", "/ConfigMap a/y"),
			notKept: "ConfigMap a/y: the new revision has a condition rule for Complete",
		},
		"the old revision completes": {
			to: spec("2", "/ConfigMap a/x"), from: with(spec("1", "batch/Job a/y"), rule("batch/jobs a/y", workv1.WorkComplete)),
			kept: []string{"Job a/y"}, entries: []string{"batch/jobs a/y: Update"},
		},
		"a star in its name": {
			to: spec("2", "/ConfigMap a/x"), from: spec("1", "rbac.authorization.k8s.io/ClusterRole a*"), notKept: "ClusterRole a*: its name contains a *",
		},
	} {
		t.Run(name, test.run)
	}
}

// Agents look up manifestConfigs by the plural of a kind, which the hub does not know for custom resources.
func TestPlurals(t *testing.T) {
	const gateway = "gateway.example.com/Gateway a/g"
	for name, test := range map[string]combineTest{
		"a plural that the kind does not suggest": {
			to: spec("2", "/ConfigMap a/x"), from: with(spec("1", gateway), config("gateway.example.com/gateways a/g", apply)),
			kept: []string{"Gateway a/g"}, entries: []string{"gateway.example.com/gatewaies a/g: Update", "gateway.example.com/gateways a/g: ServerSideApply"},
		},
		"in the new revision": {
			to: with(spec("2", "/ConfigMap a/x"), config("gateway.example.com/gateways a/*", create)), from: spec("1", gateway),
			kept: []string{"Gateway a/g"}, entries: []string{"gateway.example.com/gatewaies a/g: Update", "gateway.example.com/gateways a/g: Update"},
		},
		"that of another kind": {
			to: with(spec("2", "gateway.example.com/Route a/g"), config("gateway.example.com/routes a/g", create)), from: spec("1", gateway),
			kept: []string{"Gateway a/g"}, entries: []string{"gateway.example.com/gatewaies a/g: Update"},
		},
		"a known kind takes no other": {
			to: with(spec("2", "/ConfigMap a/x"), config("/secrets a/*", create)), from: spec("1", "/ConfigMap a/y"),
			kept: []string{"ConfigMap a/y"}, entries: []string{"/configmaps a/y: Update"},
		},
		"the plural is known": {
			to: spec("2", "/ConfigMap a/x"), from: with(spec("1", "example.com/Widget a/w"), config("example.com/things a/*", read), config("example.com/widgets b/*", create)),
			kept: []string{"Widget a/w"}, entries: []string{"example.com/widgets a/w: Update"},
		},
		"it may be read only": {
			to: spec("2", "/ConfigMap a/x"), from: with(spec("1", gateway), config("gateway.example.com/gateways a/g", read)),
			notKept: `Gateway a/g: the old revision makes objects of the resource "gateways" read only or orphans them`,
		},
		"it may be orphaned": {
			to: spec("2", "/ConfigMap a/x"), from: deleting(spec("1", gateway), selectively, "gateway.example.com/gateways a/g"),
			notKept: `Gateway a/g: the old revision makes objects of the resource "gateways"`,
		},
		"the new revision may orphan it": {
			to: deleting(spec("2", "/ConfigMap a/x"), selectively, "gateway.example.com/gateways a/g"), from: spec("1", gateway),
			notKept: `Gateway a/g: deleteOption.selectivelyOrphans`,
		},
		"it may be another object's": {
			to: with(spec("2", "gateway.example.com/Relay a/g"), config("gateway.example.com/gateways a/g", create)), from: spec("1", gateway),
			notKept: `Gateway a/g: the new revision has Relay a/g`,
		},
	} {
		t.Run(name, test.run)
	}
}

// A spec that can't be read can't be combined.
func TestUnreadable(t *testing.T) {
	broken := &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{}}}}
	_, err := Combine(broken, spec("1", "/ConfigMap a/x"), DefaultLimits())
	require.ErrorContains(t, err, "the new revision: workload.manifests[0]")
	_, err = Combine(spec("1", "/ConfigMap a/x"), broken, DefaultLimits())
	require.ErrorContains(t, err, "the old revision: workload.manifests[0]")
}
