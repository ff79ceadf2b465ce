package webhook

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// sizes are those of an object up to what an API server takes: 3 MB.
var sizes = map[string]int{"30KB": 30_000, "300KB": 300_000, "3MB": 3_000_000}

// BenchmarkReview answers creations and updates. The cost is linear where MB/s is the same for every size. The limit is so high that
// everything is read; "too large" has OCM's own.
func BenchmarkReview(b *testing.B) {
	const high, usual = 1 << 24, 500 * 1024
	for _, story := range []struct {
		name    string
		handler admission.Handler
		entry   func(i int) string
		object  func(entries string) string
		update  bool
	}{
		{"work/good", &works{limit: high}, named, workOf, false},
		{"work/bad", &works{limit: high}, nameless, workOf, false},
		{"work/duplicate", &works{limit: high}, func(int) string { return named(0) }, workOf, false},
		{"work/bad-before", &works{limit: high}, nameless, workOf, true},
		{"work/too-large", &works{limit: usual}, nameless, workOf, false},
		{"work/empty-manifests", &works{limit: usual}, func(int) string { return "{}" }, workOf, false},
		{"replicaset/good", &replicaSets{limit: high}, named, func(all string) string { return replicaSetOf(goodRef(0), all) }, false},
		{"replicaset/bad", &replicaSets{limit: high}, nameless, func(all string) string { return replicaSetOf(goodRef(0), all) }, false},
		{"replicaset/too-large", &replicaSets{limit: usual}, nameless, func(all string) string { return replicaSetOf(goodRef(0), all) }, false},
		{"replicaset/good-refs", &replicaSets{limit: high}, goodRef, func(all string) string { return replicaSetOf(all, named(0)) }, false},
		{"replicaset/bad-refs", &replicaSets{limit: high}, badRef, func(all string) string { return replicaSetOf(all, named(0)) }, false},
		{"replicaset/bad-refs-before", &replicaSets{limit: high}, badRef, func(all string) string { return replicaSetOf(all, named(0)) }, true},
		{"replicaset/empty-manifests", &replicaSets{limit: usual}, func(int) string { return "{}" },
			func(all string) string { return replicaSetOf(goodRef(0), all) }, false},
	} {
		for _, size := range []string{"30KB", "300KB", "3MB"} {
			b.Run(fmt.Sprintf("%s/%s", story.name, size), func(b *testing.B) {
				count := sizes[size] / (len(story.entry(1000)) + 1)
				object, old := story.object(repeated(count, story.entry)), ""
				if story.update {
					// One more at the end, so that the spec differs.
					old = story.object(repeated(count, story.entry) + "," + story.entry(count))
				}
				b.SetBytes(int64(len(object)))
				b.ReportAllocs()
				for b.Loop() {
					ask(b, story.handler, old, object)
				}
			})
		}
	}
}
