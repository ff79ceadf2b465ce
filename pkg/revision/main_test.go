package revision

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes each run check the same generated templates, unless -rapid.seed is set, so a change is not rejected because of an earlier
// bug. `make soak` checks new templates.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.seed", "1")
	flag.Parse()
	os.Exit(m.Run())
}
