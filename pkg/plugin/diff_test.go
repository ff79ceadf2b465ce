package plugin

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
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

// TestDiffShowsEveryObject: no object hides another one in a diff, and no name breaks it or leads out of its directory.
func TestDiffShowsEveryObject(t *testing.T) {
	t.Setenv(externalDiff, "")
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
	require.NoError(t, o.compare(t.Context(), diffTemplate(t, before...), diffTemplate(t, before...)), out.String())
	require.Equal(t, &exitError{code: 1}, o.compare(t.Context(), diffTemplate(t, before...), diffTemplate(t, after...)), out.String())
	require.Equal(t, len(identities), strings.Count(out.String(), "\n+value: new\n"), out.String())
	require.Contains(t, out.String(), "+++ after/001.HorizontalPodAutoscaler.autoscaling.shop.web.yaml")
	require.Contains(t, out.String(), "+++ after/010.ConfigMap.shop.windows.yaml")

	out.Reset()
	moved := []map[string]any{after[3], before[2], before[1], before[0]}
	require.Equal(t, &exitError{code: 1}, o.compare(t.Context(), diffTemplate(t, before[:3]...), diffTemplate(t, moved...)))
	require.Equal(t, 1, strings.Count(out.String(), "\n+value: new\n"), "an added object")
	require.Equal(t, 2, strings.Count(out.String(), "\n+apiVersion: autoscaling/v"), "two versions of one object that change places")
	require.Equal(t, 3, strings.Count(out.String(), "+++ "), "an object that only moves is no change")
}

// TestDiffFiles: all files of a diff have short names of plain characters.
func TestDiffFiles(t *testing.T) {
	dir := t.TempDir()
	hpa := objectOf("autoscaling/v1", "HorizontalPodAutoscaler", "shop", "web", "")
	parts, err := partsOf(diffTemplate(t, hpa, hpa, objectOf("v1", `A\b:c`, "/", strings.Repeat("ü\x00\n/", 300), "")))
	require.NoError(t, err)
	require.NoError(t, writeParts(dir, parts, nil))
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	for i, file := range files {
		require.Regexp(t, `^[0-9]{3}\.[A-Za-z0-9.-]{1,100}\.yaml$`, filepath.Base(file))
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		titles := []string{"# template\n", "# HorizontalPodAutoscaler.autoscaling shop/web\n", "# HorizontalPodAutoscaler.autoscaling shop/web (number 2)\n",
			`# A\b:c /ü\x00 /ü\x00 /`}
		require.Contains(t, string(content), titles[i])
	}
}
