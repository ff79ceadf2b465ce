package simulation

import (
	"flag"
	"os"
	"testing"

	"k8s.io/klog/v2"
)

// stories is how many generated stories TestModel plays where -rapid.checks does not say otherwise.
const stories = "400"

func TestMain(m *testing.M) {
	klogFlags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(klogFlags)
	_ = klogFlags.Set("logtostderr", "false")
	_ = klogFlags.Set("stderrthreshold", "FATAL")
	_ = flag.Set("rapid.checks", stories)
	flag.Parse()
	os.Exit(m.Run())
}
