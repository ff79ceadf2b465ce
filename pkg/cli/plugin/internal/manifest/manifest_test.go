package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
)

const (
	kind = "apiVersion: work.open-cluster-management.io/v1alpha1\nkind: ManifestWorkReplicaSet\n"
	// another is an object of a different kind.
	another = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
)

func set(name string) string {
	return kind + "metadata: {name: " + name + "}\nspec:\n  placementRefs:\n  - name: p\n"
}

// inJSON is a set as JSON.
func inJSON(name string) string {
	return `{"apiVersion":"work.open-cluster-management.io/v1alpha1","kind":"ManifestWorkReplicaSet",` + "\n" + `"metadata":{"name":"` + name + `"}}`
}

// read returns the names of the sets with the line of each name, and the errors, in their order.
func read(text string) (found []string) {
	for set, err := range Sets(strings.NewReader(text)) {
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		found = append(found, fmt.Sprintf("%s %d", set.Object.GetName(), set.Line("metadata.name")))
	}
	return found
}

// TestSets: the sets of a file are found with their lines, in YAML and in JSON. Unlike kubectl, Sets requires --- between JSON objects.
func TestSets(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":           {"\n", nil},
		"comments":          {"# a\n---\n# b\n", nil},
		"null":              {"null\n---\n" + another, nil},
		"several":           {"---\n" + another + "--- # next\n" + set("a") + "---\n" + set("b"), []string{"a 8", "b 15"}},
		"Windows":           {strings.ReplaceAll(another+"---\n"+set("a"), "\n", "\r\n"), []string{"a 7"}},
		"JSON":              {inJSON("a") + "\n---\n" + inJSON("b") + "\n", []string{"a 2", "b 5"}},
		"a JSON stream":     {inJSON("a") + "\n" + inJSON("b"), []string{"line 1: more content follows the end of the document: put --- between documents"}},
		"JSON, then YAML":   {inJSON("a") + "\n---\n" + set("b"), []string{"a 2", "b 6"}},
		"a comment at last": {inJSON("a") + "\n# the end\n", []string{"a 2"}},
		"flow style":        {"{" + strings.ReplaceAll(kind, "\n", ",\n") + "metadata: {name: a}}", []string{"a 3"}},
		"list": {"kind: List\nitems:\n- kind: Namespace\n- " + strings.ReplaceAll(set("a"), "\n", "\n  ") + "\n- 7\n",
			[]string{"a 6"}},
		"broken": {set("a") + "---\na: b: c\n---\n" + set("b"),
			[]string{"a 3", "line 8: mapping values are not allowed in this context", "b 12"}},
		"no object":     {"---\n- a\n", []string{"line 2: the document is not an object"}},
		"separator":     {"--- x\n" + set("a"), []string{"line 1: only a comment may follow the separator ---", "a 4"}},
		"merged":        {"x: &x\n  a: b\n" + kind + "metadata: {name: a, labels: {<<: *x}}\n", []string{"a 5"}},
		"its own alias": {"a: &a [*a]\n", []string{"line 1: the document is larger than 3 MiB with its YAML aliases expanded: use fewer aliases"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, read(test.text)) })
	}
	for _, err := range Sets(iotest.ErrReader(errors.New("no disk"))) {
		require.EqualError(t, err, "no disk")
	}
}

// oneSet returns the only set of a text.
func oneSet(t *testing.T, text string) (found *Set) {
	t.Helper()
	for set, err := range Sets(strings.NewReader(text)) {
		require.NoError(t, err)
		require.Nil(t, found)
		found = set
	}
	require.NotNil(t, found)
	return found
}

// TestNumbers: numbers keep their digits. A floating point number has 53 bits.
func TestNumbers(t *testing.T) {
	for _, text := range []string{set("a") + "x: 9007199254740993\n", strings.Replace(inJSON("a"), "{", `{"x":9007199254740993,`, 1)} {
		require.Equal(t, int64(9007199254740993), oneSet(t, text).Object.Object["x"])
	}
}

// TestLine: a field that the file does not have is at the line of its nearest parent.
func TestLine(t *testing.T) {
	found := oneSet(t, another+"---\n"+set("a"))
	for field, line := range map[string]int{
		"": 5, "metadata.name": 7, "spec.placementRefs[0].name": 10, "spec.placementRefs[0].rolloutStrategy.all.maxFailures": 10,
		"spec.placementRefs[7]": 9, "spec.rollbackWindow": 8,
	} {
		require.Equal(t, line, found.Line(field), field)
	}
	require.Equal(t, []string{"a", "b", "0", "x.y/z", "c"}, steps("a.b[0][x.y/z].c"))
}

