package mask_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/mask"
)

func decoded(tb testing.TB, text string) (object map[string]any) {
	tb.Helper()
	require.NoError(tb, utiljson.Unmarshal([]byte(text), &object))
	return object
}

func encoded(tb testing.TB, object map[string]any) string {
	tb.Helper()
	text, err := json.Marshal(object)
	require.NoError(tb, err)
	return string(text)
}

// quoted returns a text with the escapes of a JSON string.
func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// TestPairHides: only the identity of a Secret and the names of its values are shown, wherever the Secret is.
func TestPairHides(t *testing.T) {
	const secret = `{"apiVersion":"v1","kind":"Secret","type":"Opaque","immutable":true,"metadata":{"name":"s","namespace":"shop","labels":{"a":"b"},` +
		`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"HIDDEN1","other.io/copy":"HIDDEN2"}},` +
		`"data":{"password":"HIDDEN3"},"stringData":{"password":"HIDDEN4"},"Data":{"typo":"HIDDEN5"},"extra":["HIDDEN6"]}`
	work := `{"kind":"ManifestWork","spec":{"workload":{"manifests":[` + secret + `]}}}`
	for name, text := range map[string]string{
		"alone":                   secret,
		"in a List":               `{"kind":"List","items":[{"kind":"ConfigMap","data":{"a":"shown"}},` + secret + `]}`,
		"in a SecretList":         `{"kind":"SecretList","items":[{"metadata":{"name":"s"},"data":{"a":"HIDDEN"}}]}`,
		"text in a SecretList":    `{"kind":"SecretList","items":["HIDDEN"]}`,
		"in a ManifestWork":       work,
		"twice in a ManifestWork": `{"kind":"ManifestWorkReplicaSet","spec":{"manifestWorkTemplate":{"workload":{"manifests":[` + work + `]}}}}`,
		"data that is text":       `{"kind":"Secret","data":"HIDDEN","stringData":["HIDDEN"]}`,
		"metadata that is text":   `{"kind":"Secret","metadata":"HIDDEN"}`,
		"annotations as text":     `{"kind":"Secret","metadata":{"annotations":"HIDDEN"}}`,
		"numbers":                 `{"kind":"Secret","data":{"a":4242424242},"type":4242424242}`,
		"last applied List":       `{"kind":"List","metadata":{"annotations":{"a":` + quoted(`{"kind":"List","items":[{"kind":"Secret","data":{"a":"HIDDEN"}}]}`) + `}}}`,
		"last applied, quoted":    `{"kind":"ManifestWork","metadata":{"annotations":{"a":` + quoted(`{"x":`+quoted(`{"kind" : "Secret","data":"HIDDEN"}`)+`}`) + `}}}`,
		"a file in a ConfigMap":   `{"kind":"ConfigMap","data":{"s.yaml":"apiVersion: v1\nkind: Secret\ndata: {a: HIDDEN}\n"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, other := range []string{text, strings.NewReplacer("HIDDEN", "HIDDEN7", "4242424242", "4242424243").Replace(text), `{}`, `{"kind":"List","items":"x","data":1}`} {
				before, after := mask.Pair(decoded(t, text), decoded(t, other))
				for _, shown := range []string{encoded(t, before), encoded(t, after)} {
					require.NotContains(t, shown, "HIDDEN")
					require.NotContains(t, shown, "424242")
				}
				require.Equal(t, text == other, encoded(t, before) == encoded(t, after), "a difference stays a difference")
			}
		})
	}
	before, after := mask.Pair(decoded(t, secret), nil)
	require.Nil(t, after)
	require.Contains(t, encoded(t, before), `"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"***","other.io/copy":"***"},"labels":{"a":"b"},"name":"s","namespace":"shop"}`)
	require.Contains(t, encoded(t, before), `"data":{"password":"***"}`)
	require.Contains(t, encoded(t, before), `"type":"Opaque"`)
}

// TestPairShows: nothing else is masked, and the versions themselves do not change.
func TestPairShows(t *testing.T) {
	const text = `{"kind":"SecretStore","data":{"a":"the kind: Secrets","kind":"SecretProviderClass"},"spec":{"kind":["Secret"],"n":9007199254740993,"null":null}}`
	object := decoded(t, text)
	before, after := mask.Pair(object, decoded(t, text))
	require.Equal(t, object, before)
	require.Equal(t, object, after)
	const one, two = `{"kind":"Secret","data":{"a":"x","b":"same","c":"only here"}}`, `{"kind":"Secret","data":{"a":"y","b":"same"}}`
	object = decoded(t, one)
	before, after = mask.Pair(object, decoded(t, two))
	require.JSONEq(t, `{"kind":"Secret","data":{"a":"*** (before)","b":"***","c":"***"}}`, encoded(t, before))
	require.JSONEq(t, `{"kind":"Secret","data":{"a":"*** (after)","b":"***"}}`, encoded(t, after))
	require.JSONEq(t, one, encoded(t, object))
}

// FuzzPair: no value of a Secret is left, regardless of its surroundings, and equal versions stay equal. The cost is linear.
func FuzzPair(f *testing.F) {
	for _, text := range []string{`{"kind":"Secret","data":{"a":"b"}}`, `{"kind":"SecretList","items":[{"data":"x"}]}`, `{"kind":"List","items":[1,null,"kind: Secret"]}`} {
		f.Add([]byte(text), []byte(`{"kind":"ConfigMap","metadata":{"annotations":{"a":"b"}}}`))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var one, two map[string]any
		if utiljson.Unmarshal(first, &one) != nil || utiljson.Unmarshal(second, &two) != nil {
			return
		}
		before, after := mask.Pair(one, two)
		again, _ := mask.Pair(before, nil)
		require.Equal(t, secretless(before), secretless(again), "what is masked is masked once")
		requireHidden(t, before)
		requireHidden(t, after)
		same, equal := mask.Pair(one, one)
		require.Equal(t, same, equal)
	})
}

// secretless returns an object without its masks, which depend on the other version.
func secretless(object map[string]any) string {
	text, _ := json.Marshal(object)
	return strings.NewReplacer("*** (before)", "***", "*** (after)", "***").Replace(string(text))
}

// requireHidden checks that each value of each Secret is a mask.
func requireHidden(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if values, isMap := child.(map[string]any); isMap && v["kind"] == "Secret" && key != "metadata" {
				for _, text := range values {
					require.True(t, text == nil || strings.HasPrefix(text.(string), "***"), "%v", v)
				}
			}
			requireHidden(t, child)
		}
	case []any:
		for _, child := range v {
			requireHidden(t, child)
		}
	}
}

// TestPairHasABudget: the time and memory for a large object are proportional to its size.
func TestPairHasABudget(t *testing.T) {
	text := `{"kind":"List","items":[` + strings.Repeat(`{"kind":"Secret","data":{"a":"`+strings.Repeat("kind:", 2000)+`"}},`, 100) + `{}]}`
	object := decoded(t, text)
	budget.Within(t, 5*time.Second, 2<<20, func() { mask.Pair(object, object) })
	nested := strings.Repeat(`{"a":[`, 4_000) + `"kind: Secret"` + strings.Repeat(`]}`, 4_000)
	object = decoded(t, nested)
	budget.Within(t, 5*time.Second, 16<<20, func() { mask.Pair(object, object) })
}
