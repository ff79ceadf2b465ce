package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/hub"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/scenario"
)

// settings are the parsed flags.
type settings struct {
	scenario.Options
	// out is the file for the report; empty for the standard output.
	out string
}

// parse reads the flags. An error names the flag and its valid values.
func parse(args []string) (*settings, error) {
	s := &settings{Options: scenario.Options{
		Settle: 3 * time.Second, Delay: time.Second, Events: 20, EventTime: 12 * time.Second,
		Rest: 500 * time.Millisecond, Idle: 3 * time.Second, Patience: 15 * time.Minute,
	}}
	flags := flag.NewFlagSet("benchmark", flag.ContinueOnError)
	clusters := flags.String("n", "300", "comma-separated sizes of the fleet")
	sets := flags.String("sets", "10x30", "number of ManifestWorkReplicaSets, and of clusters for each, in the scenario of an event among many; 0 omits the scenario")
	flags.IntVar(&s.Greedy, "greedy", 5, "number of ManifestWorkReplicaSets of the greedy tenant beside which another tenant's abort is measured; 0 omits the scenario")
	controllers := flags.String("controllers", "ours,upstream", "comma-separated controllers")
	flags.StringVar(&s.Driver, "driver", "", "transport of the works: empty for the API server, or mqtt or grpc for a broker (with ours only)")
	flags.StringVar(&s.Mosquitto, "mosquitto", "", "with -driver=mqtt, the path of a mosquitto to use with its default settings, instead of the benchmark's own broker")
	flags.IntVar(&s.Repeat, "repeat", 3, "number of measurements of an update and an abort of all clusters")
	flags.StringVar(&s.out, "out", "", "a file for the report; empty for the standard output")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected %q: every option starts with a dash; see -help", flags.Arg(0))
	}
	var err error
	if s.Clusters, err = sizes(*clusters); err != nil {
		return nil, err
	}
	if s.Sets, s.PerSet, err = product(*sets); err != nil {
		return nil, err
	}
	if s.Controllers, err = chosen(*controllers); err != nil {
		return nil, err
	}
	return s, s.validate()
}

func (s *settings) validate() error {
	if err := s.validateDriver(); err != nil {
		return err
	}
	switch {
	case s.Repeat < 1:
		return fmt.Errorf("-repeat=%d: use 1 or more", s.Repeat)
	case s.Greedy < 0:
		return fmt.Errorf("-greedy=%d: use 0 for none, or a number from 1", s.Greedy)
	}
	return nil
}

func (s *settings) validateDriver() error {
	switch {
	case s.Driver != "" && s.Driver != hub.MQTT && s.Driver != hub.GRPC:
		return fmt.Errorf("-driver=%s: use mqtt or grpc, or leave it empty for the API server", s.Driver)
	case s.Driver != "" && !slices.Equal(s.Controllers, []hub.Controller{hub.Ours}):
		return fmt.Errorf("-driver=%s: it is measured with ours only, add -controllers=ours", s.Driver)
	case s.Mosquitto != "" && s.Driver != hub.MQTT:
		return fmt.Errorf("-mosquitto=%s: it is an MQTT broker, use it with -driver=mqtt", s.Mosquitto)
	}
	return nil
}

// broker describes the transport of the works; empty for the API server.
func (s *settings) broker() string {
	switch {
	case s.Mosquitto != "":
		return "MQTT, with a mosquitto that has its default settings"
	case s.Driver == hub.MQTT:
		return "MQTT, with the benchmark's own broker"
	case s.Driver == hub.GRPC:
		return "gRPC, with the benchmark's own broker, which keeps nothing for disconnected clients"
	}
	return ""
}

// largest is the maximum size of a fleet: more clusters than one API server supports.
const largest = 50000

func sizes(text string) ([]int, error) {
	var found []int
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 2 || n > largest {
			return nil, fmt.Errorf("-n=%s: %q is not a number from 2 to %d; use, for example, -n=300,1000", text, field, largest)
		}
		found = append(found, n)
	}
	return found, nil
}

func product(text string) (sets, perSet int, err error) {
	if text == "0" {
		return 0, 0, nil
	}
	first, second, found := strings.Cut(text, "x")
	sets, errSets := strconv.Atoi(first)
	perSet, errPer := strconv.Atoi(second)
	if !found || errSets != nil || errPer != nil || sets < 2 || perSet < 2 || sets*perSet > largest {
		return 0, 0, fmt.Errorf("-sets=%s: write two numbers from 2 that make at most %d works, for example -sets=100x100, or 0 for none", text, largest)
	}
	return sets, perSet, nil
}

func chosen(text string) ([]hub.Controller, error) {
	var found []hub.Controller
	for field := range strings.SplitSeq(text, ",") {
		switch c := hub.Controller(strings.TrimSpace(field)); c {
		case hub.Ours, hub.Upstream:
			found = append(found, c)
		default:
			return nil, fmt.Errorf("-controllers=%s: %q is neither %s nor %s", text, field, hub.Ours, hub.Upstream)
		}
	}
	return found, nil
}

// machine describes where this runs.
func machine() string {
	model := "unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.SplitSeq(string(data), "\n") {
			if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores (%s), %s/%s, %s", runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// command returns the command that repeats a run.
func command(args []string) string {
	return strings.Join(append([]string{"go run ./test/benchmark"}, args...), " ")
}
