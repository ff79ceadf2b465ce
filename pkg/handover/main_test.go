package handover

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes each run check the same generated revisions, unless -rapid.seed is set, so a change is not rejected because of an earlier
// bug. `make soak` checks new revisions.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.seed", "1")
	flag.Parse()
	os.Exit(m.Run())
}
