package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// R15: reports that were held up arrive one after the other as the deadline fires. Each live read shows the next report, and the cache
// shows the one before. The cache follows the API server, but the failure in the cache is not real: the last report is a success.
func TestReportsThatWereHeldUpLeadToNoAbort(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.hangs("v2", "c1")
	reads := 0
	s.Hub.Reads = func() {
		object, err := s.API.Get(Works, "c1", Name)
		s.must(err)
		held := as[workv1.ManifestWork](s.API, object)
		switch reads++; reads {
		case 1:
			held.Status.Conditions[1].LastTransitionTime = metav1.NewTime(s.Clock.Now())
			s.Tell("agent c1: reports something else")
		case 2:
			report(&held.Status, held.Generation, Succeeds, 1, s.Clock.Now())
			s.Tell("agent c1: reports a success")
		default:
			return
		}
		s.saveStatus(held, &held.Status)
	}
	s.settle(40 * time.Second)
	require.GreaterOrEqual(t, reads, 2, s.story())
	s.Report("", "v2", Succeeds)
	s.settle(time.Minute)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.everywhere("v2")
}
