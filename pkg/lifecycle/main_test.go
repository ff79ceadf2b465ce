package lifecycle_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain has every run check the same generated stories, where -rapid.seed does not say otherwise.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.seed", "1")
	flag.Parse()
	os.Exit(m.Run())
}
