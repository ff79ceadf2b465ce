package revision

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
)

func digest(t testing.TB, spec *workv1.ManifestWorkSpec) Digest {
	t.Helper()
	d, err := DigestOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func manifestOf(text string) string { return `{"workload":{"manifests":[` + text + `]}}` }

func configOf(text string) string {
	return `{"workload":{"manifests":[` + configMap + `]},"manifestConfigs":[` + text + `]}`
}

// TestDigest: some templates have the same meaning. If they do not, FirstDifference names the first difference.
func TestDigest(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		// differs is the result of FirstDifference; empty if the two templates mean the same.
		differs string
	}{
		"equal":                          {a: manifestOf(configMap), b: manifestOf(configMap)},
		"key order":                      {a: manifestOf(`{"kind":"A","data":{"x":"1","y":"2"}}`), b: manifestOf(`{"data":{"y":"2","x":"1"},"kind":"A"}`)},
		"white space":                    {a: manifestOf(`{"kind":"A","n":[1,2]}`), b: manifestOf("{ \"kind\":\n\"A\", \"n\": [ 1, 2 ] }")},
		"1 and 1.0":                      {a: manifestOf(`{"n":1}`), b: manifestOf(`{"n":1.0}`)},
		"100 and 1e2":                    {a: manifestOf(`{"n":100}`), b: manifestOf(`{"n":1e2}`)},
		"beyond 53 bits":                 {a: manifestOf(`{"n":9007199254740993}`), b: manifestOf(`{"n":9007199254740992}`), differs: "spec.workload.manifests[0].n"},
		"escaped and not":                {a: manifestOf(`{"s":"<\u00e4>"}`), b: manifestOf(`{"s":"\u003cä\u003e"}`)},
		"creationTimestamp null":         {a: manifestOf(`{"metadata":{"name":"web","creationTimestamp":null}}`), b: manifestOf(`{"metadata":{"name":"web"}}`)},
		"creationTimestamp null, within": {a: manifestOf(`{"spec":{"template":{"metadata":{"creationTimestamp":null}}}}`), b: manifestOf(`{"spec":{"template":{"metadata":{}}}}`)},
		"creationTimestamp null, in a list": {
			a: manifestOf(`{"items":[{"metadata":{"creationTimestamp":null}}]}`), b: manifestOf(`{"items":[{"metadata":{}}]}`),
		},
		"creationTimestamp set":            {a: manifestOf(`{"metadata":{"creationTimestamp":"2030-01-01T00:00:00Z"}}`), b: manifestOf(`{"metadata":{}}`), differs: "spec.workload.manifests[0].metadata.creationTimestamp"},
		"a null creationTimestamp as data": {a: manifestOf(`{"data":{"creationTimestamp":null}}`), b: manifestOf(`{"data":{}}`), differs: "spec.workload.manifests[0].data"},
		"another null":                     {a: manifestOf(`{"data":{"x":null}}`), b: manifestOf(`{"data":{}}`), differs: "spec.workload.manifests[0].data"},
		"no manifests":                     {a: `{"workload":{"manifests":[]}}`, b: `{}`},
		"another value":                    {a: manifestOf(`{"data":{"x":"1"}}`), b: manifestOf(`{"data":{"x":"2"}}`), differs: "spec.workload.manifests[0].data.x"},
		"a string and a number":            {a: manifestOf(`{"n":"1"}`), b: manifestOf(`{"n":1}`), differs: "spec.workload.manifests[0].n"},
		"one key more":                     {a: manifestOf(`{"a":1}`), b: manifestOf(`{"a":1,"b":2}`), differs: "spec.workload.manifests[0].b"},
		"the order of a list":              {a: manifestOf(`{"l":[1,2]}`), b: manifestOf(`{"l":[2,1]}`), differs: "spec.workload.manifests[0].l[0]"},
		"a longer list":                    {a: manifestOf(`{"l":[1]}`), b: manifestOf(`{"l":[1,2]}`), differs: "spec.workload.manifests[0].l"},
		"the order of manifests":           {a: manifestOf(`{"a":1},{"b":1}`), b: manifestOf(`{"b":1},{"a":1}`), differs: "spec.workload.manifests[0].a"},
		"one manifest more":                {a: manifestOf(`{"a":1}`), b: manifestOf(`{"a":1},{"b":1}`), differs: "spec.workload.manifests"},
		"another kind of value":            {a: manifestOf(`{"v":{"x":1}}`), b: manifestOf(`{"v":[1]}`), differs: "spec.workload.manifests[0].v"},

		"feedbackScrapeType defaulted": {a: configOf(`{"resourceIdentifier":{"name":"web"}}`), b: configOf(`{"resourceIdentifier":{"name":"web"},"feedbackScrapeType":"Poll"}`)},
		"feedbackScrapeType":           {a: configOf(`{"resourceIdentifier":{"name":"web"}}`), b: configOf(`{"resourceIdentifier":{"name":"web"},"feedbackScrapeType":"Watch"}`), differs: "spec.manifestConfigs[0].feedbackScrapeType"},
		"the order of fields alphabetically": {
			a: `{"workload":{"manifests":[{"a":1}]},"executor":{"subject":{"type":"ServiceAccount"}}}`, b: `{"workload":{"manifests":[{"a":2}]}}`,
			differs: "spec.executor",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := templateFrom(t, tc.a), templateFrom(t, tc.b)
			if same := digest(t, a) == digest(t, b); same != (FirstDifference(a, b) == "") {
				t.Errorf("equal digests: %v, and FirstDifference says %q", same, FirstDifference(a, b))
			}
			if got := FirstDifference(a, b); got != tc.differs {
				t.Errorf("FirstDifference says %q, want %q", got, tc.differs)
			}
			if got := FirstDifference(b, a); got != tc.differs {
				t.Errorf("the other way round FirstDifference says %q, want %q", got, tc.differs)
			}
		})
	}
}

// TestDigestErrors names the manifest that is not a JSON object.
func TestDigestErrors(t *testing.T) {
	for _, manifest := range []string{``, `null`, `[]`, `"text"`, `7`, `{`, `{"a":}`} {
		_, err := DigestOf(template(configMap, manifest))
		if err == nil || !strings.Contains(err.Error(), "workload.manifests[1]") {
			t.Errorf("manifest %q: got error %v", manifest, err)
		}
		if got := FirstDifference(template(configMap), template(configMap, manifest)); !strings.Contains(got, "workload.manifests[1]") {
			t.Errorf("manifest %q: FirstDifference says %q", manifest, got)
		}
	}
}

// TestDigestOfObject: a manifest that is an object in Go means the same as its JSON.
func TestDigestOfObject(t *testing.T) {
	spec := &workv1.ManifestWorkSpec{}
	spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Object: owner()}}}
	if digest(t, spec) == digest(t, template(`{}`)) {
		t.Error("the object is not looked at")
	}
}

// TestDigestChangesNothing: DigestOf must not change a template, because caches share it.
func TestDigestChangesNothing(t *testing.T) {
	text := `{"deleteOption":{"propagationPolicy":""},"manifestConfigs":[{"resourceIdentifier":{},"updateStrategy":{}}],` +
		`"workload":{"manifests":[{"metadata":{"creationTimestamp":null}}]}}`
	spec, untouched := templateFrom(t, text), templateFrom(t, text)
	digest(t, spec)
	if ComputeHash(spec, nil) != ComputeHash(untouched, nil) {
		t.Error("the template was changed")
	}
}