// bombs are small files that would expand to large objects.
func bombs() map[string]string {
	long := "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a, ", 20_000) + "]\n"
	tree, merged := "a0: &a0 x\n", "a0: &a0 {x: y}\n"
	for i := range 40 {
		tree += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9))
		merged += fmt.Sprintf("a%d: &a%d {<<: [%s]}\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9))
	}
	return map[string]string{"long": long, "tree": tree, "merged": merged}
}

// TestAliasesHaveABudget: a document is read only if it is small with its aliases expanded.
func TestAliasesHaveABudget(t *testing.T) {
	for name, bomb := range bombs() {
		t.Run(name, func(t *testing.T) {
			budget.Within(t, 10*time.Second, 100<<20, func() {
				require.Equal(t, []string{"a 3", "line 8: the document is larger than 3 MiB with its YAML aliases expanded: use fewer aliases", "b " +
					fmt.Sprint(11+strings.Count(bomb, "\n"))}, read(set("a")+"---\n"+bomb+"---\n"+set("b")))
			})
		})
	}
}

// TestFilesHaveABudget: the sizes of a file and of its documents are bounded, regardless of their contents.
func TestFilesHaveABudget(t *testing.T) {
	for name, text := range map[string]string{
		"long":   "a: " + strings.Repeat("x", maxDocument),
		"JSON":   `{"a":"` + strings.Repeat("x", maxDocument) + `"}`,
		"deep":   strings.Repeat("[", maxDocument-1),
		"deeper": `{"a":` + strings.Repeat("[", maxDocument-100),
		"many":   "a: [" + strings.Repeat("a,", maxDocument/2-10) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			budget.Within(t, time.Minute, 1<<30, func() { _ = read(text) })
			runtime.GC()
		})
	}
	endless := bytes.NewReader(make([]byte, maxFile+2))
	for _, err := range Sets(endless) {
		require.EqualError(t, err, "the file is larger than 64 MiB: split it")
	}
	require.Equal(t, 1, endless.Len())
}

// FuzzSets: no file makes the plugin panic, and the cost of a file is at most proportional to its size.
func FuzzSets(f *testing.F) {
	for _, bomb := range bombs() {
		f.Add([]byte(bomb))
	}
	f.Add([]byte(set("a") + "---\n" + another))
	f.Add([]byte(inJSON("a") + inJSON("b")))
	f.Fuzz(func(t *testing.T, data []byte) {
		budget.Within(t, 20*time.Second, 1<<30, func() {
			lines := bytes.Count(data, []byte("\n")) + 1
			for set, err := range Sets(bytes.NewReader(data)) {
				var broken *BrokenError
				switch {
				case errors.As(err, &broken):
					require.NotZero(t, broken.Line)
				case err == nil:
					line := set.Line("spec.placementRefs[0].name")
					require.True(t, line > 0 && line <= lines, "line %d of %d", line, lines)
					_, _ = set.Decoded()
				}
			}
		})
	})
}

// TestUnknown: a field that the type lacks is found at any depth. Manifests, and the status, may have any field.
func TestUnknown(t *testing.T) {
	const text = kind + `
metadata: {name: a, lables: {a: b}, labels: {any: key}, annotations: {x.y/z: w}}
spec:
  pause: true
  somethingElse: 1
  placementRefs:
  - name: p
    rolloutStrategy:
      type: All
      all: {progresDeadline: 10m, MinSuccessTime: 5m, maxFailures: 10%}
  manifestWorkTemplate:
    manifestConfigs:
    - resourceIdentifier: {resource: pods, name: a, kind: Pod}
    workload:
      manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, lables: {}}, anything: true}]
statuss: {}
status: {fieldOfALaterRelease: 1}
`
	require.Equal(t, []string{
		"metadata.lables", "spec.manifestWorkTemplate.manifestConfigs[0].resourceIdentifier.kind", "spec.pause",
		"spec.placementRefs[0].rolloutStrategy.all.MinSuccessTime", "spec.placementRefs[0].rolloutStrategy.all.progresDeadline",
		"spec.somethingElse", "statuss",
	}, oneSet(t, text).Unknown())
}

// TestUnknownHasABudget: the cost of unknown fields is proportional to their size.
func TestUnknownHasABudget(t *testing.T) {
	var text strings.Builder
	text.WriteString(set("a") + "  " + strings.Repeat("x", 1000) + ": 1\n")
	for i := range 50_000 {
		fmt.Fprintf(&text, "  placementRef%d: 1\n", i)
	}
	budget.Within(t, 20*time.Second, 500<<20, func() { require.Len(t, oneSet(t, text.String()).Unknown(), 50_001) })
}
