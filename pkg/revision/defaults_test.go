package revision

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	workv1 "open-cluster-management.io/api/work/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/crds"
)

// templateSchema is the schema of spec.manifestWorkTemplate in the CRD.
func templateSchema(t testing.TB) *structuralschema.Structural {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(crds.ManifestWorkReplicaSet, crd); err != nil {
		t.Fatal(err)
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(
		crd.Spec.Versions[0].Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	schema, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	spec := schema.Properties["spec"]
	template := spec.Properties["manifestWorkTemplate"]
	return &template
}

// defaultsOf lists the paths that a schema has defaults for.
func defaultsOf(path string, schema *structuralschema.Structural) []string {
	var found []string
	if schema.Default.Object != nil {
		found = append(found, fmt.Sprintf("%s = %v", path, schema.Default.Object))
	}
	for name := range schema.Properties {
		property := schema.Properties[name]
		found = append(found, defaultsOf(strings.TrimPrefix(path+"."+name, "."), &property)...)
	}
	if schema.Items != nil {
		found = append(found, defaultsOf(path+"[]", schema.Items)...)
	}
	slices.Sort(found)
	return found
}

// skeleton returns an object with every nested object and one entry in every list, and no other values. So every field with a default gets
// the default.
func skeleton(schema *structuralschema.Structural) any {
	switch schema.Type {
	case "array":
		return []any{skeleton(schema.Items)}
	case "object":
		object := map[string]any{}
		for name := range schema.Properties {
			property := schema.Properties[name]
			if property.Type == "object" || (property.Type == "array" && property.Items.Type == "object") {
				object[name] = skeleton(&property)
			}
		}
		return object
	}
	return nil
}

func decoded(t testing.TB, value any) *workv1.ManifestWorkSpec {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return templateFrom(t, string(raw))
}

// TestDefaults shows that WithDefaults sets exactly the defaults of the CRD. If a new CRD adds a default, a template that an older CRD
// stored must keep its meaning: change WithDefaults first.
func TestDefaults(t *testing.T) {
	schema := templateSchema(t)
	want := []string{
		"deleteOption.propagationPolicy = Foreground",
		"manifestConfigs[].feedbackScrapeType = Poll",
		"manifestConfigs[].updateStrategy.serverSideApply.fieldManager = work-agent",
		"manifestConfigs[].updateStrategy.serverSideApply.ignoreFields[].condition = OnSpokePresent",
		"manifestConfigs[].updateStrategy.type = Update",
	}
	require.Equal(t, want, defaultsOf("", schema), "the CRD's defaults are not those that are listed here")
	empty := skeleton(schema)
	ours := WithDefaults(decoded(t, empty))
	defaulting.Default(empty, schema)
	require.Equal(t, decoded(t, empty), ours, "WithDefaults and the CRD make two things of an empty template")
}

// drawTemplate returns the JSON of a template in which each defaulted field is absent, the default, or another value.
func drawTemplate(t *rapid.T) map[string]any {
	maybe := func(object map[string]any, key string, values ...any) {
		if value := rapid.SampledFrom(append([]any{nil}, values...)).Draw(t, key); value != nil {
			object[key] = value
		}
	}
	out := map[string]any{"workload": map[string]any{"manifests": []any{
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"value": rapid.String().Draw(t, "value")}},
	}}}
	if rapid.Bool().Draw(t, "deleteOption") {
		option := map[string]any{}
		maybe(option, "propagationPolicy", "Foreground", "Orphan")
		maybe(option, "ttlSecondsAfterFinished", int64(0), int64(60))
		out["deleteOption"] = option
	}
	var configs []any
	for range rapid.IntRange(0, 3).Draw(t, "configs") {
		config := map[string]any{"resourceIdentifier": map[string]any{"resource": "configmaps", "name": "web"}}
		maybe(config, "feedbackScrapeType", "Poll", "Watch")
		if rapid.Bool().Draw(t, "updateStrategy") {
			strategy := map[string]any{}
			maybe(strategy, "type", "Update", "CreateOnly", "ServerSideApply")
			if rapid.Bool().Draw(t, "serverSideApply") {
				apply := map[string]any{}
				maybe(apply, "fieldManager", "work-agent", "work-agent-two")
				maybe(apply, "force", false, true)
				if rapid.Bool().Draw(t, "ignoreFields") {
					field := map[string]any{}
					maybe(field, "condition", "OnSpokePresent", "OnSpokeChange")
					apply["ignoreFields"] = []any{field}
				}
				strategy["serverSideApply"] = apply
			}
			config["updateStrategy"] = strategy
		}
		configs = append(configs, config)
	}
	if configs != nil {
		out["manifestConfigs"] = configs
	}
	return out
}

// TestDefaultedMeansTheSame: a template has the same meaning before and after an API server fills in defaults, and after a revision has
// stored it. A field with a value other than the default changes the meaning.
func TestDefaultedMeansTheSame(t *testing.T) {
	schema := templateSchema(t)
	rapid.Check(t, func(r *rapid.T) {
		value := drawTemplate(r)
		before := decoded(t, value)
		defaulting.Default(value, schema)
		after := decoded(t, value)
		if digest(t, before) != digest(t, after) {
			r.Fatalf("defaulted it means something else: %s", FirstDifference(before, after))
		}
		object, err := New(owner(), before, "abc", 1)
		if err != nil {
			r.Fatal(err)
		}
		if rev := Decode(object); rev.Err != nil || rev.Digest != digest(t, after) {
			r.Fatalf("in a revision it means something else: %v %s", rev.Err, FirstDifference(before, rev.Template))
		}
	})
}

// TestEachDefault: a template without a field means the same as a template with the default, but differs from a template with another
// value.
func TestEachDefault(t *testing.T) {
	const text = `{"workload":{"manifests":[` + configMap + `]},"deleteOption":{"propagationPolicy":"Foreground"},
		"manifestConfigs":[{"resourceIdentifier":{"resource":"configmaps","name":"web"},"feedbackScrapeType":"Poll",
		"updateStrategy":{"type":"Update","serverSideApply":{"fieldManager":"work-agent","ignoreFields":[{"condition":"OnSpokePresent"}]}}}]}`
	full := digest(t, templateFrom(t, text))
	for field, other := range map[string]string{
		`"propagationPolicy":"Foreground"`: `"propagationPolicy":"Orphan"`,
		`"feedbackScrapeType":"Poll",`:     `"feedbackScrapeType":"Watch",`,
		`"type":"Update",`:                 `"type":"CreateOnly",`,
		`"fieldManager":"work-agent",`:     `"fieldManager":"work-agent-two",`,
		`"condition":"OnSpokePresent"`:     `"condition":"OnSpokeChange"`,
	} {
		if digest(t, templateFrom(t, strings.Replace(text, field, "", 1))) != full {
			t.Errorf("without %s it means something else", field)
		}
		if digest(t, templateFrom(t, strings.Replace(text, field, other, 1))) == full {
			t.Errorf("with %s it means the same", other)
		}
	}
}
