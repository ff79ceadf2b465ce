package crds

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// upstreamCRD is the CRD that upstream ships.
func upstreamCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return parse(t, readUpstream(t))
}

// readUpstream reads upstream's CRD from the module cache.
func readUpstream(t *testing.T) []byte {
	t.Helper()
	type module struct{ Dir, Version string }
	query := func(args ...string) (m module) {
		t.Helper()
		command := exec.Command("go", args...)
		command.Env = append(os.Environ(), "GOFLAGS=") // GOFLAGS may request vendor/, which has no YAML files.
		command.Stderr = os.Stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		if err := json.Unmarshal(out, &m); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return m
	}
	m := query("list", "-mod=readonly", "-m", "-json", upstreamModule)
	if m.Version != upstreamVersion {
		t.Fatalf("go.mod pins %s %s: review the changes of the new CRD, and then set that version here (%s)",
			upstreamModule, m.Version, upstreamVersion)
	}
	if m.Dir == "" { // Not downloaded yet, for example if everything was built from vendor/.
		m = query("mod", "download", "-json", upstreamModule)
	}
	raw, err := os.ReadFile(filepath.Join(m.Dir, upstreamFile))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func parse(t *testing.T, raw []byte) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		t.Fatal(err)
	}
	if len(crd.Spec.Versions) != 1 {
		t.Fatalf("the CRD has %d versions, but these tests read only one", len(crd.Spec.Versions))
	}
	return crd
}

// facts returns a CRD as a set of lines, one for each fact.
func facts(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) map[string]bool {
	t.Helper()
	set := map[string]bool{"name: " + crd.Name: true}
	spec := toJSON(t, crd.Spec)
	version := spec["versions"].([]any)[0].(map[string]any)
	delete(spec, "versions")
	for key, value := range spec {
		set[fmt.Sprintf("%s: %s", key, text(t, value))] = true
	}
	for key, value := range version {
		switch key {
		case "schema":
			schemaFacts(t, set, "", value.(map[string]any)["openAPIV3Schema"].(map[string]any))
		case "additionalPrinterColumns":
			for i, column := range value.([]any) {
				set[fmt.Sprintf("%s[%d]: %s", key, i, text(t, column))] = true
			}
		default:
			set[fmt.Sprintf("version %s: %s", key, text(t, value))] = true
		}
	}
	return set
}

func schemaFacts(t *testing.T, set map[string]bool, path string, schema map[string]any) {
	t.Helper()
	for key, value := range schema {
		switch key {
		case "description":
		case "properties":
			for name, property := range value.(map[string]any) {
				schemaFacts(t, set, strings.TrimPrefix(path+"."+name, "."), property.(map[string]any))
			}
		case "items":
			schemaFacts(t, set, path+"[]", value.(map[string]any))
		case "enum", "required":
			for _, entry := range value.([]any) {
				set[fmt.Sprintf("%s %s %s", path, key, text(t, entry))] = true
			}
		default:
			set[fmt.Sprintf("%s %s: %s", path, key, text(t, value))] = true
		}
	}
}

func toJSON(t *testing.T, in any) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text(t, in)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func text(t *testing.T, in any) string {
	t.Helper()
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(in); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}
