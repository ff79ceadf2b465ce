package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExponent(t *testing.T) {
	for name, test := range map[string]struct {
		points []point
		wanted float64
		ok     bool
	}{
		"linear":                     {[]point{{100, 2}, {300, 6}, {1000, 20}}, 1, true},
		"square":                     {[]point{{10, 1}, {100, 100}}, 2, true},
		"constant":                   {[]point{{10, 3}, {100, 3}}, 0, true},
		"one size is no growth":      {[]point{{10, 3}}, 0, false},
		"one size twice neither":     {[]point{{10, 3}, {10, 4}}, 0, false},
		"zeros have no logarithm":    {[]point{{10, 0}, {100, 5}}, 0, false},
		"zeros don't hide the rest":  {[]point{{10, 0}, {100, 5}, {1000, 50}}, 1, true},
		"nothing at all":             {nil, 0, false},
		"the best line through them": {[]point{{1, 1}, {10, 20}, {100, 100}}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := exponent(test.points)
			require.Equal(t, test.ok, ok)
			require.InDelta(t, test.wanted, got, 1e-9)
		})
	}
}

func TestUnits(t *testing.T) {
	for value, wanted := range map[float64]string{0: "0", 1: "1", 1234.5: "1234", 0.00123456: "0.00123", 12.34: "12.3", -0.5: "-0.5", 100: "100"} {
		require.Equal(t, wanted, number(value))
	}
	for value, wanted := range map[float64]string{0: "0 s", 2.5e-6: "2.5 µs", 0.0031: "3.1 ms", 41.85: "41.9 s"} {
		require.Equal(t, wanted, seconds(value))
	}
	for value, wanted := range map[float64]string{12: "12 B", 3500: "3.5 kB", 192.8e6: "193 MB", 2e9: "2 GB"} {
		require.Equal(t, wanted, bytes(value))
	}
}

func TestRequestsOfFigures(t *testing.T) {
	f := Figures{Requests: map[string]int{
		"PATCH manifestworks": 7, "POST manifestworks": 3, "GET manifestworks": 2, "PATCH manifestworkreplicasets/status": 5,
		"PATCH manifestworkreplicasets": 1, "POST events": 4,
	}}
	require.Equal(t, 10, f.workWrites())
	require.Equal(t, 5, f.statusWrites())
	require.Equal(t, 7, f.otherRequests())
}

// measured is a run of two sizes in which some goals are met.
func measured() *Run {
	r := &Run{Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: "2 cores", Command: "make bench", Settle: 3, Delay: 1}
	add := func(scenario, controller string, n int, change func(*Figures)) {
		f := Figures{Scenario: scenario, Controller: controller, Clusters: n, Sets: 1}
		change(&f)
		r.Figures = append(r.Figures, f)
	}
	for _, n := range []int{300, 1000} {
		size := float64(n)
		add(Quiet, Ours, n, func(f *Figures) { f.CPU, f.AllocatedObjects = 0.003, 9*size })
		add(Quiet, Upstream, n, func(f *Figures) { f.CPU = size / 200 })
		add(First, Ours, n, func(f *Figures) { f.LiveHeap = size * 50e3 })
		add(First, Upstream, n, func(f *Figures) { f.LiveHeap = size * 100e3 })
		add(All, Ours, n, func(f *Figures) {
			f.CPU, f.Works, f.LastWrite, f.Complete = size/200, n, size/100, size/100+4
			f.Requests = map[string]int{"PATCH manifestworks": n + 1, "PATCH manifestworkreplicasets/status": 12}
		})
		add(All, Upstream, n, func(f *Figures) { f.CPU, f.LastWrite = size/30, size/40 })
		add(All, Floor, n, func(f *Figures) { f.Workers, f.Works, f.LastWrite = 16, n, size/120 })
		add(All, Floor, n, func(f *Figures) { f.Workers, f.Works, f.LastWrite = 64, n, size/110 })
		add(Abort, Floor, n, func(f *Figures) { f.Workers, f.Works, f.LastWrite = 16, n, size/120 })
		add(Abort, Ours, n, func(f *Figures) { f.Works, f.FirstWrite, f.LastWrite = n, 0.25, size/119 })
	}
	add(Alone, Ours, 1000, func(f *Figures) { f.Works, f.LastWrite = 1000, 12 })
	add(Beside, Ours, 1000, func(f *Figures) { f.Works, f.LastWrite = 1000, 15 })
	many := Figures{Scenario: QuietOfMany, Controller: Ours, Clusters: 100, Sets: 1, CPU: 0.001}
	r.Figures = append(r.Figures, many)
	many.Sets, many.CPU = 100, 0.0015
	r.Figures = append(r.Figures, many)
	return r
}

