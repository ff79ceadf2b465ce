// Package await lets tests wait for conditions instead of sleeping.
package await

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const pollInterval = 100 * time.Millisecond

// Eventually polls until check returns nil. After patience, it ends the test with check's last error.
func Eventually(t *testing.T, patience time.Duration, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v (%v)", what, last, err)
	}
}

// Always polls for a duration, and ends the test if check returns an error.
func Always(t *testing.T, during time.Duration, what string, check func() error) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, during, true, func(context.Context) (bool, error) {
		return false, check()
	})
	if !wait.Interrupted(err) {
		t.Fatalf("%s: %v", what, err)
	}
}
