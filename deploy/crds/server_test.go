package crds

import (
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	structuralmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apijson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// server treats an object as an API server with the CRD does when the object is created.
type server struct {
	schema    *structuralschema.Structural
	validator validation.SchemaValidator
	rules     *cel.Validator
}

func newServer(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *server {
	t.Helper()
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(
		crd.Spec.Versions[0].Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	schema, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return &server{schema: schema, validator: validator, rules: cel.NewValidator(schema, true, 1<<30)}
}

func (s *server) admit(t *testing.T, raw []byte) (map[string]any, field.ErrorList) {
	t.Helper()
	obj := decode(t, raw)
	pruning.Prune(obj, s.schema, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, s.schema)
	defaulting.Default(obj, s.schema)

	errs := validation.ValidateCustomResource(nil, obj, s.validator)
	errs = append(errs, structuralmeta.Validate(nil, obj, s.schema, true)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.schema, obj)...)
	if len(errs) == 0 { // The API server does not evaluate rules on an object that its schema rejects.
		ruleErrs, _ := s.rules.Validate(t.Context(), nil, s.schema, obj, nil, 1<<30)
		errs = append(errs, ruleErrs...)
	}
	return obj, errs
}

// decode reads whole numbers as int64, as an API server does.
func decode(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := apijson.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func messages(errs field.ErrorList) []string {
	out := make([]string, 0, len(errs))
	for _, err := range errs {
		out = append(out, err.Error())
	}
	slices.Sort(out)
	return out
}
