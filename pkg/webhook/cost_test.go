package webhook

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// maxAnswer is the maximum size of an answer in bytes, for any request.
const maxAnswer = 16 * 1024

// repeated joins n copies of a text, each with its own number.
func repeated(n int, text func(i int) string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = text(i)
	}
	return strings.Join(texts, ",")
}

func workOf(manifests string) string {
	return `{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web","namespace":"c1"},` +
		`"spec":{"workload":{"manifests":[` + manifests + `]}}}`
}

func replicaSetOf(refs, manifests string) string {
	return `{"apiVersion":"work.open-cluster-management.io/v1alpha1","kind":"ManifestWorkReplicaSet","metadata":{"name":"web","namespace":"c1"},` +
		`"spec":{"placementRefs":[` + refs + `],"manifestWorkTemplate":{"workload":{"manifests":[` + manifests + `]}}}}`
}

func nameless(int) string { return `{"kind":"A","metadata":{}}` }

func named(i int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"}}`, i)
}

func definition(i int) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"c%d"}}`, i)
}

func goodRef(i int) string { return fmt.Sprintf(`{"name":"p%d"}`, i) }

func badRef(i int) string {
	return fmt.Sprintf(`{"name":"p%d","rolloutStrategy":{"type":"Progressive","failureStrategy":"AbortAll","progressive":`+
		`{"progressDeadline":"no","minSuccessTime":"5 minutes","maxFailures":"3","maxConcurrency":"2"}}}`, i)
}

func surprisingRef(i int) string {
	return fmt.Sprintf(`{"name":"p%d","rolloutStrategy":{"type":"All","failureStrategy":"AbortAll","all":`+
		`{"progressDeadline":"None","minSuccessTime":"5m","maxFailures":"100%%"}}}`, i)
}

// attacks are requests with n problems, or with n bytes in one field.
var attacks = map[string]func(n int) (handler admission.Handler, old, object string){
	"works: nameless manifests": func(n int) (admission.Handler, string, string) {
		return &works{limit: 512000}, "", workOf(repeated(n, nameless))
	},
	"works: nameless manifests, and too large": func(n int) (admission.Handler, string, string) {
		return &works{limit: 1000}, "", workOf(repeated(n, nameless))
	},
	"works: the same manifest": func(n int) (admission.Handler, string, string) {
		return &works{limit: 1 << 24}, "", workOf(repeated(n, func(int) string { return named(0) }))
	},
	"works: nameless manifests from before": func(n int) (admission.Handler, string, string) {
		all := repeated(n, nameless)
		return &works{limit: 1 << 24}, workOf(all + "," + named(0)), workOf(all + "," + named(1))
	},
	"works: good ones": func(n int) (admission.Handler, string, string) {
		return &works{limit: 1 << 24}, "", workOf(repeated(n, named))
	},
	"replica sets: bad placementRefs": func(n int) (admission.Handler, string, string) {
		return &replicaSets{limit: 512000}, "", replicaSetOf(repeated(n, badRef), named(0))
	},
	"replica sets: the same placementRef": func(n int) (admission.Handler, string, string) {
		return &replicaSets{limit: 512000}, "", replicaSetOf(repeated(n, func(int) string { return goodRef(0) }), named(0))
	},
	"replica sets: bad placementRefs from before": func(n int) (admission.Handler, string, string) {
		refs := repeated(n, badRef)
		return &replicaSets{limit: 512000}, replicaSetOf(refs, named(0)), replicaSetOf(refs, named(1))
	},
	"replica sets: nameless manifests": func(n int) (admission.Handler, string, string) {
		return &replicaSets{limit: 512000}, "", replicaSetOf(goodRef(0), repeated(n, nameless))
	},
	"replica sets: nameless manifests, and too large": func(n int) (admission.Handler, string, string) {
		return &replicaSets{limit: 1000}, "", replicaSetOf(goodRef(0), repeated(n, nameless))
	},
	"replica sets: surprising placementRefs": func(n int) (admission.Handler, string, string) {
		return &replicaSets{limit: 512000}, "", replicaSetOf(repeated(n, surprisingRef), named(0))
	},
	"replica sets: labels and annotations": func(n int) (admission.Handler, string, string) {
		pairs := repeated(n, func(i int) string { return fmt.Sprintf(`"not a key %d":"not\u0007a value"`, i) })
		meta := `"metadata":{"labels":{` + pairs + `},"annotations":{` + pairs + `},`
		return &replicaSets{limit: 512000}, "", strings.Replace(replicaSetOf(goodRef(0), named(0)), `"metadata":{`, meta, 1)
	},
	"replica sets: condition rules": func(n int) (admission.Handler, string, string) {
		rules := repeated(n, func(i int) string {
			return fmt.Sprintf(`{"type":"CEL","condition":"C%d","celExpressions":["object.a == %d"]}`, i, i)
		})
		configs := `"manifestWorkTemplate":{"manifestConfigs":[{"resourceIdentifier":{"resource":"*","name":"*"},"conditionRules":[` + rules + `]}],`
		return &replicaSets{limit: 1 << 24}, "", strings.Replace(replicaSetOf(goodRef(0), named(0)), `"manifestWorkTemplate":{`, configs, 1)
	},
	"replica sets: condition rules for no manifest": func(n int) (admission.Handler, string, string) {
		configs := repeated(n, func(i int) string {
			return fmt.Sprintf(`{"resourceIdentifier":{"resource":"pods","name":"*-%0200d"}}`, i)
		})
		all := `"manifestWorkTemplate":{"manifestConfigs":[` + configs + `],`
		return &replicaSets{limit: 1 << 24}, "", strings.Replace(replicaSetOf(goodRef(0), repeated(100, named)), `"manifestWorkTemplate":{`, all, 1)
	},
	"replica sets: one nested manifest": func(n int) (admission.Handler, string, string) {
		nested := strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
		return &replicaSets{limit: 1 << 24}, "", replicaSetOf(goodRef(0), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":`+nested+`}`)
	},
	"works: one nested manifest": func(n int) (admission.Handler, string, string) {
		nested := strings.Repeat("[", n) + strings.Repeat("]", n)
		return &works{limit: 1 << 24}, "", workOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":` + nested + `}`)
	},
	"replica sets: definitions": func(n int) (admission.Handler, string, string) {
		return &replicaSets{limit: 1 << 24}, "", replicaSetOf(surprisingRef(0), repeated(n, definition))
	},
}

func ask(t testing.TB, handler admission.Handler, old, object string) admission.Response {
	t.Helper()
	operation := admissionv1.Create
	if old != "" {
		operation = admissionv1.Update
	}
	return handler.Handle(t.Context(), request(operation, old, object))
}

// allocated returns the number of bytes that the answer to a request allocates.
func allocated(t *testing.T, handler admission.Handler, old, object string) float64 {
	t.Helper()
	request := request(admissionv1.Create, old, object)
	if old != "" {
		request.Operation = admissionv1.Update
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	handler.Handle(t.Context(), request)
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// TestCostIsLinear: a request of ten times the size allocates ten times as much, plus some for slices that grow in steps. A cost that is
// quadratic in the number of problems would allocate a hundred times as much.
func TestCostIsLinear(t *testing.T) {
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			small, smallOld, smallObject := attack(1500)
			large, largeOld, largeObject := attack(15000)
			allocated(t, small, smallOld, smallObject) // Allocations that happen only once are not counted.
			once, tenfold := allocated(t, small, smallOld, smallObject), allocated(t, large, largeOld, largeObject)
			require.Less(t, tenfold, 20*once, "%.1f MB for 1,500, %.1f MB for 15,000", once/1e6, tenfold/1e6)
		})
	}
}

// TestAnswerIsBounded: 20,000 problems, or a megabyte in one field, do not make the answer long.
func TestAnswerIsBounded(t *testing.T) {
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			handler, old, object := attack(20000)
			bounded(t, ask(t, handler, old, object))
		})
	}
	long := strings.Repeat("x", 1<<20)
	field := `{"name":"p","rolloutStrategy":{"type":"Progressive","progressive":{%s}}}`
	digits := strings.Repeat("7", 1<<20)
	works, replicaSets := &works{limit: 1 << 24}, &replicaSets{limit: 1 << 24}
	for name, test := range map[string]struct {
		handler admission.Handler
		object  string
	}{
		"a manifest without a kind": {works, workOf(`{"a":"` + long + `"}`)},
		"the same long name":        {works, workOf(repeated(2, func(int) string { return `{"apiVersion":"v1","kind":"A","metadata":{"name":"` + long + `"}}` }))},
		"a long number":             {works, `{"spec":{"workload":` + digits + `}}`},
		"no object":                 {replicaSets, `{"a":"` + long + `"}`},
		"a long number, in a set":   {replicaSets, strings.Replace(replicaSetOf(goodRef(0), named(0)), `"spec":{`, `"spec":{"revisionHistoryLimit":"`+digits+`",`, 1)},
		"a long placement":          {replicaSets, replicaSetOf(repeated(2, func(int) string { return `{"name":"` + long + `"}` }), named(0))},
		"a long type":               {replicaSets, replicaSetOf(`{"name":"p","rolloutStrategy":{"type":"`+long+`"}}`, named(0))},
		"a long failureStrategy":    {replicaSets, replicaSetOf(`{"name":"p","rolloutStrategy":{"failureStrategy":"`+long+`"}}`, named(0))},
		"a long deadline":           {replicaSets, replicaSetOf(fmt.Sprintf(field, `"progressDeadline":"`+long+`"`), named(0))},
		"a long soak":               {replicaSets, replicaSetOf(fmt.Sprintf(field, `"minSuccessTime":"`+long+`"`), named(0))},
		"long sizes":                {replicaSets, replicaSetOf(fmt.Sprintf(field, `"maxFailures":"`+long+`","maxConcurrency":"`+long+`"`), named(0))},
	} {
		t.Run(name, func(t *testing.T) {
			response := ask(t, test.handler, "", test.object)
			require.False(t, response.Allowed)
			bounded(t, response)
		})
	}
}

func bounded(t *testing.T, response admission.Response) {
	t.Helper()
	answer, err := json.Marshal(response.AdmissionResponse)
	require.NoError(t, err)
	require.Less(t, len(answer), maxAnswer, "%.3000s", answer)
}
