package connectivity

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// answer is an answer of an API server whose clock is ahead of the machine's.
func answer(c *Clock, ahead time.Duration) {
	now := c.machine.Now()
	c.measure(now, now, now.Add(ahead).UTC().Format(http.TimeFormat))
}

// corrections is a clock whose machine shows noon, with the corrections that it reported.
func corrections() (*Clock, *clocktesting.FakePassiveClock, *[]time.Duration) {
	machine := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	said := &[]time.Duration{}
	return NewClock(machine, func(ahead time.Duration) { *said = append(*said, ahead.Round(time.Minute)) }), machine, said
}

// The hub's clock is the machine's clock while that is accurate, and the API server's otherwise (R10).
func TestClockFollowsTheAPIServer(t *testing.T) {
	for name, test := range map[string]struct {
		ahead, want time.Duration
		said        []time.Duration
	}{
		"the same":           {},
		"some seconds apart": {ahead: 9 * time.Second},
		"ahead":              {ahead: -20 * time.Minute, want: -20 * time.Minute, said: []time.Duration{20 * time.Minute}},
		"behind":             {ahead: time.Hour, want: time.Hour, said: []time.Duration{-time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			c, machine, said := corrections()
			require.Equal(t, machine.Now(), c.Now(), "before the first answer")
			for range 100 {
				answer(c, test.ahead)
				require.WithinDuration(t, machine.Now().Add(test.want), c.Now(), time.Second)
				machine.SetTime(machine.Now().Add(1300 * time.Millisecond))
			}
			require.ElementsMatch(t, test.said, *said, "it says so once")
			require.Equal(t, time.Minute, c.Since(c.Now().Add(-time.Minute)))
		})
	}
}

// A single answer with another time does not move the clock: it may come from a proxy or from another API server. Several answers that
// agree do.
func TestClockNeedsAnswersThatAgree(t *testing.T) {
	c, machine, said := corrections()
	pass := func() { machine.SetTime(machine.Now().Add(time.Second)) }
	for range 10 {
		answer(c, 0)
		answer(c, time.Hour)
		answer(c, time.Hour)
		answer(c, -time.Hour)
		pass()
	}
	require.Equal(t, machine.Now(), c.Now())
	for range confirmations {
		answer(c, time.Hour)
		pass()
	}
	require.WithinDuration(t, machine.Now().Add(time.Hour), c.Now(), 2*time.Second)
	for range confirmations {
		answer(c, 0)
		pass()
	}
	require.Equal(t, machine.Now(), c.Now(), "somebody set the API server's clock right")
	require.Equal(t, []time.Duration{-time.Hour, 0}, *said)
}

// Setting the machine's clock while the hub runs changes nothing: between two answers the monotonic clock counts. After a suspend, the
// first answer is used.
func TestClockOfAMachineThatIsSet(t *testing.T) {
	c, machine, said := corrections()
	set := time.Duration(0)
	c.between = func(from, to time.Time) time.Duration {
		if from.Before(time.Date(2026, 1, 2, 12, 0, 30, 0, time.UTC)) && to.After(time.Date(2026, 1, 2, 12, 10, 0, 0, time.UTC)) {
			return to.Sub(from) - set
		}
		return to.Sub(from)
	}
	answer(c, 0)
	machine.SetTime(machine.Now().Add(time.Second))
	right := machine.Now().Add(time.Minute)
	set = 20 * time.Minute
	machine.SetTime(right.Add(set))
	require.Equal(t, right, c.Now())
	answer(c, -set)
	require.Equal(t, right, c.Now())
	require.Equal(t, []time.Duration{set}, *said)

	c, machine, said = corrections()
	c.between = func(time.Time, time.Time) time.Duration { return 0 }
	answer(c, 0)
	machine.SetTime(machine.Now().Add(time.Hour))
	answer(c, 0)
	require.Equal(t, machine.Now(), c.Now())
	require.Empty(t, *said)
}

// Answers that show no time, or an old one, are ignored.
func TestClockIgnoresAnswers(t *testing.T) {
	c, machine, _ := corrections()
	now := machine.Now()
	c.measure(now, now, "")
	c.measure(now, now, "noon")
	c.measure(now.Add(-time.Minute), now, now.Add(time.Hour).UTC().Format(http.TimeFormat))
	require.Equal(t, now, c.Now())
}

// Only answers to the clients of the configuration count. Errors from a load balancer and cached answers are not the API server's.
func TestClockFollow(t *testing.T) {
	c, machine, _ := corrections()
	header, status := http.Header{}, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for key := range header {
			w.Header().Set(key, header.Get(key))
		}
		w.Header().Set("Date", machine.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"apiVersion":"x/v1","kind":"ThingList","items":[]}`))
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	c.Follow(config)
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	ask := func() error {
		_, err := client.Resource(things).List(t.Context(), metav1.ListOptions{})
		return err
	}
	status = http.StatusBadGateway
	require.Error(t, ask())
	status = http.StatusOK
	header.Set("Age", "3600")
	require.NoError(t, ask())
	require.Equal(t, machine.Now(), c.Now())
	header.Del("Age")
	require.NoError(t, ask())
	require.WithinDuration(t, machine.Now().Add(-time.Hour), c.Now(), time.Second)
}
