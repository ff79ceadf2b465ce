// Package budget measures the cost of a call, for tests that limit the cost of untrusted input.
package budget

import (
	"runtime"
	"testing"
	"time"
)

// Within fails the test if a call takes too long, or allocates too many bytes. Nothing else may run at the same time. Allow plenty of time:
// an algorithm that is too slow takes many times as long.
func Within(t testing.TB, longest time.Duration, most uint64, call func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	call()
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	if took > longest {
		t.Errorf("took %v, at most %v are allowed", took, longest)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > most {
		t.Errorf("allocated %d bytes, at most %d are allowed", allocated, most)
	}
}
