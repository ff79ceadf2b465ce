package irreversible

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"
)

// The manifests of the tests.
const (
	namespace  = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	volume     = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: data}, spec: {resources: {requests: {storage: 2Gi}}}}`
	smallOne   = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: data}, spec: {resources: {requests: {storage: 1024Mi}}}}`
	database   = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: shop, name: db}, spec: {serviceName: db}}`
	forgetting = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: shop, name: db}, spec: {serviceName: db, ` +
		`persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}}}`
	plainMap = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: settings}, data: {a: b}}`
	fixedMap = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: settings}, immutable: true, data: {a: c}}`
	fixedOne = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: settings}, immutable: true, data: {a: d}}`
	token    = `{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: token}, type: example.com/token}`
	password = `{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: token}}`
	unnamed  = `{apiVersion: v1, kind: NamespaceList, items: []}`
)

// shops returns a CustomResourceDefinition with the schemas of versions, each as "name: schema".
func shops(versions string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: shops.example.com}, spec: {versions: [` + versions + `]}}`
}

func version(name, schema string) string {
	return `{name: ` + name + `, schema: {openAPIV3Schema: ` + schema + `}}`
}

// TestWarnings: the warnings name the losses that a rollout causes. If it can be aborted, they also name the losses from the abort.
func TestWarnings(t *testing.T) {
	const (
		full  = `{properties: {spec: {properties: {a: {}, b: {items: {properties: {c: {}}}}, d: {additionalProperties: {properties: {e: {}}}}}}}}`
		empty = `{properties: {spec: {properties: {b: {items: {}}, d: {additionalProperties: {}}}}}}`
		open  = `{properties: {spec: {x-kubernetes-preserve-unknown-fields: true}}}`
	)
	for name, test := range map[string]struct {
		from, to []string
		options  func(template *workv1.ManifestWorkSpec)
		// rollout has the warnings about the rollout alone, and abort has those that AbortAll adds.
		rollout, abort []string
	}{
		"the same":                              {from: []string{namespace, volume}, to: []string{volume, namespace}},
		"another order, and what can't be read": {from: []string{unnamed, `[]`, `{`}, to: []string{`{}`}},
		"a dropped Namespace": {
			from: []string{namespace, plainMap}, to: []string{plainMap},
			rollout: []string{"the rollout deletes Namespace shop with all objects in it"},
		},
		"a new Namespace": {to: []string{namespace}, abort: []string{"an abort deletes Namespace shop with all objects in it"}},
		"a dropped claim": {
			from:    []string{volume},
			rollout: []string{"the rollout deletes PersistentVolumeClaim shop/data with its data, unless the reclaim policy of the volume is Retain"},
		},
		"a claim that shrinks": {
			from: []string{volume}, to: []string{smallOne},
			rollout: []string{"the rollout shrinks PersistentVolumeClaim shop/data from 2Gi to 1Gi: the API server rejects it"},
		},
		"a claim that grows": {
			from: []string{smallOne}, to: []string{volume},
			abort: []string{"an abort shrinks PersistentVolumeClaim shop/data from 2Gi to 1Gi: the API server rejects it"},
		},
		"a dropped StatefulSet": {
			from:    []string{database},
			rollout: []string{"the rollout deletes StatefulSet shop/db and its Pods; its volume claims stay"},
		},
		"a dropped StatefulSet with its claims": {
			from:    []string{forgetting},
			rollout: []string{"the rollout deletes StatefulSet shop/db with its volume claims and their data"},
		},
		"an immutable ConfigMap": {
			from: []string{fixedMap}, to: []string{fixedOne},
			rollout: []string{"the rollout changes the immutable field data of ConfigMap shop/settings: the API server rejects it"},
		},
		"a ConfigMap that becomes immutable": {
			from: []string{plainMap}, to: []string{fixedMap},
			abort: []string{"an abort changes the immutable field immutable, data of ConfigMap shop/settings: the API server rejects it"},
		},
		"a Secret of another type": {
			from: []string{password}, to: []string{token},
			rollout: []string{"the rollout changes the immutable field type of Secret shop/token: agents delete the Secret and create it again"},
			abort:   []string{"an abort changes the immutable field type of Secret shop/token: agents delete the Secret and create it again"},
		},
		"a dropped definition": {
			from:    []string{shops(version("v1", full))},
			rollout: []string{"the rollout deletes CustomResourceDefinition shops.example.com with all its custom resources"},
		},
		"fewer fields": {
			from: []string{shops(version("v1", full))}, to: []string{shops(version("v1", empty))},
			rollout: []string{"the rollout removes spec.a, spec.b[].c, spec.d.*.e from version v1 of CustomResourceDefinition shops.example.com: " +
				"custom resources lose the values with their next write"},
		},
		"more fields": {
			from: []string{shops(version("v1", empty))}, to: []string{shops(version("v1", full))},
			abort: []string{"an abort removes spec.a, spec.b[].c, spec.d.*.e from version v1 of CustomResourceDefinition shops.example.com: " +
				"custom resources lose the values with their next write"},
		},
		"unknown fields are preserved": {from: []string{shops(version("v1", full))}, to: []string{shops(version("v1", open))}},
		"a removed version": {
			from: []string{shops(version("v1", full) + "," + version("v2", full))}, to: []string{shops(version("v2", full))},
			rollout: []string{"the rollout removes version v1 of CustomResourceDefinition shops.example.com: " +
				"the API server rejects it if a custom resource was ever stored in this version"},
		},
		"agents orphan everything": {from: []string{namespace}, options: func(template *workv1.ManifestWorkSpec) {
			template.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
		}},
		"agents orphan the object": {from: []string{namespace}, options: func(template *workv1.ManifestWorkSpec) {
			template.DeleteOption = &workv1.DeleteOption{
				PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
				SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: []workv1.OrphaningRule{{Resource: "namespaces", Name: "shop"}}},
			}
		}},
		"agents only create the object": {from: []string{fixedMap}, to: []string{fixedOne}, options: func(template *workv1.ManifestWorkSpec) {
			template.ManifestConfigs = []workv1.ManifestConfigOption{{
				ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "shop", Name: "*"},
				UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly},
			}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := templateOf(t, test.from), templateOf(t, test.to)
			if test.options != nil {
				test.options(from)
				test.options(to)
			}
			require.Equal(t, test.rollout, texts(Warnings(from, to, false)), "without AbortAll")
			with := texts(Warnings(from, to, true))
			for i := range test.rollout {
				require.Contains(t, with[i], test.rollout[i])
			}
			require.Equal(t, test.abort, append([]string(nil), with[len(test.rollout):]...), "AbortAll adds")
		})
	}
}

// TestWarningsNameTheManifest: a warning has the index of the manifest in the newer template, if that template has the object.
func TestWarningsNameTheManifest(t *testing.T) {
	got := Warnings(templateOf(t, []string{namespace, fixedMap}), templateOf(t, []string{volume, fixedOne}), true)
	require.Equal(t, []Warning{
		{-1, "the rollout deletes Namespace shop with all objects in it; an abort does not restore them"},
		{1, "the rollout changes the immutable field data of ConfigMap shop/settings: the API server rejects it"},
		{0, "an abort deletes PersistentVolumeClaim shop/data with its data, unless the reclaim policy of the volume is Retain"},
	}, got)
}

func texts(warnings []Warning) []string {
	var texts []string
	for _, w := range warnings {
		texts = append(texts, w.Text)
	}
	return texts
}

func templateOf(t *testing.T, manifests []string) *workv1.ManifestWorkSpec {
	template := &workv1.ManifestWorkSpec{}
	for _, manifest := range manifests {
		raw, err := yaml.YAMLToJSON([]byte(manifest))
		if err != nil {
			raw = []byte(manifest)
		}
		template.Workload.Manifests = append(template.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	}
	return template
}
