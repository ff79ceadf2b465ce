package simulation

import (
	"flag"
	"os"
	"testing"

	"k8s.io/klog/v2"
)

// Unless -rapid.checks and -rapid.seed are set, TestModel plays the same stories each time, so a change is not rejected because of an
// earlier bug. With -soak, each round plays new stories: the seed 0 requests a random seed.
const stories, seed = "300", "1"

func TestMain(m *testing.M) {
	klogFlags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(klogFlags)
	_ = klogFlags.Set("logtostderr", "false")
	_ = klogFlags.Set("stderrthreshold", "FATAL")
	_ = flag.Set("rapid.checks", stories)
	_ = flag.Set("rapid.seed", seed)
	flag.Parse()
	if *soak > 0 {
		_ = flag.Set("rapid.seed", "0")
	}
	os.Exit(m.Run())
}
