package controller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/simulation"
)

// A hub with an older CRD, or without the right to read ControllerRevisions, says so and goes on (R16).
func TestLifeOnAnOlderHub(t *testing.T) {
	for name, test := range map[string]struct {
		set   func(api *simulation.API)
		event string
	}{
		"an older CRD":                   {func(api *simulation.API) { api.OlderCRD = true }, workv1alpha1.EventOlderCRD},
		"a CRD without observed":         {func(api *simulation.API) { api.Unobserving = true }, workv1alpha1.EventOlderCRD},
		"no right to read the revisions": {func(api *simulation.API) { api.NoHistory = true }, workv1alpha1.EventHistoryUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			l := &life{World: simulation.NewWorld(), t: t}
			test.set(l.API)
			l.Restart()
			l.Place("p1", []string{"c1", "c2", "c3"})
			l.Create("v1", strategy(1))
			l.passes(time.Hour)
			l.everywhere("v1")
			l.Update("v2")
			l.passes(time.Hour)
			l.everywhere("v2")
			l.said(test.event)
		})
	}
}

// A process that starts while all is well, or after an abort, writes nothing (P5, P7).
func TestLifeOfRestarts(t *testing.T) {
	l := begin(t)
	l.Report("c2", "v2", simulation.Hangs)
	l.Update("v2")
	for range 5 {
		l.Restart()
		l.passes(12 * time.Second)
	}
	l.quiet()
	l.Restart()
	l.quiet()
	l.Check = func(write string) { require.Fail(t, "a write after a restart", write) }
	l.Restart()
	l.quiet()
}
