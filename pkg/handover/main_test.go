package handover

import (
	"flag"
	"os"
	"testing"
)

// TestMain has every run check the same generated revisions, where -rapid.seed does not say otherwise: a change is not to be refused for what
// an earlier one broke. `make soak` takes new ones.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.seed", "1")
	flag.Parse()
	os.Exit(m.Run())
}
