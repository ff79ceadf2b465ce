package simulation

import (
	"flag"
	"os"
	"testing"

	"k8s.io/klog/v2"
)

// Where -rapid.checks and -rapid.seed don't say otherwise, TestModel plays the same stories each time: a change is not to be refused
// for what an earlier one broke. With -soak each round plays new ones, which is what a seed of 0 stands for.
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
