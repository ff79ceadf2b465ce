package forecast

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Quantile is a quantile of many runs, and its 95% confidence interval. The interval comes from order statistics: the binomial distribution
// gives the two ranks between which the quantile lies, regardless of the distribution of the values.
type Quantile struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Open is true if there are too few runs for the interval: it then ends at the smallest or the largest value seen.
	Open bool `json:"open,omitempty"`
}

// confidence is the probability that the interval of a Quantile contains the quantile.
const confidence = 0.95

// QuantileOf returns a quantile of at least one value. It sorts the values.
func QuantileOf(values []float64, q float64) Quantile {
	slices.Sort(values)
	n := len(values)
	rank := func(i int) float64 { return values[min(max(i, 1), n)-1] }
	found := Quantile{Value: rank(int(math.Ceil(q * float64(n))))}
	tail := (1 - confidence) / 2
	// The probability that the quantile lies below rank l is the probability that fewer than l of n values are below the quantile.
	low, high, sum := 0, n+1, 0.0
	for i := range n + 1 {
		before := sum
		sum += binomial(n, i, q)
		if sum <= tail {
			low = i + 1
		}
		if before < 1-tail && sum >= 1-tail {
			high = i + 1
		}
	}
	found.Low, found.High = rank(low), rank(high)
	found.Open = low < 1 || high > n
	return found
}

// binomial returns the probability of k successes in n trials.
func binomial(n, k int, p float64) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log(1-p))
}

// Measure holds the median and the 95th percentile of a value over the runs.
type Measure struct {
	P50 Quantile `json:"p50"`
	P95 Quantile `json:"p95"`
}

func measure(results []Result, value func(*Result) float64) Measure {
	values := make([]float64, 0, len(results))
	for i := range results {
		values = append(values, value(&results[i]))
	}
	return Measure{P50: QuantileOf(values, 0.5), P95: QuantileOf(values, 0.95)}
}

// Summary is the combined result of many runs.
type Summary struct {
	Runs int `json:"runs"`
	// Outcomes counts the runs by how they ended.
	Outcomes map[Outcome]int `json:"outcomes"`
	// Duration is the time until the rollout was complete, aborted or stuck, in seconds.
	Duration Measure `json:"durationSeconds"`
	// Exposed, NeverReached and Unnoticed are numbers of clusters, as in a Result.
	Exposed      Measure `json:"exposedClusters"`
	NeverReached Measure `json:"neverReachedClusters"`
	Unnoticed    Measure `json:"unnoticedClusters"`
	// Restore is the time from the abort until all clusters have returned, in seconds, over the aborted runs. It is nil if no run was aborted.
	Restore *Measure `json:"restoreSeconds,omitempty"`
}

// Share returns the share of the runs that ended with an outcome.
func (s *Summary) Share(of Outcome) float64 { return float64(s.Outcomes[of]) / float64(s.Runs) }

// Summarize returns the summary of at least one result.
func Summarize(results []Result) Summary {
	s := Summary{Runs: len(results), Outcomes: map[Outcome]int{}}
	var aborted []Result
	for i := range results {
		s.Outcomes[results[i].Outcome]++
		if results[i].Outcome == Aborted {
			aborted = append(aborted, results[i])
		}
	}
	s.Duration = measure(results, func(r *Result) float64 { return r.Duration.Seconds() })
	s.Exposed = measure(results, func(r *Result) float64 { return float64(r.Exposed) })
	s.NeverReached = measure(results, func(r *Result) float64 { return float64(r.NeverReached) })
	s.Unnoticed = measure(results, func(r *Result) float64 { return float64(r.Unnoticed) })
	if len(aborted) > 0 {
		restore := measure(aborted, func(r *Result) float64 { return r.Restore.Seconds() })
		s.Restore = &restore
	}
	return s
}

// Seconds returns a value of a Measure in seconds as a duration.
func Seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// errStopped marks a run that was not played to its end because the budget was spent.
var errStopped = errors.New("the time for the simulation ran out before a run ended: give it more time, or simulate fewer clusters")

// Runs plays up to n runs on some workers, in the order of their indices. Runs after the first begin only while more returns true. Each run
// calls alive before every pass of the hub, and ends without a result if alive returns false. The results are those of the runs 0, 1, 2 …
// without a gap: they depend on their number, and not on the workers. If there is no result, Runs returns an error.
func Runs(in *Input, n, workers int, more, alive func() bool) ([]Result, error) {
	results, errs := make([]Result, n), make([]error, n)
	var taken atomic.Int64
	shared := newStage(in)
	var group sync.WaitGroup
	for range max(1, min(workers, n)) {
		group.Go(func() {
			r := shared.newRun()
			for {
				i := int(taken.Add(1)) - 1
				if i >= n {
					return
				}
				if i > 0 && !more() {
					errs[i] = errStopped
					return
				}
				r.begin(i)
				if results[i], errs[i] = r.play(alive); errors.Is(errs[i], errStopped) {
					return
				}
			}
		})
	}
	group.Wait()
	for i, err := range errs {
		switch {
		case errors.Is(err, errStopped) && i > 0:
			return results[:i], nil
		case err != nil:
			return nil, err
		}
	}
	return results, nil
}
