package integration

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
)

// screens is a fleet in a state, and the cluster whose story is shown. flags are the flags of each command.
type screens struct {
	*fleet
	about string
	flags []string
}

// play runs the commands and returns what a terminal would show. No command changes the state.
func (s screens) play() string {
	s.t.Helper()
	s.quiet()
	kubeconfig, about := s.rehearsal(), s.cluster(s.about)
	var shown strings.Builder
	show := func(command, out string, code int) {
		fmt.Fprintf(&shown, "$ kubectl mwrs %s\n%s", command, stable(out))
		if code != 0 {
			fmt.Fprintf(&shown, "(exit code %d)\n", code)
		}
		shown.WriteByte('\n')
	}
	exported := ""
	for _, command := range []string{
		"list", "get web", "clusters web -o wide", "why web " + about, "history web", "history web --revision 1", "status web --timeout 5s",
		"diff web", "plan web", "undo web --dry-run=client", "undo web", "undo web --yes", "abort web --reason tried", "abort web --reason tried --yes",
		"retry web", "retry web " + about, "pause web", "resume web", "export web",
	} {
		out, code := s.run(kubeconfig, "", append(strings.Fields(command), s.flags...))
		show(command, out, code)
		if command == "get web" || strings.HasPrefix(command, "why ") {
			s.sampled(kubeconfig, command, out)
		}
		exported = out
	}
	out, code := s.run(kubeconfig, exported, append([]string{"lint", "-f", "-"}, s.flags...))
	show("export web | kubectl mwrs lint -f -", out, code)
	out, code = s.reportScreen(kubeconfig)
	show("report web -o web.html", out, code)
	return shown.String()
}

// run runs a command, and returns its output with the errors in between, as a terminal shows it. All ages are one minute.
func (s screens) run(kubeconfig, in string, args []string, changes ...plugin.Option) (string, int) {
	s.t.Helper()
	var out bytes.Buffer
	code := plugin.Run(s.t.Context(), append(args, "--kubeconfig", kubeconfig, "-n", s.namespace),
		genericiooptions.IOStreams{In: strings.NewReader(in), Out: &out, ErrOut: &out},
		append(changes, plugin.WithAges(func(time.Duration) string { return "1m" }))...)
	return out.String(), code
}

var timestamp = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// unstable are the parts of an output that differ from run to run: the times in the hub's messages, and the resource version of the object
// of an undo.
var unstable = []struct {
	part   *regexp.Regexp
	stable string
}{
	{timestamp, "2026-01-01T00:00:00Z"},
	{regexp.MustCompile(`(path: /metadata/resourceVersion\n +value: )"\d+"`), `${1}"1"`},
}

// stable replaces the parts that differ from run to run.
func stable(out string) string {
	for _, u := range unstable {
		out = u.part.ReplaceAllString(out, u.stable)
	}
	return out
}

// unordered sorts the events of the stories and the timelines, because it is random which events fall into the same second.
func unordered(screen string) string {
	var lines, events []string
	story := false
	for line := range strings.Lines(screen) {
		if strings.HasPrefix(line, "$ ") {
			story = strings.HasPrefix(line, "$ kubectl mwrs why ") || strings.HasPrefix(line, "$ kubectl mwrs report ")
		}
		event, isEvent := strings.CutPrefix(line, "    ")
		if story && isEvent {
			events = append(events, strings.TrimPrefix(strings.TrimSpace(event), "1m ago  "))
			continue
		}
		slices.Sort(events)
		lines, events = append(append(lines, events...), line), nil
	}
	return strings.Join(append(lines, events...), "\n")
}

// nextSecond waits for the next second of the clock. Conditions have times of whole seconds, and a screen must not depend on whether an
// update came in the same second as a condition.
func nextSecond(t *testing.T) {
	t.Helper()
	begin := time.Now().Unix()
	eventually(t, "the next second", func() error {
		if time.Now().Unix() < begin+1 {
			return errors.New("it is the same second")
		}
		return nil
	})
}
