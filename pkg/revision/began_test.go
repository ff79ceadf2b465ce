package revision

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The last rollout of a revision began when it was created, reused or retried last.
func TestBegan(t *testing.T) {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(hours int) time.Time { return created.Add(time.Duration(hours) * time.Hour) }
	for name, test := range map[string]struct {
		record Record
		hours  int
	}{
		"created":                 {Record{}, 0},
		"reused":                  {Record{Reused: at(1)}, 1},
		"retried after the reuse": {Record{Reused: at(1), Retried: at(2)}, 2},
		"reused after the retry":  {Record{Reused: at(3), Retried: at(2)}, 3},
		"rebuilt since":           {Record{Reused: at(-1)}, 0},
	} {
		r := &Revision{
			Object: &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}, Record: test.record,
		}
		require.Equal(t, created.Add(time.Duration(test.hours)*time.Hour), r.Began(), name)
	}
}