func TestJudge(t *testing.T) {
	verdicts := map[string]string{}
	for _, v := range measured().judge() {
		if v.clusters != 300 {
			verdicts[v.goal] = v.String()
		}
	}
	require.Equal(t, map[string]string{
		"status event that changes nothing: CPU, of upstream's":                      "met",
		"the same: objects allocated per work":                                       "missed by a factor of 9",
		"update All: time until the last write, of the floor's":                      "missed by a factor of 1.04",
		"automatic abort: time until the last write, of the floor's":                 "met",
		"automatic abort: time until the first write":                                "missed by a factor of 2.5",
		"update All: CPU, of upstream's":                                             "missed by a factor of 1.5",
		"update All: requests that write works, per work":                            "missed by a factor of 1",
		"automatic abort: requests that write works, per work":                       "met",
		"update All: growth of the status writes, of the time's":                     "met",
		"memory held per work, of upstream's":                                        "met",
		"status event, many sets: CPU with 100 of them, of one's":                    "missed by a factor of 1.25",
		"abort beside a greedy tenant: time until the last write, of the time alone": "met",
		"status event that changes nothing: growth of the CPU":                       "met",
		"update All: growth of the CPU":                                              "met",
	}, verdicts)
}

func TestMarkdown(t *testing.T) {
	text := measured().Markdown()
	require.Contains(t, text, "2 January 2026, 2 cores. Agents answer after 1 s, and ours believes a success after it has seen it for 3 s.\nMade by `make bench`.")
	require.Contains(t, text, "| status event that changes nothing: CPU, of upstream's | 1000 | 3 ms | 5 s | 0.0006 | 0.001 | met |\n")
	require.Contains(t, text, "| update All | 1000 | 1 | floor, 16 workers |  | 0 s | 8.33 s |")
	columns := -1
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = -1
		case columns < 0:
			columns = strings.Count(line, "|")
		default:
			require.Equal(t, columns, strings.Count(line, "|"), line)
		}
	}
}

func TestSVG(t *testing.T) {
	text := measured().SVG()
	decoder := xml.NewDecoder(strings.NewReader(text))
	elements := map[string]int{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if element, ok := token.(xml.StartElement); ok {
			elements[element.Name.Local]++
		}
	}
	// Four panels have something to show: CPU of Quiet and All, the last write of All and Abort. Nine lines of two points.
	require.Equal(t, 4, elements["g"])
	require.Equal(t, 9, elements["polyline"])
	require.Equal(t, 18, elements["circle"])
	require.NotContains(t, text, "NaN")
	require.NotContains(t, (&Run{}).SVG(), "NaN")
}

func TestTicks(t *testing.T) {
	require.Equal(t, []float64{0.01, 0.1, 1}, newAxis([]float64{0.004, 4}, 100).ticks())
	require.Equal(t, []float64{20, 50}, newAxis([]float64{19, 45}, 100).ticks())
	for value := 1.0; value < 10; value += 0.1 {
		require.NotEmpty(t, newAxis([]float64{value}, 100).ticks(), value)
	}
}

func TestAxisKeepsValuesInside(t *testing.T) {
	for _, values := range [][]float64{{1}, {0.001, 10}, {300, 1000}, nil, {0}} {
		a := newAxis(values, 100)
		for _, value := range values {
			if value > 0 {
				require.Greater(t, a.at(value), 0.0)
				require.Less(t, a.at(value), 100.0)
			}
		}
	}
}

// Of several rounds the one in the middle counts, and of the floors the number of workers that is faster then.
func TestRounds(t *testing.T) {
	r := &Run{}
	add := func(controller string, workers int, seconds ...float64) {
		for _, s := range seconds {
			r.Figures = append(r.Figures, Figures{Scenario: All, Controller: controller, Clusters: 10, Sets: 1, Workers: workers, LastWrite: s})
		}
	}
	add(Ours, 0, 1, 5, 2)
	add(Upstream, 0, 9, 8)
	add(Floor, 16, 4, 0.1, 5)
	add(Floor, 64, 3, 7, 2)
	require.InDelta(t, 2, r.find(All, Ours, 10).LastWrite, 0)
	require.InDelta(t, 8, r.find(All, Upstream, 10).LastWrite, 0)
	require.InDelta(t, 3, r.floor(All, 10).LastWrite, 0)
	require.Nil(t, r.find(Abort, Ours, 10))
	require.Nil(t, r.floor(Progressive, 10))
}

