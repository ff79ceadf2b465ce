package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
)

func diffTemplate(t *testing.T, objects ...map[string]any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(map[string]any{"workload": map[string]any{"manifests": objects}})
	require.NoError(t, err)
	return data
}

func objectOf(apiVersion, kind, namespace, name, value string) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}, "value": value}
}

// TestDiffShowsEveryObject: no object hides another object in a diff, and no name breaks the diff.
func TestDiffShowsEveryObject(t *testing.T) {
	long := strings.Repeat("long.", 50) + "abc"
	identities := [][4]string{
		{"autoscaling/v1", "HorizontalPodAutoscaler", "shop", "web"}, {"autoscaling/v2", "HorizontalPodAutoscaler", "shop", "web"},
		{"v1", "ConfigMap", "a", "b.c"}, {"v1", "ConfigMap", "a.b", "c"}, {"a/v1", "B.c", "d", "e"}, {"c.a/v1", "B", "d", "e"},
		{"v1", "ConfigMap", "shop", long}, {"v1", "ConfigMap", "shop", long + "d"}, {"v1", "ConfigMap", "shop", "nul\x00"},
		{"v1", "ConfigMap", "shop", `..\..\..\windows`}, {"v1", "ConfigMap", "../../..", "../x"}, {"v1", "CON", "", "a\nb"}, {"", "", "", ""},
	}
	var before, after []map[string]any
	for _, id := range identities {
		before = append(before, objectOf(id[0], id[1], id[2], id[3], "old"))
		after = append(after, objectOf(id[0], id[1], id[2], id[3], "new"))
	}
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}
	require.NoError(t, o.compare(diffTemplate(t, before...), diffTemplate(t, before...)), out.String())
	require.Equal(t, &exitError{code: 1}, o.compare(diffTemplate(t, before...), diffTemplate(t, after...)), out.String())
	require.Equal(t, len(identities), strings.Count(out.String(), "\n+value: new\n"), out.String())
	require.Contains(t, out.String(), "+++ after: HorizontalPodAutoscaler.autoscaling shop/web\n")
	require.Contains(t, out.String(), "+++ after: HorizontalPodAutoscaler.autoscaling shop/web (number 2)\n")
	require.Contains(t, out.String(), "+++ after: CON a b\n")

	out.Reset()
	moved := []map[string]any{after[3], before[2], before[1], before[0]}
	require.Equal(t, &exitError{code: 1}, o.compare(diffTemplate(t, before[:3]...), diffTemplate(t, moved...)))
	require.Equal(t, 1, strings.Count(out.String(), "\n+value: new\n"), "an added object")
	require.Equal(t, 2, strings.Count(out.String(), "\n+apiVersion: autoscaling/v"), "two versions of one object that change places")
	require.Equal(t, 3, strings.Count(out.String(), "+++ "), "an object that only moves is no change")
}

// TestUnifiedDiff: a difference has the same hunks as kubectl diff.
func TestUnifiedDiff(t *testing.T) {
	config := func(lines ...string) json.RawMessage {
		return diffTemplate(t, objectOf("v1", "ConfigMap", "shop", "web", strings.Join(lines, "\n")+"\n"))
	}
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}
	before, after := config("1", "2", "3", "4", "5"), config("1", "2", "3", "4", "five")
	require.Equal(t, &exitError{code: 1}, o.compare(before, after), out.String())
	const want = "--- before: ConfigMap shop/web\n+++ after: ConfigMap shop/web\n" +
		"@@ -8,4 +8,4 @@\n   2\n   3\n   4\n-  5\n+  five\n"
	require.Equal(t, want, out.String())
	text, err := plainDiff(before, after)
	require.NoError(t, err)
	require.Equal(t, want, text)
	text, err = plainDiff(before, before)
	require.NoError(t, err)
	require.Empty(t, text)
}

// TestDiffHasABudget: the cost of a comparison is almost proportional to the size of the templates, regardless of their lines.
func TestDiffHasABudget(t *testing.T) {
	lines := func(n, every int) json.RawMessage {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "line %d\n", i%every*7919%1009)
		}
		return diffTemplate(t, objectOf("v1", "ConfigMap", "shop", "web", text.String()))
	}
	budget.Within(t, 30*time.Second, 500<<20, func() {
		_, err := plainDiff(lines(100_000, 1000), lines(100_001, 997))
		require.NoError(t, err)
	})
}
