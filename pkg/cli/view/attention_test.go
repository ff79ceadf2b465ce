package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// screenOf returns the rows and the counts as text.
func screenOf(rows []Alike, counts []Count) (screen string) {
	for i := range rows {
		screen += fmt.Sprintf("%s %s %s\n", rows[i].State, strings.Join(rows[i].Names, ","), rows[i].Message)
	}
	for _, count := range counts {
		screen += count.Text() + "\n"
	}
	return screen
}

func many(state State, prefix string, n int, change func(i int, c *Cluster)) (clusters []Cluster) {
	for i := range n {
		c := Cluster{Name: fmt.Sprintf("%s%d", prefix, i), State: state, Message: "hangs"}
		if change != nil {
			change(i, &c)
		}
		clusters = append(clusters, c)
	}
	return clusters
}

// TestAttention: many similar clusters share one row, a few have a row each, and the counts show why clusters wait.
func TestAttention(t *testing.T) {
	begin := time.Unix(0, 0)
	clusters := many(rollout.PhaseFailed, "f", 5, func(i int, c *Cluster) {
		c.Since = begin.Add(time.Duration(5-i) * time.Minute)
		if i == 1 {
			c.Message = "crashes"
		}
		if i == 2 {
			c.Since = time.Time{}
		}
	})
	clusters = append(clusters, many(rollout.PhaseInFlight, "i", alikeShown-1, nil)...)
	clusters = append(clusters, many(rollout.PhaseWaiting, "w", 4, func(i int, c *Cluster) {
		c.WaitsFor = []rollout.Wait{rollout.WaitSlot, rollout.WaitTurn, rollout.WaitSlot, rollout.WaitNothing}[i]
	})...)
	clusters = append(clusters, many(rollout.PhaseSucceeded, "s", 2, nil)...)
	rows, counts := attention(clusters)
	require.Equal(t, "Failed f0,f2,f3,f4 hangs\nFailed f1 crashes\nInFlight i0 hangs\nInFlight i1 hangs\nInFlight i2 hangs\n"+
		"2 Waiting for a free slot: maxConcurrency clusters are in progress\n1 Waiting: the hub writes to them next\n1 Waiting for its turn\n2 Succeeded\n", screenOf(rows, counts))
	require.Equal(t, begin.Add(time.Minute), rows[0].Since, "the earliest of them, if it is known")
}

// TestTooMuchAttention: clusters without a row are counted.
func TestTooMuchAttention(t *testing.T) {
	clusters := many(rollout.PhaseFailed, "f", attentionShown+2, func(i int, c *Cluster) { c.Message = fmt.Sprint(i) })
	clusters = append(clusters, many(rollout.PhaseInFlight, "i", 7, nil)...)
	rows, counts := attention(clusters)
	require.Len(t, rows, attentionShown)
	require.Equal(t, "2 Failed\n7 InFlight\n", screenOf(nil, counts))
}