// overMQTT is a run over a broker in which some goals are missed, beside one through the API server of one of its sizes.
func overMQTT(t *testing.T) *Run {
	t.Helper()
	figures := func(scenario string, n int, change func(*Figures)) Figures {
		f := Figures{Scenario: scenario, Controller: Ours, Clusters: n, Sets: 1, Works: n}
		change(&f)
		return f
	}
	through := &Run{Machine: "2 cores", Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Figures: []Figures{
		figures(All, 1000, func(f *Figures) { f.CPU, f.LastWrite = 2, 12 }),
		figures(Quiet, 1000, func(f *Figures) { f.CPU = 1 }),
		{Scenario: All, Controller: Upstream, Clusters: 1000, Sets: 1, CPU: 20},
	}}
	baseline, err := NewBaseline("results.json", through)
	require.NoError(t, err)
	require.Len(t, baseline.Figures, 1)
	r := &Run{Broker: "MQTT", Baselines: []Baseline{baseline}, Figures: []Figures{
		figures(All, 1000, func(f *Figures) { f.Messages, f.LastWrite, f.CPU, f.PeakMemory = 2000, 3, 1.8, 100e6 }),
		figures(All, 10000, func(f *Figures) { f.Messages, f.LastWrite, f.CPU, f.PeakMemory = 30000, 25, 20, 300e6 }),
		figures(Restart, 10000, func(f *Figures) { f.FirstWrite, f.PeakMemory = 5, 550e6 }),
		figures(AgentsReturn, 10000, func(f *Figures) { f.Aborts, f.Missing = 1, 7 }),
		figures(BrokerRestart, 10000, func(*Figures) {}),
	}}
	for i := range r.Figures {
		r.Figures[i].Driver = "mqtt"
	}
	return r
}

// Over a broker the goals are absolute, but for the CPU time.
func TestJudgeBroker(t *testing.T) {
	verdicts := map[string]string{}
	for _, v := range overMQTT(t).judge() {
		verdicts[fmt.Sprint(v.goal, " ", v.clusters)] = v.String()
	}
	require.Equal(t, map[string]string{
		"update All: time until the last work is at its agent 1000":                              "met",
		"update All: time until the last work is at its agent 10000":                             "missed by a factor of 1.25",
		"update All: CPU, of that through the API server 1000":                                   "met",
		"update All: CPU, of that through the API server 10000":                                  "not measured",
		"update All: messages per work, both ways 1000":                                          "met",
		"update All: messages per work, both ways 10000":                                         "missed by a factor of 1.46",
		"restart of the hub: time until the first write 10000":                                   "met",
		"peak of the memory 1000":                                                                "met",
		"peak of the memory 10000":                                                               "missed by a factor of 1.1",
		"restart of the hub: false aborts, and clusters without the version 10000":               "met",
		"restart of the broker, half done: false aborts, and clusters without the version 10000": "met",
		"all agents return, half done: false aborts, and clusters without the version 10000":     "missed",
	}, verdicts)
	// A message of a single cluster does not count by the size of a small fleet.
	abort := &Run{Figures: []Figures{{Scenario: Abort, Controller: Ours, Clusters: 30, Sets: 1, Works: 30, Messages: 63, Driver: "mqtt"}}}
	require.Equal(t, "met", abort.judgeMessages()[0].String())
	abort.Figures[0].Messages = 70
	require.Equal(t, "missed by a factor of 1.05", abort.judgeMessages()[0].String())
	require.InDelta(t, 6, delivered(3000), 0.001)
	require.InDelta(t, 3.5, delivered(300), 0.001)
}

func TestMarkdownOverABroker(t *testing.T) {
	r := overMQTT(t)
	text := r.Markdown()
	require.Contains(t, text, "\nWorks travel over MQTT.\n")
	require.Contains(t, text, "| update All: CPU, of that through the API server | 1000 | 1.8 s | 2 s | 0.9 | 1 | met |\n")
	require.Contains(t, text, "| update All: CPU, of that through the API server | 10000 | 20 s | no run of this size |  | 1 | not measured |\n")
	require.Contains(t, text, "| all agents return, half done: false aborts, and clusters without the version | 10000 | 1, 7 of 10000 | 0, 0 | 8 | 0 | missed |\n")
	require.Contains(t, text, "Through the API server: results.json, of 2 January 2026, 2 cores.")
	require.Contains(t, text, "| messages |")
	require.NotContains(t, text, "floor")
	require.NotContains(t, text, "| held |", "no run of before has such figures")
	svg := r.SVG()
	require.Contains(t, svg, ">"+throughServer+"<")
	require.NotContains(t, svg, ">"+Floor+"<")
	require.NotContains(t, svg, "NaN")
}

func TestBaselineIsThroughTheAPIServer(t *testing.T) {
	_, err := NewBaseline("mqtt.json", overMQTT(t))
	require.EqualError(t, err, "mqtt.json is of a run over a broker: name one through the API server")
}
