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

// differences returns a Difference for a machine whose clock shows noon, and the differences that it reports.
func differences() (*Difference, *clocktesting.FakePassiveClock, *[]time.Duration) {
	machine := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	said := &[]time.Duration{}
	return NewDifference(machine, func(ahead time.Duration) { *said = append(*said, ahead.Round(time.Minute)) }), machine, said
}

// answer simulates an answer from an API server whose clock is behind the machine's clock.
func answer(d *Difference, behind time.Duration) {
	d.measure(d.clock.Now(), d.clock.Now().Add(-behind).UTC().Format(http.TimeFormat))
}

// A difference is reported once, when several answers agree on it. Its end is also reported once.
func TestDifference(t *testing.T) {
	d, machine, said := differences()
	for range 10 {
		for _, behind := range []time.Duration{0, 9 * time.Second, time.Hour, time.Hour, -time.Hour} {
			answer(d, behind)
		}
	}
	require.Empty(t, *said)
	for range 100 {
		answer(d, 20*time.Minute)
		machine.SetTime(machine.Now().Add(1300 * time.Millisecond))
	}
	require.Equal(t, []time.Duration{20 * time.Minute}, *said)
	for range 100 {
		answer(d, -time.Hour)
	}
	for range 100 {
		answer(d, 0)
	}
	require.Equal(t, []time.Duration{20 * time.Minute, -time.Hour, 0}, *said)
}

// Answers without a time, or with an old time, are ignored.
func TestDifferenceIgnoresAnswers(t *testing.T) {
	d, machine, said := differences()
	now := machine.Now()
	for range confirmations {
		d.measure(now, "")
		d.measure(now, "noon")
		d.measure(now.Add(-time.Minute), now.Add(time.Hour).UTC().Format(http.TimeFormat))
	}
	require.Empty(t, *said)
}

// Only answers to the clients of the configuration count. Errors from a load balancer, and cached answers, do not come from the API
// server.
func TestDifferenceWatch(t *testing.T) {
	d, machine, said := differences()
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
	d.Watch(config)
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	ask := func() (err error) {
		for range confirmations {
			_, err = client.Resource(things).List(t.Context(), metav1.ListOptions{})
		}
		return err
	}
	status = http.StatusBadGateway
	require.Error(t, ask())
	status = http.StatusOK
	header.Set("Age", "3600")
	require.NoError(t, ask())
	require.Empty(t, *said)
	header.Del("Age")
	require.NoError(t, ask())
	require.Equal(t, []time.Duration{time.Hour}, *said)
}
